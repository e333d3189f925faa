"""The main program: it lists the commands, adds the course's own, and reports errors briefly."""

import sys
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from ..course import CourseError
from ..project import (
    CONFIG,
    PUBLIC,
    described_command,
    error_at,
    folder_with,
    load_command,
    own_commands,
)
from .shared import AUTHORS, INSTRUCTORS, LEARNERS, app, audiences

THIS_COURSE = "This course"
# The extras to install for the commands of each audience, as `pip install 'tensorgrade[…]'`.
EXTRAS = {LEARNERS: "learner", INSTRUCTORS: "instructor", AUTHORS: "author"}
IN_A_KIT = "`tensorgrade watch` shows where to begin, and checks your file each time you save it."
IN_A_COURSE = (
    "`tensorgrade watch` checks this course's exercises, `tensorgrade author` builds what you "
    "save, and `tensorgrade grade SUBMITTED --out OUT` grades a class."
)
ELSEWHERE = (
    "There is no course here. Go to the folder of your kit or course, or make one with "
    "`tensorgrade new course NAME`. `tensorgrade audit FILE` checks attention code from anywhere."
)
OPTIONAL = {  # packages that may be missing, by their import names
    *("jinja2", "markdown_it", "nbconvert", "nbformat", "nbgrader"),
    *("openpyxl", "pygments", "traitlets", "yaml"),
}
for audience in ("learners", "authors", "instructors", "audits"):
    import_module(f"{__package__}.{audience}")  # it registers its commands


def show_version(asked: bool) -> None:
    """Print the version and exit, if asked."""
    if asked:
        from importlib.metadata import version

        typer.echo(version("tensorgrade"))
        raise typer.Exit


VERSION = typer.Option(
    "--version", help="Show the version and exit.", callback=show_version, is_eager=True
)


@app.callback()
def options(version: Annotated[bool, VERSION] = False) -> None:
    """Take the options that need no command."""


def next_step() -> str:
    """Return what to do next in this folder, in sentences."""
    if folder_with(CONFIG):
        return IN_A_COURSE
    return IN_A_KIT if folder_with(PUBLIC) else ELSEWHERE


def hide_commands_of_others() -> None:
    """List only the learners' commands in `--help` if this is a learner's kit."""
    if next_step() == IN_A_KIT:
        for command in app.registered_commands:
            command.hidden = command.rich_help_panel != LEARNERS
        for group in app.registered_groups:
            group.hidden = True


def add_commands_of_the_course(called: str) -> Path | None:
    """Add the commands of the course in this folder. Return the file of the one to run, if any.

    called: the command to run. Only that one is imported; for the others the help shows the
    descriptions in their files. The engine's own commands have precedence. Raises CourseError for a
    broken one, and for an unknown one outside a course unless it resembles one of the engine's.
    """
    ours = audiences()
    if called in ours:
        return None
    there = own_commands(Path.cwd())
    if not there and called and not called.startswith("-") and not get_close_matches(called, ours):
        where = "if it belongs to a course, go to the course's folder first"
        raise CourseError(f"there is no command {called!r} here; {where}")
    for name, path in there.items():
        if name == called:
            app.command(name, rich_help_panel=THIS_COURSE)(load_command(path))
        elif name not in ours:
            about = described_command(path)
            app.command(name, rich_help_panel=THIS_COURSE, help=about)(lambda: None)
    return there.get(called)


def main() -> None:
    """Run a command. An error in the course's own files is shown as one sentence."""
    if len(sys.argv) == 1:
        typer.echo(f"{next_step()} `tensorgrade --help` lists all commands.")
        return
    hide_commands_of_others()
    called, own = sys.argv[1], None
    try:
        own = add_commands_of_the_course(called)
        app()
        return
    except CourseError as error:
        told = str(error)
    except OSError as error:  # a full disk, or a folder without write permission
        place = f"{error.filename}: " if error.filename else ""
        told = f"{place}{error.strerror or error}"
    except Exception as error:
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        package = (missing or "").partition(".")[0]
        if own:
            told = error_at(own.parents[1], error, f"{own}: ")
        elif package in OPTIONAL:
            extra = EXTRAS[audiences().get(called, LEARNERS)]
            told = f"`tensorgrade {called}` needs {package}: pip install 'tensorgrade[{extra}]'"
        else:
            raise
    typer.secho(f"tensorgrade: {told}", fg="red", err=True)
    raise SystemExit(2)
