"""The program: what is listed, what a course adds to it, and errors told in a sentence."""

import functools
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import FunctionType
from typing import Annotated, Any

import typer

from ..course import CourseError
from .shared import AUTHORS, INSTRUCTORS, LEARNERS, app, audiences, taken_names

THIS_COURSE = "This course"
# What has to be installed for the commands of each audience, as `pip install 'tensorgrade[…]'`.
EXTRAS = {LEARNERS: "learner", INSTRUCTORS: "instructor", AUTHORS: "author"}
OPTIONAL = {  # packages that not every installation has, by the names they are imported by
    *("bleach", "jinja2", "jupytext", "markdown_it", "nbconvert", "nbformat", "nbgrader"),
    *("openpyxl", "sqlalchemy", "traitlets", "yaml"),
}
for audience in ("learners", "authors", "instructors"):  # each adds its commands to the list
    import_module(f"{__package__}.{audience}")


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


def hide_commands_of_others() -> None:
    """In a learner's kit let `--help` list what learners can run."""
    here = Path.cwd()
    is_kit = (here / "exercises" / "course.json").exists() and not any(
        (folder / "course_config.py").exists() for folder in (here, *here.parents)
    )
    if is_kit:
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


def what_to_install(called: str, package: str) -> str:
    """Return a sentence on a package that a command needs and that is not installed.

    >>> what_to_install("build", "jupytext")
    "`tensorgrade build` needs jupytext: pip install 'tensorgrade[author]'"
    """
    extra = EXTRAS[audiences().get(called, LEARNERS)]
    return f"`tensorgrade {called}` needs {package}: pip install 'tensorgrade[{extra}]'"


def main() -> None:
    """Run a command; an error in the course's own files is one sentence, not a traceback."""
    hide_commands_of_others()
    called = sys.argv[1] if len(sys.argv) > 1 else ""
    try:
        add_commands_of_the_course(called)
        app()
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in OPTIONAL:
            raise
        typer.secho(f"tensorgrade: {what_to_install(called, package)}", fg="red", err=True)
        raise SystemExit(2) from None
    except CourseError as error:
        typer.secho(f"tensorgrade: {error}", fg="red", err=True)
        raise SystemExit(2) from None
    except OSError as error:  # a full disk, a folder that nobody may write into
        place = f"{error.filename}: " if error.filename else ""
        typer.secho(f"tensorgrade: {place}{error.strerror or error}", fg="red", err=True)
        raise SystemExit(2) from None
