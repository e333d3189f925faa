"""The grading engine: it knows tensors, pytest, nbgrader and sandboxes, and no course's subject."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .marker import check, exercise, find_the_bug, for_learners, signature

__all__ = ["check", "exercise", "find_the_bug", "for_learners", "signature"]


def __getattr__(name: str) -> Any:
    """What authors import from here, once somebody asks: a hint need not wait for pytest."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import marker

    return getattr(marker, name)
