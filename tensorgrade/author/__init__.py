"""For authors: what a grader file says its cases and mistakes with."""

from .recording.casebook import case, shown
from .recording.drawings import computed, normal, weights
from .recording.mistakes import form, mistake, on
from .recording.steps import call, construct, describe, duplicate, load, mode, restore

__all__ = [
    "call",
    "case",
    "computed",
    "construct",
    "describe",
    "duplicate",
    "form",
    "load",
    "mistake",
    "mode",
    "normal",
    "on",
    "restore",
    "shown",
    "weights",
]
