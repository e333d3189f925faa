"""Every command: a file for each of those who run them, and what a course brings along.

Each command imports what it needs when it runs, so that a learner's `hint` does not wait for an
instructor's libraries.
"""

from ..garbage import look_seldom
from .program import main

look_seldom()  # before a command imports torch, and in each process that works for it

__all__ = ["main"]
