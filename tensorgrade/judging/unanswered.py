"""Says why a case got no answer: not written, not found, an error, out of time, ended."""

import re
from collections.abc import Callable
from difflib import get_close_matches

from ..exchange.cases import Case, spoken
from ..exchange.observation import CaughtError, Loaded, Observation, Outcome
from ..exchange.text import short
from .diagnosis import Diagnosis, Kind
from .judged import JudgedAttempt
from .sayable import UNSAID

# A stand-in for another chapter is made by the runner, in no file.
STANDS_ALONE = (
    "; each chapter's file is checked alone: of other chapters only what the stub imports is there"
)
ENDS = {
    Outcome.TIMEOUT: "it did not come to an end in the time that it has; does a loop never finish?",
    Outcome.KILLED: "the process that ran it came to an end: it used too much memory, crashed, or "
    "did something that is not allowed",
    Outcome.UNREACHED: "not tried, since an earlier call of this exercise never came back",
}
LONGEST_LINE = 90
Place = Callable[[int], str]  # what a line of the learner's file is called


def why_it_ended(attempt: JudgedAttempt, case: Case, status: Outcome) -> Diagnosis:
    """The diagnosis for a case that no answer came back for."""
    called = spoken(case, attempt.references.hidden)
    if status in ENDS:
        return Diagnosis(Kind(status), ENDS[status], called, case=case.name)
    return Diagnosis(Kind.ERROR, attempt.loaded.reason, called, case=case.name)


def why_it_raised(
    attempt: JudgedAttempt, exercise: str, case: Case, error: CaughtError
) -> Diagnosis:
    """The diagnosis for a case that was answered with an error."""
    if error.missing:
        return missing(attempt, error.missing, case)
    called = spoken(case, attempt.references.hidden)
    if error.is_unwritten:
        problem = to_do(exercise, error)
        return Diagnosis(Kind.TO_DO, problem, called, case=case.name, error=error)
    problem = raised(error, attempt.place) + lost_name(error, attempt.loaded, case, attempt.place)
    return Diagnosis(Kind.ERROR, problem, called, case=case.name, error=error)


def raised(error: CaughtError, place: Place) -> str:
    """One sentence about an error, with the learner's own line and what often lies behind it."""
    text = f": {error.text}" if error.text not in ("", UNSAID) else ""
    at = f" ({place(error.line)}: `{short(error.source, LONGEST_LINE)}`)" if error.line else ""
    return f"{error.type}{text}{at}{often(error)}"


def often(error: CaughtError) -> str:
    """The usual cause of an error that says little by itself."""
    if error.type == "NotImplementedError" and "forward" in error.text:
        return "; is `forward` misspelt, or indented into another method?"
    if error.type != "TypeError" or error.line is not None:
        return ""
    if "has no parameter" in error.text:
        return "; arguments are passed by the names that the stub has"
    if error.verb == "construct" and "required positional argument" in error.text:
        return "; the stub has other parameters"
    if error.verb == "construct" and "unexpected keyword argument" in error.text:  # of nn.Module
        return "; is `__init__` spelt with two underscores on each side?"
    return ""


def to_do(name: str, error: CaughtError) -> str:
    """Whether the exercise itself is unwritten, or calls one that is."""
    if error.function in (name, "__init__", "forward", ""):
        return "not written yet"
    return f"it calls `{error.function}`, which is not written yet"


def missing(attempt: JudgedAttempt, name: str, case: Case) -> Diagnosis:
    """The file does not define the name: say what it does define, or why it could not."""
    called = spoken(case, attempt.references.hidden)
    if error := attempt.loaded.failure_of(name):
        problem = f"`{name}` could not be loaded: {raised(error, attempt.place)}"
        return Diagnosis(Kind.ERROR, problem, called, case=case.name, error=error)
    names = attempt.loaded.names
    exercises = {e.name for e in attempt.chapter.exercises}
    close = get_close_matches(name, [n for n in names if n not in exercises], 1, 0.8)
    there = f"it defines `{close[0]}`, which looks close" if close else listed(names)
    problem = f"there is no `{name}` in the file; {there}"
    return Diagnosis(Kind.MISSING, problem, called, case=case.name)


def listed(names: tuple[str, ...]) -> str:
    """What a file defines, in words."""
    if not names:
        return "it defines no function and no class, so there is nothing here that could be graded"
    return "it defines " + ", ".join(f"`{n}`" for n in names[:8])


def lost_name(error: CaughtError, loaded: Loaded, case: Case, place: Place) -> str:
    """What became of the name that a NameError is about; nothing for other errors."""
    lost = re.search(r"name '(\w+)' is not defined", error.text)
    if error.type != "NameError" or not lost:
        return ""
    if failure := loaded.failure_of(lost[1]):
        return f"; {what_failed(failure, place)}"
    if close := get_close_matches(lost[1], names_of(case), 1):
        return f"; is `{close[0]}` meant?"
    own = any(step["verb"] == "construct" for step in case.steps)
    return "; it is no argument and nothing before that line makes it" + (
        ", or is `self.` missing?" if own else ""
    )


def names_of(case: Case) -> list[str]:
    """The names of all arguments in a case."""
    return sorted({name for step in case.steps for name in step.get("arguments", {})})


def what_failed(error: CaughtError, place: Place) -> str:
    """The statement that should have made the name, and why it did not."""
    imports = error.source.startswith(("import ", "from "))
    what = "its import failed" if imports else "the line that makes it failed"
    at = f", {place(error.line)}" if error.line else ""
    alone = STANDS_ALONE if "unknown location" in error.text else ""
    return f"{what} ({error.type}: {error.text.removesuffix(' (unknown location)')}{at}){alone}"


def lost_weights(observed: Observation) -> str:
    """Which parameter was not found, or had another shape, and what there is; or nothing."""
    missing = strings(observed.fact("load", "missing", default=[]))
    unexpected = strings(observed.fact("load", "unexpected", default=[]))
    misshapen = observed.fact("load", "misshapen", default={})
    if missing:
        return (
            f"the module has no parameter `{missing[0]}`, so it could not be given its values"
            f"{instead(missing[0], unexpected)}"
        )
    if misshapen:
        name, shape = next(iter(misshapen.items()))
        sizes = "×".join(map(str, shape)) if isinstance(shape, list) else "?"
        return f"its parameter `{name}` has shape {sizes}, so it could not be given its values"
    return ""


def instead(name: str, unexpected: list[str]) -> str:
    """What is there in place of a parameter, the likeliest first."""
    close = get_close_matches(name, unexpected, 1, 0.5)
    if close:
        return f"; it has `{close[0]}`"
    return f"; it has {', '.join(f'`{n}`' for n in unexpected[:6])}" if unexpected else ""


def strings(values: list) -> list[str]:
    """The texts in a list: what a learner's process claims may hold anything."""
    return [value for value in values if isinstance(value, str)]
