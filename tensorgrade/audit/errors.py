"""Errors of audited code in words, with the line that raised them."""

import inspect
from traceback import walk_tb
from typing import Any

from .reference import Cause

# Known mistakes by a part of the error's text.
KNOWN_ERRORS = {
    "before Module.__init__() call": Cause(
        "super_init_not_called",
        "`super().__init__()` has to be called before the first layer is made.",
    ),
    "'super' object needs an argument": Cause(
        "super_without_brackets", "`super` lacks its brackets: `super().__init__()`."
    ),
    "'module' object is not callable": Cause(
        "module_called",
        "A Python module is called like a function or class. Compare `nn.parameter`, a module, "
        "with `nn.Parameter`, a class.",
    ),
}


class CannotRun(Exception):
    """The definition could not be run; the text says what was tried.

    line: the line that raises an error for every input that was tried, 0 if there is none. plan:
    the way to call it that got furthest.
    """

    def __init__(self, said: str, line: int = 0, plan: Any = None):
        super().__init__(said)
        self.line, self.plan = line, plan


def raised(error: Exception, target: Any) -> str:
    """Return an error in words, with the line of the audited file that raised it."""
    line = line_raising(error, target)
    return f"line {line} raises {error_text(error)}" if line else error_text(error)


def error_text(error: Exception) -> str:
    """Return the type of an error and the first line of its message."""
    if isinstance(error, CannotRun):
        return str(error)
    return f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0][:160]}"


def line_raising(error: Exception, target: Any) -> int:
    """Return the last line of the audited file that an error passed, 0 if it passed none."""
    called = target.forward if inspect.isclass(target) and hasattr(target, "forward") else target
    path = getattr(getattr(called, "__code__", None), "co_filename", "")
    passed = [
        line for frame, line in walk_tb(error.__traceback__) if frame.f_code.co_filename == path
    ]
    return passed[-1] if passed else 0
