"""What to tell about an error that learner code raised: its kind and the learner's own line."""

import inspect
import linecache
import re
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

LONGEST, DEEPEST, MOST_SIZES, LARGEST = 500, 12, 3, 10**9
# Frames of their own to Python, and to whoever wrote them a part of a line.
PARTS_OF_A_LINE = {"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"}
# What else can be seen at the place of an error (`signs_of`).
SIGNS = {"on self", "argument of init", "local in init"}


BLOCK = "a broken block"  # what such a block of a notebook is compiled as


class OutOfTime(BaseException):
    """Raised inside learner code when its time is up; no `except Exception` catches it.

    seconds: how long that time was; set by who raises it, which can only be done by the class.
    welcome: whether learner code is under way, where it may be raised from outside.
    """

    seconds: float = 0.0
    welcome: bool = False

    def __str__(self) -> str:
        return f"{self.seconds:g} seconds" if self.seconds else ""


@contextmanager
def may_be_ended() -> Iterator[None]:
    """Learner code is under way inside: when its time is up, it is ended; nothing else ever is."""
    OutOfTime.welcome = True
    try:
        yield
    finally:
        OutOfTime.welcome = False


def describe_error(error: BaseException, filename: str) -> dict:
    """`type`, its `kinds` (base classes too), `text`; and of the place in the learner's file, if
    there is one: the `line`, its `source`, the `function`, the `definition` that this is a part of,
    the line that `called` it, what else can be seen there (`signs`), and the `sizes` of what the
    line names.

    >>> try: 1 / 0
    ... except ZeroDivisionError as error: describe_error(error, "no such file")["text"]
    'division by zero'
    """
    frames = learner_frames(error, filename)
    frame, line = frames[-1] if frames else (None, None)
    source = linecache.getline(filename, line) if line else ""
    if isinstance(error, SyntaxError) and frame is None:
        line, source = place_in(error)
    elif isinstance(error, SyntaxError) and error.filename == BLOCK:
        further, source = place_in(error)
        line = (line or 1) + (further or 1) - 1  # the block begins on that line
    return {
        "type": type(error).__name__[:LONGEST],
        "kinds": [kind.__name__[:LONGEST] for kind in type(error).__mro__[:DEEPEST]],
        "text": text_of(error),
        "line": line,
        "called": calling_line(frames),
        "function": frame.f_code.co_name if frame else "",
        "definition": frame.f_code.co_qualname.split(".")[0] if frame else "",
        "source": source.strip()[:LONGEST],
        "signs": signs_of(error, frame) if frame else [],
        "sizes": sizes_in(frame, source) if frame else {},
    }


def place_in(error: SyntaxError) -> tuple[int | None, str]:
    """The line that Python could not read, and its text; who raises one may put anything there."""
    line = error.lineno if type(error.lineno) is int else None
    return line, error.text if isinstance(error.text, str) else ""


Frames = list[tuple[FrameType, int]]


def learner_frames(error: BaseException, filename: str) -> Frames:
    """The frames of the traceback that lie in the learner's file, with their lines; the innermost
    last.
    """
    walked = traceback.walk_tb(error.__traceback__)
    return [(frame, line) for frame, line in walked if frame.f_code.co_filename == filename]


def calling_line(frames: Frames) -> int | None:
    """The line that calls the function in which an error was raised; None where none does.

    Of a statement that stands by itself its own line, over however many functions.
    """
    whole = [(f, line) for f, line in frames if f.f_code.co_name not in PARTS_OF_A_LINE]
    callers = whole[:-1]
    if not callers or not is_function(whole[-1][0]):
        return None
    statements = [line for frame, line in callers if not is_function(frame)]
    called = statements[-1] if statements else callers[-1][1]
    return None if called == frames[-1][1] else called


def is_function(frame: FrameType) -> bool:
    """Whether a function runs in a frame, and not the text of a file or of a class."""
    return bool(frame.f_code.co_flags & inspect.CO_OPTIMIZED)


def signs_of(error: BaseException, frame: FrameType) -> list[str]:
    """Where else the name is that a NameError or an AttributeError is about."""
    name, first = getattr(error, "name", None), frame.f_code.co_varnames[:1]
    try:
        if isinstance(error, NameError) and first:
            owner = frame.f_locals.get(first[0])
            arguments, _ = names_in_init(owner)
            found = {"on self": hasattr(owner, str(name)), "argument of init": name in arguments}
        elif isinstance(error, AttributeError):
            found = {"local in init": name in names_in_init(error.obj)[1]}
        else:
            found = {}
        return [sign for sign, there in found.items() if there]
    except Exception:  # looking at a learner's object can run code of his own
        return []


def names_in_init(owner: object) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The arguments, and the other local names, of the `__init__` of an object's class."""
    code = getattr(type(owner).__init__, "__code__", None)
    if code is None:
        return (), ()
    count = code.co_argcount + code.co_kwonlyargcount
    return code.co_varnames[:count], code.co_varnames[count:]


def sizes_in(frame: FrameType, source: str) -> dict[str, list[int] | int]:
    """Shapes of the tensors, and values of the whole numbers, that a line of code names."""
    # Without torch there are no tensors, and nobody is to import it for this.
    tensors = getattr(sys.modules.get("torch"), "Tensor", ())
    seen: dict[str, list[int] | int] = {}
    for name in re.findall(r"(?<![.\w])[A-Za-z_]\w*", source):
        value = frame.f_locals.get(name)
        if isinstance(value, tensors) and not value.is_nested:
            seen[name] = list(value.shape)
        elif type(value) is int and abs(value) < LARGEST:
            seen[name] = value
    return dict(list(seen.items())[:MOST_SIZES])


def text_of(error: BaseException) -> str:
    """The error's message; its own `__str__` may fail, and may be endless."""
    try:
        text = error.msg if isinstance(error, SyntaxError) else str(error)
        return str(text)[:LONGEST]
    except Exception:
        return ""
