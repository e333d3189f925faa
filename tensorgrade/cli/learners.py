"""The commands for learners."""

from pathlib import Path
from typing import Annotated

import typer

from ..course import CourseError
from .shared import LEARNERS, app


@app.command(rich_help_panel=LEARNERS)
def watch(
    folder: Annotated[Path, typer.Argument(help="Folder with your files.")] = Path("exercises"),
    tests: Annotated[Path, typer.Option(help="Folder with the tests.")] = Path("exercises"),
    plain: Annotated[
        bool | None, typer.Option(help="Print sentences without drawings. [default: no terminal]")
    ] = None,
) -> None:
    """Check what you save, as you save it; keys for a hint, the next exercise, the list."""
    if not (tests / "references").is_dir():
        raise CourseError(f"there are no tests in {tests}; go to the course's folder first")
    typer.echo("getting ready …")
    from ..learner.watch.loop import watch as run

    run(tests.resolve(), folder.resolve(), plain)


@app.command(rich_help_panel=LEARNERS)
def read(
    folder: Annotated[Path, typer.Argument(help="Folder with your files.")] = Path("exercises"),
    tests: Annotated[Path, typer.Option(help="Folder with the tests.")] = Path("exercises"),
    out: Annotated[Path, typer.Option(help="The page to write.")] = Path("lessons.html"),
    show: Annotated[bool, typer.Option(help="Open it in a browser.")] = True,
) -> None:
    """Read the lessons as one page, with formulas, pictures and your own progress."""
    import webbrowser

    if not (tests / "references").is_dir():
        raise CourseError(f"there are no tests in {tests}; go to the course's folder first")
    typer.echo("checking how far you are …")
    from ..learner.watch.checker import check_all
    from ..views.lessons import lessons_page

    course, results = check_all(tests.resolve(), folder.resolve())
    out.write_text(lessons_page(course, tests.resolve().parent, results, folder), encoding="utf-8")
    typer.echo(f"{out}")
    if show:
        webbrowser.open(out.resolve().as_uri())


@app.command(rich_help_panel=LEARNERS)
def hint(
    exercise: Annotated[str, typer.Argument(help="Without one: which there are.")] = "",
    count: Annotated[int, typer.Option("-n", "--count", help="How many hints to show.")] = 1,
) -> None:
    """Show the first hints for an exercise, from a nudge to nearly there."""
    from rich.console import Console

    from ..course_sources import load_course
    from ..views.hints import print_hints, print_where_hints_are

    folder = next((f for f in (Path("exercises"), Path(".")) if (f / "course.json").exists()), None)
    if folder is None:
        raise CourseError("there is no exercises/course.json here; go to the course's folder first")
    course, console = load_course(folder), Console(highlight=False)
    if not exercise:
        print_where_hints_are(console, course)
        return
    again = f"tensorgrade hint {exercise} -n {count + 1}"
    print_hints(console, course.exercise(exercise)[1].hints, count, again)
