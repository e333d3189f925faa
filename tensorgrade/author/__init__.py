"""For authors: the functions with which a grader file describes an exercise."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .recording.casebook import case, check, it, shown
    from .recording.drawings import computed, normal, weights
    from .recording.steps import (
        call,
        construct,
        describe,
        duplicate,
        load,
        mode,
        moved,
        part,
        read,
        restore,
    )

__all__ = [
    "call",
    "case",
    "check",
    "computed",
    "construct",
    "describe",
    "duplicate",
    "it",
    "load",
    "mode",
    "moved",
    "normal",
    "part",
    "read",
    "restore",
    "shown",
    "weights",
]

WHERE = (
    ".recording.casebook",
    ".recording.drawings",
    ".recording.steps",
)


def __getattr__(name: str) -> Any:
    """Import a name on first use, so that a build without changes needs no torch."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    modules = (import_module(part, __name__) for part in WHERE)
    return next(getattr(module, name) for module in modules if hasattr(module, name))
