"""What the commands share: the list that they stand in, and how Ctrl-C ends one."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import typer

LEARNERS, INSTRUCTORS, AUTHORS = "For learners", "For instructors", "For authors"
SECONDS_TO_END = 10.0  # after Ctrl-C; then a command ends wherever it is
ABOUT = (
    "Exercises on tensors that grade themselves: what learners, instructors and authors can run."
)
app = typer.Typer(no_args_is_help=True, add_completion=False, help=ABOUT)


@contextmanager
def interruptible(then: str) -> Iterator[None]:
    """Ctrl-C, and the signal by which clusters end a job, end a command and all its workers.

    then: how to go on.
    """

    def end() -> None:
        typer.echo(f"\nInterrupted. {then}", err=True)
        # All that counts is on disk. A usual exit would wait for the pool, and the pool, now and
        # then, for a worker that was ended in the middle of a message.
        os._exit(130)

    here = os.getpid()

    def interrupt(*_: object) -> None:
        if os.getpid() != here:  # a worker that has only just been forked
            os._exit(130)
        # Python loses an error that is raised while a process forks, or in a callback.
        last = threading.Timer(SECONDS_TO_END, end)
        last.daemon = True
        last.start()
        raise KeyboardInterrupt

    before = {signal.SIGTERM: signal.signal(signal.SIGTERM, interrupt)}
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # not one to be ignored
        before[signal.SIGINT] = signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    except KeyboardInterrupt:
        end()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def audiences() -> dict[str, str]:
    """Return who runs each of the engine's own commands, as the help groups them."""
    found = {}
    for command in app.registered_commands:
        name = command.name or getattr(command.callback, "__name__", "").replace("_", "-")
        found[name] = str(command.rich_help_panel)
    return found | {
        group.name: str(group.rich_help_panel) for group in app.registered_groups if group.name
    }


def taken_names() -> set[str]:
    """Return the names of the engine's own commands."""
    return set(audiences())
