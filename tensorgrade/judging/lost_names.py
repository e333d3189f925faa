"""Why a name that the learner's code uses is not there: an import that failed, a `self.` missing."""

import re
from difflib import get_close_matches

from ..cases import Case
from ..observation import Loaded


# A stand-in for another chapter is made by the runner, in no file.
STANDS_ALONE = "; each chapter's file is checked alone: of other chapters only what the stub imports is there"


def lost_name(error: dict, loaded: Loaded, case: Case) -> str:
    """What became of the name that a NameError is about; nothing for other errors."""
    found = re.search(r"name '(\w+)' is not defined", error["text"])
    if error["type"] != "NameError" or not found:
        return ""
    for problem in loaded.problems:
        if found[1] in problem["names"]:
            return f"; {what_failed(problem['error'])}"
    if close := get_close_matches(found[1], names_of(case), 1):
        return f"; is `{close[0]}` meant?"
    own = any(step["verb"] == "construct" for step in case.steps)
    return "; it is no argument and nothing before that line makes it" + (", or is `self.` missing?" if own else "")


def names_of(case: Case) -> list[str]:
    """The names of all arguments in a case."""
    return sorted({name for step in case.steps for name in step.get("arguments", {})})


def what_failed(error: dict) -> str:
    """The statement that should have made the name, and why it did not."""
    imports = error["source"].startswith(("import ", "from "))
    what = "its import failed" if imports else "the line that makes it failed"
    at = f", line {error['line']}" if error["line"] else ""
    alone = STANDS_ALONE if "unknown location" in error["text"] else ""
    return f"{what} ({error['type']}: {error['text'].removesuffix(' (unknown location)')}{at}){alone}"
