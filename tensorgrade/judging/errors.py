"""Explain why a case has no result: unwritten, not found, error, timed out, killed."""

import re
from collections.abc import Callable, Sequence
from itertools import permutations
from typing import Protocol

import torch

from ..course import Chapter, Tolerance
from ..exchange.cases import Case, spoken_shape
from ..exchange.observation import CaughtError, Loaded, Looked, Observation, Outcome
from ..exchange.references import References
from ..exchange.text import code, joined, listed, short
from ..runner.source import Source
from .causes import no_module, usual_cause
from .diagnosis import Diagnosis, Kind
from .submitted_text import SubmittedText

LONGEST_LINE = 90
Place = Callable[[int], str]  # returns what the learner calls a line


class JudgedAttempt(Protocol):
    """The parts of an attempt (attempts/attempt.py) that judging reads. tolerances: by dtype."""

    chapter: Chapter
    references: References
    tolerances: dict[str, Tolerance]

    @property
    def facts(self) -> Looked: ...

    @property
    def loaded(self) -> Loaded: ...

    @property
    def source(self) -> Source: ...

    @property
    def submitted(self) -> SubmittedText: ...


def why_it_ended(attempt: JudgedAttempt, case: Case, observed: Observation) -> Diagnosis:
    """Return the diagnosis for a case without a result."""
    status, error = observed.status, observed.error
    if status in (Outcome.TIMEOUT, Outcome.KILLED, Outcome.UNREACHED):
        problem = ended(status, error, attempt.source.place)
        return Diagnosis(Kind(status), problem, case=case.name, error=error)
    return Diagnosis(Kind.ERROR, attempt.loaded.reason, case=case.name)


def ended(status: Outcome, error: CaughtError | None = None, place: Place = str) -> str:
    """Return how a call ended without a result; for a timeout also the limit and the line."""
    if status == Outcome.KILLED and error and error.type == "MemoryError":
        return "the process that ran it ended, because it used too much memory"
    if status == Outcome.KILLED:
        return (
            "the process that ran it ended: it used too much memory, crashed, or did something "
            "that is not allowed here"
        )
    if status == Outcome.UNREACHED:
        return "not run, because an earlier call of this exercise did not finish"
    seconds, where = (error.text, at_line(error, place)) if error else ("", "")
    return (
        f"it did not finish within {seconds or 'its time limit'}{where}. Is there an infinite loop?"
    )


def at_line(error: CaughtError, place: Place) -> str:
    """Return the learner's own line and the one that called it; "" if no line is known.

    >>> at_line(CaughtError("E", line=3, source="x + 1", called=9), "line {}".format)
    ' (line 3: `x + 1`, called on line 9)'
    """
    if error.line is None:
        return ""
    called = f", called on {place(error.called)}" if error.called else ""
    return f" ({place(error.line)}: `{short(error.source, LONGEST_LINE)}`{called})"


def why_it_raised(
    attempt: JudgedAttempt, exercise: str, case: Case, error: CaughtError
) -> Diagnosis:
    """Return the diagnosis for a case that ended in an error."""
    if error.missing:
        return missing(attempt, error.missing, case)
    if error.is_unwritten:
        problem, told = to_do(exercise, error)
        return Diagnosis(Kind.TO_DO, problem, told, case=case.name, error=error)
    outside = read_outside(attempt.loaded, error.definition, case, error.source)
    lost = lost_name(error, attempt, case)
    there = outside or none_there(attempt, error, case) or dtypes_there(error) or sizes_there(error)
    problem = joined(raised(error, attempt.source.place), lost, there, lines_up(error))
    if is_of_another(error, exercise):
        problem = f"in `{error.definition}`, which it uses: {problem}"
    return Diagnosis(Kind.ERROR, problem, case=case.name, error=error)


def is_of_another(error: CaughtError, exercise: str) -> bool:
    """Return True if an error comes from another definition of the learner's file."""
    return error.definition.isidentifier() and error.definition != exercise


def raised(error: CaughtError, place: Place) -> str:
    """Return an error's own words, with the learner's line and the usual cause."""
    said = joined(error.type, own_words(error), between=": ") + at_line(error, place)
    return joined(said, usual_cause(error))


def own_words(error: CaughtError) -> str:
    """Return an error's text without the parts that do not help in this course.

    Some are advice that contradicts ours.

    >>> text = "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy()"
    >>> own_words(CaughtError("RuntimeError", text))
    "Can't call numpy() on Tensor that requires grad"
    """
    return ENOUGH.sub(r"\1", error.text).rstrip(".")


# torch's longest sentences: the text after these words is about torch's internals.
ENOUGH = re.compile(
    r"(modified by an inplace operation|in-place operation|size and stride"
    r"|invalid combination of arguments - got \([^()]*\)|while output is captured"
    r"|numpy\(\) on Tensor that requires grad)(?!\w).*",
    re.DOTALL,
)
SIZES_MATTER = {"RuntimeError", "IndexError", "ValueError"}


def sizes_there(error: CaughtError) -> str:
    """Return the sizes of the names on the line, if an error is about sizes; else ""."""
    if not error.sizes or error.type not in SIZES_MATTER or not re.search(r"\d", error.text):
        return ""
    return f"on that line, {listed(has_size(*one) for one in error.sizes.items())}"


def has_size(name: str, size: tuple[int, ...] | int) -> str:
    """Return the size of a value of the learner's in words."""
    if isinstance(size, int):
        return f"`{name}` is {size}"
    return f"`{name}` {'has shape' if size else 'is'} {spoken_shape(size)}"


def lines_up(error: CaughtError) -> str:
    """Return how torch compares two shapes, if one lacks the last dimension; else ""."""
    told = re.search(r"tensor a \((\d+)\) must match the size of tensor b \((\d+)\)", error.text)
    if not told:
        return ""
    shapes = {name: size for name, size in error.sizes.items() if isinstance(size, tuple) and size}
    fitting = [
        (few, many)
        for few, many in permutations(shapes, 2)
        if shapes[few] == shapes[many][:-1]
        and {shapes[few][-1], shapes[many][-1]} == {int(told[1]), int(told[2])}
    ]
    if len(fitting) != 1:
        return ""
    ((few, many),) = fitting
    return (
        f"torch compares shapes from the right, so `{few}` meets the last dimension of `{many}`: "
        "does it need one more dimension at its end?"
    )


ABOUT_DTYPES = re.compile("scalar type|dtype|same type")


def dtypes_there(error: CaughtError) -> str:
    """Return the dtypes of the names on the line, if an error is about two of them; else ""."""
    if not ABOUT_DTYPES.search(error.text) or len(set(error.dtypes.values())) != 2:
        return ""
    told = listed(f"`{name}` is {dtype}" for name, dtype in error.dtypes.items())
    return f"on that line, {told}; they have to be of the same dtype"


def none_there(attempt: JudgedAttempt, error: CaughtError, case: Case) -> str:
    """Return which name on the line is None, if an error is about that and there is one."""
    if "NoneType" not in error.text or len(error.empty) != 1:
        return ""
    (name,) = error.empty
    asked = error.function in (error.definition, "forward")  # its parameters are the call's
    if asked and name in left_out(attempt, case):
        return f"this call does not pass `{name}`, so it is None. What should happen without it?"
    return f"on that line, `{name}` is None"


def left_out(attempt: JudgedAttempt, case: Case) -> set[str]:
    """Return the arguments that other cases of the exercise pass, and this one does not."""
    others = (one for one, _ in attempt.references.of(case.exercise))
    asked = {name for other in others for name, _ in other.passed}
    return asked - {name for name, value in case.passed if value is not None}


def read_outside(loaded: Loaded, definition: str, case: Case, line: str = "") -> str:
    """Return a clause on values that a definition reads although the file creates them elsewhere.

    Return "" if there are none. line: the text of a line; report only values that it names.
    """
    words = set(re.findall(r"(?<![.\w])\w+", line))
    names = [n for n in loaded.outside.get(definition, ()) if not line or n in words][:3]
    if not names:
        return ""
    verb = "which are" if len(names) > 1 else "which is"
    meant = "is `self.` missing?" if is_of_class(case) else "did you mean an argument?"
    return f"it reads {code(names)}, {verb} defined outside of `{definition}`: {meant}"


def to_do(name: str, error: CaughtError) -> tuple[str, str]:
    """Return that the exercise is unwritten, or uses a definition that is; and what it is about."""
    if not is_of_another(error, name):
        return "not written yet", "not_written"
    verb = "calls" if error.function == error.definition else "uses"
    return f"it {verb} `{error.definition}`, which is not written yet", "needs_unwritten"


def missing(attempt: JudgedAttempt, name: str, case: Case) -> Diagnosis:
    """Return the diagnosis for a name that the file does not define, or could not define."""
    if error := attempt.loaded.failure_of(name):
        why = joined(raised(error, attempt.source.place), lost_name(error, attempt, case))
        problem = f"`{name}` could not be loaded: {why}"
        return Diagnosis(Kind.ERROR, problem, case=case.name, error=error)
    names = ", ".join(f"`{one}`" for one in attempt.loaded.names[:8])
    there = names or "no function and no class, so there is nothing to grade"
    problem = f"there is no `{name}` in the file; it defines {there}"
    return Diagnosis(Kind.MISSING, problem, case=case.name)


def lost_name(error: CaughtError, attempt: JudgedAttempt, case: Case) -> str:
    """Return why a name or an attribute is missing, or which one was intended; "" if unknown."""
    if error.type == "AttributeError":
        return lost_attribute(error, attempt.loaded.names)
    if error.type == "TypeError" and error.meant:
        return f"did you mean `{error.meant}`?"
    lost = re.search(r"name '(\w+)' is not defined", error.text)
    if error.type != "NameError" or not lost:
        return ""
    if failure := attempt.loaded.failure_of(lost[1]):
        return what_failed(failure, attempt.source.place)
    meant = known_elsewhere(lost[1], error, attempt) or other_name(lost[1], error)
    return meant or made_nowhere(
        attempt.source.cell(error.line or 0) is not None, is_of_class(case)
    )


def made_nowhere(in_cell: bool, in_class: bool) -> str:
    """Return that nothing defines a name. in_cell: its line is in a notebook."""
    if in_cell:
        return (
            "it is not an argument, and the checks take only functions, classes, imports and "
            "simple constants from cells: compute it inside the function"
            + (", or is `self.` missing?" if in_class else "")
        )
    missing = ": is `self.` missing?" if in_class else ""
    return f"it is not an argument, and nothing before that line defines it{missing}"


def known_elsewhere(name: str, error: CaughtError, attempt: JudgedAttempt) -> str:
    """Return where else an undefined name exists: as a text, in `self`, as an exercise; or ""."""
    if re.search(rf"register_\w+\(\s*{name}\b", error.source):
        return f'the name has to be in quotes there: `"{name}"`'
    text, owner = attempt.submitted, attempt.submitted.class_around(error.line or 0)
    if any(text.makes(f"self.{name}", line) for line in owner):
        return f"`self.{name}` exists: is `self.` missing?"
    if owner and name in dict(attempt.loaded.parameters.get(error.definition, ())):
        return f"it is an argument of `__init__` only: store it there as `self.{name}`"
    if any(exercise.name == name for exercise in attempt.chapter.exercises):
        return "it is an exercise of this chapter that your file does not define"
    return ""


def other_name(name: str, error: CaughtError) -> str:
    """Return a suggestion for an undefined name (import, similar or torch function); or ""."""
    if name in MODULES and f"{name}." in error.source:
        return f"is `{MODULES[name]}` missing at the top of the file?"
    if error.meant:
        return f"did you mean `{error.meant}`?"
    if f"{name}(" in error.source and callable(getattr(torch, name, None)):
        return f"did you mean `torch.{name}`?"
    return ""


def is_of_class(case: Case) -> bool:
    """Return True if a case makes an object of the exercise's class."""
    return any(step.verb == "construct" for step in case.steps)


MODULES = {name: f"import {name}" for name in ("math", "random", "copy", "itertools", "torch")}
MODULES |= {"nn": "from torch import nn", "np": "import numpy as np"}
MODULES |= {"F": "import torch.nn.functional as F"}


def lost_attribute(error: CaughtError, there: Sequence[str] = ()) -> str:
    """Return which attribute of an object or a module was intended, or why it is missing; or "".

    there: the names that the file defines.
    """
    if error.meant:
        return f"did you mean `{error.meant}`?"
    lost = re.search(r"'(\w+)' object has no attribute '(\w+)'", error.text)
    if not lost:
        return ""
    owner, name = lost.groups()
    if name in there:
        return f"`{name}` is defined outside of the class: call it without `self.`"
    own = owner == error.definition and not name.startswith("_")
    return f"nothing before that line sets `self.{name}`" if own and not no_module(error) else ""


def what_failed(error: CaughtError, place: Place) -> str:
    """Return why the statement failed that should have defined a name."""
    is_import, line = error.source.startswith(("import ", "from ")), error.called or error.line
    what = "its import failed" if is_import else "the line that defines it failed"
    text = error.text.removesuffix(" (unknown location)")
    failed = f"{what} ({error.type}: {text}{f', {place(line)}' if line else ''})"
    why = ""
    if "unknown location" in error.text:  # the runner's substitute for a chapter is in no file
        why = (
            "each chapter's file is checked on its own: from other chapters, only what the given "
            "code imports is available"
        )
    elif error.type == "ModuleNotFoundError":
        why = (
            "the grader gets this file alone: copy what you need from your other files into this "
            "one; packages that the course does not need are not installed"
        )
    return joined(failed, why)
