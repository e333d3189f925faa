"""Shared parts of the commands: the list of commands, and the handling of Ctrl-C."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import typer

LEARNERS, INSTRUCTORS, AUTHORS = "For learners", "For instructors", "For authors"
ANYONE = "For anyone with attention code"
SECONDS_TO_END = 10.0  # time after Ctrl-C until a command is killed
ABOUT = "Self-grading exercises on tensors, for learners, instructors and authors."
app = typer.Typer(no_args_is_help=True, add_completion=False, help=ABOUT)


@contextmanager
def interruptible(then: str) -> Iterator[None]:
    """Let Ctrl-C, or a cluster's signal to end a job, stop a command and all its workers.

    then: a sentence on how to continue afterwards.
    """

    def end() -> None:
        typer.echo(f"\nInterrupted. {then}", err=True)
        # All results are on disk already. A normal exit would wait for the pool, and the pool
        # sometimes waits forever for a worker that was killed in the middle of a message.
        os._exit(130)

    here = os.getpid()

    def interrupt(*_: object) -> None:
        if os.getpid() != here:  # a worker that was forked just now
            os._exit(130)
        # Python loses an exception that is raised during a fork or in a callback.
        last = threading.Timer(SECONDS_TO_END, end)
        last.daemon = True
        last.start()
        raise KeyboardInterrupt

    before = {signal.SIGTERM: signal.signal(signal.SIGTERM, interrupt)}
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # not if it is ignored
        before[signal.SIGINT] = signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    except KeyboardInterrupt:
        end()
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
