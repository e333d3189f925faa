"""The grading engine. It handles tensors, pytest, nbgrader and sandboxes, but no subject matter."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .course import CourseError, Limits, Scheme, Settings, Tolerance
    from .judging.checks import check, signature
    from .lateness import Lateness
    from .recognition.imprints import Imprint, of_use

    __version__: str

__all__ = [
    "CourseError",
    "Imprint",
    "Lateness",
    "Limits",
    "Scheme",
    "Settings",
    "Tolerance",
    "check",
    "of_use",
    "signature",
]
WHERE = ("course", "lateness", "recognition.imprints", "judging.checks")


def __getattr__(name: str) -> Any:
    """Import a public name at its first use, so that `tensorgrade hint` need not load pytest."""
    if name == "__version__":  # pyproject.toml defines it
        return import_module("importlib.metadata").version(__name__)
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    modules = (import_module(f"{__name__}.{part}") for part in WHERE)
    return next(getattr(module, name) for module in modules if hasattr(module, name))
