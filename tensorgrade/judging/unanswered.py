"""Says why a case got no answer: not written, not found, an error, out of time, ended."""

from difflib import get_close_matches

from ..cases import Case, spoken
from ..diagnosis import Diagnosis
from ..observation import Observation
from .lost_names import lost_name


def why_unanswered(exercise, case: Case, observed: Observation) -> Diagnosis:
    """The diagnosis for a case that was not answered with a result."""
    called = spoken(case)
    if observed.status in ENDS:
        return Diagnosis(observed.status, ENDS[observed.status], called)
    if observed.status == "unreadable":
        problem = exercise.attempt.loaded.problems[0]["error"]
        return Diagnosis("error", problem["text"], called)
    error = observed.error
    if error["missing"]:
        return missing(exercise, error["missing"], called)
    if is_unwritten(error):
        return Diagnosis("to do", to_do(exercise.name, error), called, error=error)
    said = raised(error) + lost_name(error, exercise.attempt.loaded, case)
    return Diagnosis("error", said, called, error=error)


ENDS = {
    "timeout": "it did not come to an end in the time that it has; does a loop never finish?",
    "killed": "the process that ran it came to an end: it used too much memory, crashed, or "
    "did something that is not allowed",
    "unreached": "not tried, since an earlier call of this exercise never came back",
}


def is_unwritten(error: dict) -> bool:
    """Whether the learner's own line says so; torch raises the same for reasons of its own."""
    return error["type"] == "NotImplementedError" and "NotImplementedError" in error["source"]


def raised(error: dict) -> str:
    """One sentence about an error, with the learner's own line and what often lies behind it."""
    text = f": {error['text']}" if error["text"] else ""
    at = f" (line {error['line']}: `{error['source']}`)" if error["line"] else ""
    return f"{error['type']}{text}{at}{often(error)}"


def often(error: dict) -> str:
    """The usual cause of an error that says little by itself."""
    if error["type"] == "NotImplementedError" and "forward" in error["text"]:
        return "; is `forward` misspelt, or indented into another method?"
    if error["verb"] == "construct" and error["type"] == "TypeError" and error["line"] is None:
        return "; is `__init__` spelt with two underscores on each side, and has it the stub's parameters?"
    return ""


def to_do(name: str, error: dict) -> str:
    """Whether the exercise itself is unwritten, or calls one that is."""
    if error["function"] in (name, "__init__", "forward", ""):
        return "not written yet"
    return f"it calls `{error['function']}`, which is not written yet"


def missing(exercise, name: str, called: str) -> Diagnosis:
    """The file does not define the name: say what it does define, or why it could not."""
    loaded = exercise.attempt.loaded
    for problem in loaded.problems:
        if name in problem["names"]:
            said = f"`{name}` could not be loaded: {raised(problem['error'])}"
            return Diagnosis("error", said, called, error=problem["error"])
    exercises = {e.name for e in exercise.attempt.chapter.exercises}
    close = get_close_matches(name, [n for n in loaded.names if n not in exercises], 1, 0.8)
    found = f"it defines `{close[0]}`, which looks close" if close else listed(loaded.names)
    return Diagnosis("missing", f"there is no `{name}` in the file; {found}", called)


def listed(names: tuple[str, ...]) -> str:
    """What a file defines, in words."""
    if not names:
        return "it defines no function and no class, so there is nothing here that could be graded"
    return "it defines " + ", ".join(f"`{n}`" for n in names[:8])
