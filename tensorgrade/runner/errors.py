"""Descriptions of errors that learner code raised: their kind and the learner's own line."""

import inspect
import linecache
import re
import sys
import traceback
from collections.abc import Iterable
from difflib import get_close_matches
from itertools import islice
from types import FrameType
from typing import Any

LONGEST, DEEPEST, MOST_SIZES, LARGEST = 500, 12, 3, 10**9
MOST_NAMES, SIMILAR = 2000, 0.75
TORCH_MODULES = ("torch.nn", "torch.nn.functional")
# Python gives these a separate frame, although they are only a part of a line to the reader.
PARTS_OF_A_LINE = {"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"}


class OutOfTime(BaseException):
    """Raised inside learner code when its time is up; no `except Exception` catches it."""


def describe_error(error: BaseException, filename: str) -> dict:
    """Return a description of an error as a dict.

    It contains the `type`, its `kinds` (base classes too) and the `text`. Other entries describe
    the place in the learner's file, if there is one:
    - the `line` and its `source`,
    - the `function`, and the `definition` that contains it,
    - the line that `called` it,
    - the `sizes` and `dtypes` of values that the line names, and the names that are None (`empty`),
    - the name that was `meant`, if one is misspelt.

    >>> try: 1 / 0
    ... except ZeroDivisionError as error: describe_error(error, "no such file")["text"]
    'division by zero'
    """
    walked = traceback.walk_tb(error.__traceback__)
    # The frames in the learner's file, innermost last.
    frames = [(frame, line) for frame, line in walked if frame.f_code.co_filename == filename]
    frame, line = frames[-1] if frames else (None, None)
    source = linecache.getline(filename, line) if line else ""
    if isinstance(error, SyntaxError) and frame is None:
        # Code that raises one may have put anything there.
        line = error.lineno if type(error.lineno) is int else None
        source = error.text if isinstance(error.text, str) else ""
    return {
        "type": type(error).__name__[:LONGEST],
        "kinds": [kind.__name__[:LONGEST] for kind in type(error).__mro__[:DEEPEST]],
        "text": text_of(error),
        "line": line,
        "called": calling_line(frames),
        "function": frame.f_code.co_name if frame else "",
        "definition": frame.f_code.co_qualname.split(".")[0] if frame else "",
        "source": source.strip()[:LONGEST],
        "meant": meant_name(error, frame) if frame else "",
        **(values_in(frame, source) if frame else {"sizes": {}, "dtypes": {}, "empty": []}),
    }


def meant_name(error: BaseException, frame: FrameType) -> str:
    """Return the name that is most similar to a misspelt one; "" if none is.

    The function's own names come first, then those of its object, then those of the file.
    """
    name: object = getattr(error, "name", None)
    places: list[Iterable[str]] = []
    if isinstance(error, NameError):
        own = (f"self.{one}" for one in held_by(frame.f_locals.get("self")))
        places = [frame.f_locals, own, frame.f_globals]
    elif isinstance(error, AttributeError):
        places = [held_by(error.obj), dir(type(error.obj))]
    elif found := re.search(r"(\S+)\(\) got an unexpected keyword argument '(\w+)'", str(error)):
        name, places = found[2], [parameters_called(found[1], frame)]
    wrong = name[:LONGEST] if isinstance(name, str) else ""
    for place in places:
        shown = {one.removeprefix("self."): one for one in islice(place, MOST_NAMES)}
        if close := get_close_matches(wrong, shown.keys() - {wrong}, 1, SIMILAR):
            return shown[close[0]]
    return ""


def held_by(value: object) -> dict[str, object]:
    """Return an object's attributes by name, those of a module's parts included.

    They are looked up in dicts, because reading one can run code of the learner.
    """
    try:
        held = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return {}
    parts = (held.get(one) for one in ("_parameters", "_buffers", "_modules"))
    dicts = [part for part in (held, *parts) if isinstance(part, dict)]
    return {name: of for part in reversed(dicts) for name, of in part.items()}


def parameters_called(called: str, frame: FrameType) -> list[str]:
    """Return the parameters of a function or method that the code in a frame can call."""
    owner, _, method = called.partition(".")
    torch_names = (vars(sys.modules[one]) for one in TORCH_MODULES if one in sys.modules)
    places = (frame.f_globals, *torch_names)
    found: Any = next((place[owner] for place in places if owner in place), None)
    try:
        return list(inspect.signature(getattr(found, method) if method else found).parameters)
    except (TypeError, ValueError, AttributeError):
        return []


Frames = list[tuple[FrameType, int]]


def calling_line(frames: Frames) -> int | None:
    """Return the line that calls the function that raised an error; None if there is none.

    If a top-level statement led to the error, return the statement's line, across any number of
    functions.
    """
    whole = [(f, line) for f, line in frames if f.f_code.co_name not in PARTS_OF_A_LINE]
    callers = whole[:-1]
    if not callers or not is_function(whole[-1][0]):
        return None
    statements = [line for frame, line in callers if not is_function(frame)]
    called = statements[-1] if statements else callers[-1][1]
    return None if called == frames[-1][1] else called


def is_function(frame: FrameType) -> bool:
    """Return True if a frame runs a function, not the text of a file or of a class."""
    return bool(frame.f_code.co_flags & inspect.CO_OPTIMIZED)


def values_in(frame: FrameType, source: str) -> dict[str, dict | list]:
    """Return the shapes, integers and dtypes that a line's names hold, and the names for None."""
    # Without torch there are no tensors, so do not import it just for this.
    tensors = getattr(sys.modules.get("torch"), "Tensor", ())
    sizes: dict[str, list[int] | int] = {}
    dtypes: dict[str, str] = {}
    empty: list[str] = []
    for name in dict.fromkeys(re.findall(r"(?<![.\w])(?:self\.)?[A-Za-z_]\w*", source)):
        held = held_by(frame.f_locals.get("self")) if name.startswith("self.") else frame.f_locals
        there, value = name.removeprefix("self.") in held, held.get(name.removeprefix("self."))
        if isinstance(value, tensors) and not value.is_nested:
            sizes[name] = list(value.shape)
            dtypes[name] = str(value.dtype).removeprefix("torch.")
        elif type(value) is int and abs(value) < LARGEST:
            sizes[name] = value
        elif there and value is None:
            empty.append(name)
    # Shapes say more than numbers. Both stay in the order of the line.
    kept = sorted(sizes, key=lambda name: isinstance(sizes[name], int))[:MOST_SIZES]
    first = {name: size for name, size in sizes.items() if name in kept}
    return {"sizes": first, "dtypes": dtypes, "empty": empty[:MOST_SIZES]}


def text_of(error: BaseException) -> str:
    """Return the error's message; its own `__str__` may fail, or return a very long text."""
    try:
        text = error.msg if isinstance(error, SyntaxError) else str(error)
        return str(text)[:LONGEST]
    except Exception:
        return ""
