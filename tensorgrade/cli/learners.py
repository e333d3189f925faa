"""The commands for learners."""

from pathlib import Path
from typing import Annotated

import typer

from ..course import CourseError
from .shared import LEARNERS, app

EXERCISES, LESSONS = Path("exercises"), Path("lessons.html")  # in the course's folder


def here_if_inside(folder: Path) -> Path:
    """Return the current folder if it is the folder `exercises` that was meant."""
    inside = folder == EXERCISES and not folder.exists() and Path("course.json").exists()
    return Path(".") if inside else folder


def folder_of_tests(folder: Path) -> Path:
    """Return the folder with the tests. Raises CourseError if it has none."""
    found = here_if_inside(folder)
    if not (found / "references").is_dir():
        raise CourseError(f"there are no tests in {folder}; go to the course's folder first")
    return found


@app.command(rich_help_panel=LEARNERS)
def watch(
    folder: Annotated[Path, typer.Argument(help="Folder with your files.")] = EXERCISES,
    tests: Annotated[Path, typer.Option(help="Folder with the tests.")] = EXERCISES,
    plain: Annotated[
        bool | None, typer.Option(help="Print sentences without drawings. [default: no terminal]")
    ] = None,
) -> None:
    """Check each file when you save it, with keys for hints and more."""
    folder, tests = here_if_inside(folder), folder_of_tests(tests)
    typer.echo("getting ready …")
    from ..learner.watch.loop import watch as run

    run(tests.resolve(), folder.resolve(), plain)


@app.command(rich_help_panel=LEARNERS)
def read(
    folder: Annotated[Path, typer.Argument(help="Folder with your files.")] = EXERCISES,
    tests: Annotated[Path, typer.Option(help="Folder with the tests.")] = EXERCISES,
    out: Annotated[Path, typer.Option(help="The page to write.")] = LESSONS,
    show: Annotated[bool, typer.Option(help="Open it in a browser.")] = True,
    live: Annotated[bool, typer.Option("--live", help="Check and reload after each save.")] = False,
) -> None:
    """Open the lessons as one page, with your own progress."""
    import webbrowser

    from ..views.words import path_here

    folder, tests = here_if_inside(folder), folder_of_tests(tests)
    if out == LESSONS:
        out = Path(path_here(tests.resolve().parent / out))
    typer.echo("checking your progress …")
    if live:
        from ..learner.live_page import read_live

        read_live(tests.resolve(), folder.resolve(), show)
        return
    from ..learner.watch.checker import check_all
    from ..views.lessons import lessons_page

    course, results = check_all(tests.resolve(), folder.resolve())
    out.write_text(lessons_page(course, tests.resolve().parent, results, folder), encoding="utf-8")
    typer.echo(f"{out}")
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
    from rich.console import Console

    from ..project import load_course
    from ..views.hints import print_hints, print_where_hints_are

    folder = next((f for f in (Path("exercises"), Path(".")) if (f / "course.json").exists()), None)
    if folder is None:
        raise CourseError("there is no exercises/course.json here; go to the course's folder first")
    course, console = load_course(folder), Console(highlight=False)
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
    from ..learner.kit import find_kit
    from ..learner.kit import reset as put_back
    from ..views.words import path_here

    kit = find_kit()
    copy = put_back(kit, exercise)
    kept = f"Your file is kept: {path_here(copy)}" if copy else "The chapter's file was missing."
    typer.echo(f"{exercise} is restored. {kept}")


@app.command(rich_help_panel=LEARNERS)
def submit(
    chapters: Annotated[
        list[str] | None, typer.Argument(help="Chapters; by default all you began.")
    ] = None,
) -> None:
    """Check your work, list what is missing, and write the file to upload."""
    from rich.console import Console

    from ..learner.commands.submit import submit as run
    from ..learner.kit import find_kit

    typer.echo("checking …")
    run(find_kit(), chapters or [], Console(highlight=False))


@app.command(rich_help_panel=LEARNERS)
def review(
    every: Annotated[bool, typer.Option("--all", help="All your mistakes, due or not.")] = False,
) -> None:
    """Find your own earlier mistakes again, in fresh find-the-bug exercises."""
    from rich.console import Console

    from ..learner.commands.review import Review
    from ..learner.kit import find_kit

    Review(find_kit(), Console(highlight=False)).run(every)


@app.command(rich_help_panel=LEARNERS)
def solution(
    exercise: Annotated[str, typer.Argument(help="An exercise that passes its checks.")],
) -> None:
    """Show the solution of an exercise once yours passes."""
    from rich.console import Console

    from ..learner.commands.solution import show_solution
    from ..learner.kit import find_kit

    show_solution(find_kit(), exercise, Console(highlight=False))
