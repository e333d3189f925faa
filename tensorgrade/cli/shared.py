"""Shared parts of the commands: the list of commands, and the handling of Ctrl-C."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager

import typer

LEARNERS, INSTRUCTORS, AUTHORS = "For learners", "For instructors", "For authors"
ANYONE = "For anyone with attention code"
ABOUT = "Self-grading exercises on tensors, for learners, instructors and authors."
app = typer.Typer(no_args_is_help=True, add_completion=False, help=ABOUT)


@contextmanager
def interruptible(then: str) -> Iterator[None]:
    """Let Ctrl-C, or a cluster's signal to end a job, stop a command and all its workers.

    then: a sentence on how to continue afterwards.
    """
    here = os.getpid()

    def end(*_: object) -> None:
        if os.getpid() == here:  # not in a worker that was forked just now
            os.write(2, f"\nInterrupted. {then}\n".encode())
        # All results are on disk already. A normal exit would wait for the pool, which sometimes
        # waits forever, and Python loses an exception that is raised during a fork.
        os._exit(130)

    before = {signal.SIGTERM: signal.signal(signal.SIGTERM, end)}
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # not if it is ignored
        before[signal.SIGINT] = signal.signal(signal.SIGINT, end)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def audiences() -> dict[str, str]:
    """Return the audience of each of the engine's own commands, as the help groups them."""
    found = {}
    for command in app.registered_commands:
        name = command.name or getattr(command.callback, "__name__", "").replace("_", "-")
        found[name] = str(command.rich_help_panel)
    return found | {
        group.name: str(group.rich_help_panel) for group in app.registered_groups if group.name
    }
