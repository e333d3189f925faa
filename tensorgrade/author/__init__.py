"""For authors: what a grader file says its cases and mistakes with."""

from .recording.casebook import case, shown
from .recording.drawings import computed, normal, weights
from .recording.mistakes import mistake, on
from .recording.steps import call, construct, describe, load, mode

__all__ = [
    "call",
    "case",
    "computed",
    "construct",
    "describe",
    "load",
    "mistake",
    "mode",
    "normal",
    "on",
    "shown",
    "weights",
]
