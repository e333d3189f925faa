"""The program: what is listed, what a course adds to it, and errors told in a sentence."""

import functools
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import FunctionType
from typing import Any

import typer

from ..course import CourseError
from .shared import LEARNERS, app, taken_names

THIS_COURSE = "This course"
for audience in ("learners", "authors", "instructors"):  # each adds its commands to the list
    import_module(f"{__package__}.{audience}")


def hide_what_is_not_here() -> None:
    """A learner's kit holds no folder for instructors: its `--help` lists what learners can run."""
    if not (Path(__file__).parents[1] / "instructor").is_dir():
        for command in app.registered_commands:
            command.hidden = command.rich_help_panel != LEARNERS
        for group in app.registered_groups:
            group.hidden = True


def add_commands_of_the_course(called: str) -> None:
    """Add what the course in this folder brings along. Raises CourseError for a broken one.

    called: the command that is to run, and the only one that is imported; of the others the
    help shows what their files say. A name that is taken keeps its meaning.
    """
    ours = taken_names()
    if called in ours:
        return
    from ..course_sources import described_command, load_command, own_commands

    for name, path in own_commands(Path.cwd()).items():
        if name in ours:
            continue
        if name == called:
            app.command(name, rich_help_panel=THIS_COURSE)(with_a_sentence(load_command(path)))
        else:
            about = described_command(path)
            app.command(name, rich_help_panel=THIS_COURSE, help=about)(lambda: None)


def with_a_sentence(command: FunctionType) -> Callable[..., Any]:
    """The same command of a course; an error that nobody thought of is a CourseError."""
    from ..course_sources import told_at

    @functools.wraps(command)
    def run(*arguments: Any, **options: Any) -> Any:
        try:
            return command(*arguments, **options)
        except (CourseError, OSError, typer.Exit, typer.Abort, typer.BadParameter):
            raise
        except Exception as error:
            raise CourseError(told_at(Path(command.__code__.co_filename), error)) from error

    return run


def main() -> None:
    """Run a command; an error in the course's own files is one sentence, not a traceback."""
    hide_what_is_not_here()
    try:
        add_commands_of_the_course(sys.argv[1] if len(sys.argv) > 1 else "")
        app()
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith("tensorgrade"):
            raise
        typer.secho(
            "tensorgrade: this command is not part of the learner's kit", fg="red", err=True
        )
        raise SystemExit(2) from None
    except CourseError as error:
        typer.secho(f"tensorgrade: {error}", fg="red", err=True)
        raise SystemExit(2) from None
    except OSError as error:  # a full disk, a folder that nobody may write into
        place = f"{error.filename}: " if error.filename else ""
        typer.secho(f"tensorgrade: {place}{error.strerror or error}", fg="red", err=True)
        raise SystemExit(2) from None
