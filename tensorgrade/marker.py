"""Decorators for a course's own checks and signatures, in the file `checks.py` of its graders."""

from collections.abc import Callable
from typing import TypeVar

ADDED = "__added_to_tensorgrade__"
Function = TypeVar("Function", bound=Callable)


def check(function: Function) -> Function:
    """Mark a function of `checks.py` as a check, which grader files call like a built-in one.

    It receives the exercise's attempt and the arguments of the call. It raises Wrong, or passes.

        @check
        def is_positive(exercise, group):
            for case, expected, observed in exercise.answered(group):
                result = exercise.result(case, "result", expected, observed)
                if (result < 0).any():
                    exercise.wrong("values", "it has negative entries", case=case)
    """
    added_to(function.__globals__).append(("check", function.__name__, function))
    return function


def signature(name: str) -> Callable[[Callable], Callable]:
    """Mark a function of `checks.py` as a signature: cases with `signature=name` use it.

    It receives a case, the expected observation and the actual one, and returns an Imprint.
    Mistakes with different imprints can be distinguished.

        @signature("signs")
        def signs(case, expected, seen):
            return Imprint(str(bool((seen.tensors["result"] < 0).any())))
    """

    def mark(function: Callable) -> Callable:
        added_to(function.__globals__).append(("signature", name, function))
        return function

    return mark


def added_to(module: dict) -> list[tuple[str, str, Callable]]:
    """Return the marked functions of a module so far, in order. Each module has its own list."""
    return module.setdefault(ADDED, [])
