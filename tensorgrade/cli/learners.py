"""The commands for learners."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from ..course import CourseError
from ..learner.kit import Kit
from ..project import PUBLIC, folder_with
from .shared import LEARNERS, app

Files = Annotated[Path | None, typer.Argument(help="Folder with your files; default: exercises/.")]


def kit_here(scripts: Path | None = None) -> Kit:
    """Return the kit around the current folder. Raises CourseError if there is none."""
    root = folder_with(PUBLIC)
    if root is None:
        raise CourseError(f"there is no {PUBLIC} here; go to the course's folder first")
    return Kit(root, scripts and scripts.resolve())


@app.command(rich_help_panel=LEARNERS)
def watch(
    folder: Files = None,
    plain: Annotated[
        bool | None, typer.Option(help="Print sentences without drawings. [default: no terminal]")
    ] = None,
) -> None:
    """Check each file when you save it, with keys for hints and more."""
    kit = kit_here(folder)
    typer.echo("getting ready …")
    from ..learner.watch import watch as run

    run(kit, plain)


@app.command(rich_help_panel=LEARNERS)
def read(
    folder: Files = None,
    show: Annotated[bool, typer.Option(help="Open it in a browser.")] = True,
    live: Annotated[bool, typer.Option("--live", help="Check and reload after each save.")] = False,
) -> None:
    """Open the lessons as one page, with your own progress."""
    kit = kit_here(folder)
    typer.echo("checking your progress …")
    if live:
        from ..learner.live_page import read_live

        read_live(kit, show)
        return
    import webbrowser

    from ..learner.checker import Checker
    from ..views.lessons import write_lessons
    from ..views.words import path_here

    with Checker(kit) as checker:
        out = write_lessons(checker.course, kit.root, checker.check_changed(), kit.scripts)
    typer.echo(path_here(out))
    if show:
        webbrowser.open(out.resolve().as_uri())


@app.command(rich_help_panel=LEARNERS)
def hint(
    exercise: Annotated[
        str, typer.Argument(help="Its name; without one or for a chapter, list the exercises.")
    ] = "",
    count: Annotated[int, typer.Option("-n", "--count", help="Number of hints to show.")] = 1,
) -> None:
    """Show the first hints for an exercise."""
    from ..views.hints import print_hints, print_where_hints_are

    course, console = kit_here().course, Console(highlight=False)
    whole = course.chapter_called(exercise)
    if whole or not exercise:
        print_where_hints_are(console, (whole,) if whole else course.chapters)
        return
    again = f"tensorgrade hint {exercise} -n {count + 1}"
    print_hints(console, course.exercise(exercise)[1].hints, count, again)


@app.command(rich_help_panel=LEARNERS)
def reset(
    exercise: Annotated[str, typer.Argument(help="An exercise or a chapter.")],
) -> None:
    """Restore an exercise's original; a copy of your file is kept."""
    from ..learner.kit import reset as put_back
    from ..views.words import path_here

    copy = put_back(kit_here(), exercise)
    kept = f"Your file is kept: {path_here(copy)}" if copy else "The chapter's file was missing."
    typer.echo(f"{exercise} is restored. {kept}")


@app.command(rich_help_panel=LEARNERS)
def submit(
    chapters: Annotated[
        list[str] | None, typer.Argument(help="Chapters; by default all you began.")
    ] = None,
) -> None:
    """Check your work, list what is missing, and write the file to upload."""
    from ..learner.submit import submit as run

    typer.echo("checking …")
    run(kit_here(), chapters or [], Console(highlight=False))


@app.command(rich_help_panel=LEARNERS)
def review(
    every: Annotated[bool, typer.Option("--all", help="All your mistakes, due or not.")] = False,
) -> None:
    """Find your own earlier mistakes again, in fresh find-the-bug exercises."""
    from ..learner.review import Review

    Review(kit_here(), Console(highlight=False)).run(every)


@app.command(rich_help_panel=LEARNERS)
def solution(
    exercise: Annotated[str, typer.Argument(help="An exercise that passes its checks.")],
) -> None:
    """Show the solution of an exercise once yours passes."""
    from rich.syntax import Syntax
    from rich.text import Text

    from ..attempts.results import State, state_of
    from ..learner.checker import Checker
    from ..learner.kit import solutions_of

    kit, console = kit_here(), Console(highlight=False)
    found, chapter = solutions_of(kit, exercise), kit.course.exercise(exercise)[0].name
    kit.text(chapter)
    with Checker(kit) as checker:
        checks = checker.check(chapter)[exercise]
    if state_of(checks) != State.DONE:
        raise CourseError(f"{exercise} does not pass yet; its solution is shown after that")
    for title, code in found.items():
        shown = Syntax(code, "python", theme="ansi_dark", padding=(0, 2), word_wrap=True)
        console.print(Text(f"\n{title}", "bold"), shown, sep="\n")
