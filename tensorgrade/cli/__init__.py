"""The command line: a file of commands for each audience, and the course's own commands.

Each command imports its libraries when it runs, so a learner's `hint` does not wait for an
instructor's libraries.
"""

from ..gc_settings import collect_garbage_rarely
from .program import main

collect_garbage_rarely()  # before a command imports torch, and in each of its worker processes

__all__ = ["main"]
