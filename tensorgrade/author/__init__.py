"""For authors: what a grader file says its cases and mistakes with."""

from .recording.casebook import case, shown
from .recording.drawings import computed, normal, weights
from .recording.mistakes import form, mistake, on
from .recording.steps import (
    call,
    construct,
    describe,
    duplicate,
    gradients,
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
    "computed",
    "construct",
    "describe",
    "duplicate",
    "form",
    "gradients",
    "load",
    "mistake",
    "mode",
    "moved",
    "normal",
    "on",
    "part",
    "read",
    "restore",
    "shown",
    "weights",
]
