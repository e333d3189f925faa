"""Exercises on tensors that grade themselves: what learners, instructors and authors can run.

Each command imports what it needs when it runs, so that a learner's `hint` does not wait for an
instructor's libraries.
"""

import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from .course import CourseError

LEARNERS, INSTRUCTORS, AUTHORS = "For learners", "For instructors", "For authors"
app = typer.Typer(no_args_is_help=True, add_completion=False, help=__doc__.split("\n")[0])


@app.command(rich_help_panel=LEARNERS)
def watch(
    folder: Annotated[Path, typer.Argument(help="Folder with your files.")] = Path("exercises"),
    tests: Annotated[Path, typer.Option(help="Folder with the tests.")] = Path("exercises"),
) -> None:
    """Check what you save, as you save it; keys for a hint, the next exercise, the list."""
    from .learner.watch.loop import watch as run

    if not (tests / "references").is_dir():
        raise CourseError(f"there are no tests in {tests}; go to the course's folder first")
    run(tests.resolve(), folder.resolve())


@app.command(rich_help_panel=LEARNERS)
def hint(
    exercise: str,
    count: Annotated[int, typer.Option("-n", "--count", help="How many hints to show.")] = 1,
) -> None:
    """Show the first hints for an exercise, from a nudge to nearly there."""
    from rich.console import Console

    from .course_sources import load_course
    from .views.hints import print_hints

    folder = next((f for f in (Path("exercises"), Path(".")) if (f / "course.json").exists()), None)
    if folder is None:
        raise CourseError("there is no exercises/course.json here; go to the course's folder first")
    hints = load_course(folder).exercise(exercise)[1].hints
    again = f"tensorgrade hint {exercise} -n {count + 1}"
    print_hints(Console(highlight=False), hints, count, again)


@app.command(rich_help_panel=AUTHORS)
def build(
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; fail if a file is stale.")
    ] = False,
) -> None:
    """Derive stubs, references, fingerprints and notebooks from the solutions."""
    from .author.building.derive import derive
    from .author.proofs.complaints import complaints, failing_solutions
    from .project import find_project

    project = find_project()
    with interruptible("Whatever is missing or stale now, the same command makes."):
        files = derive(project, anew=check)
        if not check:
            for file in files:
                if not file.fresh():
                    file.write()
                    typer.echo(f"wrote {file.path.relative_to(project.root)}")
        wrong = complaints(project, files) + (failing_solutions(project) if check else [])
    complain(wrong)
    typer.echo(f"{len(files)} derived files are fresh; every exercise is proved.")


def complain(complaints: list[str]) -> None:
    """Print each complaint, and end with 1 where there is any."""
    for complaint in complaints:
        typer.echo(f"✗ {complaint}")
    if complaints:
        raise typer.Exit(1)


@app.command(rich_help_panel=INSTRUCTORS)
def grade(
    submitted: Annotated[
        Path, typer.Argument(help="Folder with <student>/<chapter>/<chapter>.py or .ipynb.")
    ],
    out: Annotated[
        Path,
        typer.Option(help="Folder for results.jsonl; the same one again goes on where it stopped."),
    ],
    jobs: Annotated[
        int, typer.Option(help="How many to grade at the same time (0: one a core).")
    ] = 0,
    scheduler: Annotated[
        str, typer.Option(help="Address of a dask scheduler whose workers are to grade.")
    ] = "",
    isolation: Annotated[
        str, typer.Option(help="auto: the best that this machine gives; none: no sandbox.")
    ] = "auto",
    device: Annotated[str, typer.Option(help="cpu or cuda.")] = "cpu",
    gradebook: Annotated[
        str,
        typer.Option(
            help="nbgrader's database to write points into, such as sqlite:///gradebook.db."
        ),
    ] = "",
    forget: Annotated[
        list[str] | None, typer.Option(help="Drop the rows that OUT holds of this learner.")
    ] = None,
) -> None:
    """Grade a class: one row for every exercise of every learner, a table, and a report."""
    from .attempts.setup import Setup
    from .instructor.class_terminal import ClassProgress, print_class
    from .instructor.report.page import write_report
    from .instructor.run import Run, grade_class
    from .project import find_project

    project = find_project()
    run = Run(Setup(project.graders, isolation, device), jobs, scheduler, tuple(forget or ()))
    goes_on = f"What is graded is in {out}; the same command does the rest."
    with ClassProgress() as progress, interruptible(goes_on):
        rows = grade_class(submitted, out, run, progress)
    print_class(progress.console, project.course, rows)
    page = write_report(out, project.course)
    progress.console.print(f"\n{len(rows)} rows in {out / 'results.jsonl'}, a page in {page}")
    if gradebook:
        from .instructor.gradebook import write_gradebook

        written = write_gradebook(gradebook, rows, project.course)
        progress.console.print(f"{written} submissions in the gradebook")


@contextmanager
def interruptible(then: str) -> Iterator[None]:
    """Ctrl-C, and the signal by which clusters end a job, end a command and all its workers.

    then: how to go on.
    """
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    except KeyboardInterrupt:
        typer.echo(f"\nInterrupted. {then}", err=True)
        # All that counts is on disk. A usual exit would wait for the pool, and the pool, now and
        # then, for a worker that was ended in the middle of a message.
        os._exit(130)
    finally:
        signal.signal(signal.SIGTERM, before)


@app.command(rich_help_panel=INSTRUCTORS)
def report(
    out: Annotated[Path, typer.Argument(help="The folder that `tensorgrade grade` wrote.")],
    hide_names: Annotated[
        bool, typer.Option("--hide-names", help="Leave learners' names out of the page.")
    ] = False,
) -> None:
    """Write OUT/report.html, the class on one page, from the results in OUT."""
    from .instructor.report.page import write_report
    from .project import find_project

    typer.echo(f"{write_report(out, find_project().course, hide_names)}")


@app.command(rich_help_panel=INSTRUCTORS)
def adopt(
    out: Annotated[Path, typer.Argument(help="The folder that `tensorgrade grade` wrote.")],
    group: Annotated[str, typer.Argument(help="A group of wrong answers, as the report names it.")],
    name: Annotated[str, typer.Option(help="What the mistake is to be called, such as no_scale.")],
    message: Annotated[str, typer.Option(help="A sentence that points a learner at the idea.")],
) -> None:
    """Make a known mistake of wrong answers that had no name; the next build proves it."""
    from .author.recording.adopted import Adopted
    from .author.recording.adopted import adopt as add
    from .instructor.groups import representative
    from .project import find_project

    record = representative(out, group)
    mistake = Adopted(name, message, record["code"])
    path = add(find_project(), record["chapter"], record["exercise"], mistake)
    typer.echo(f"{path} holds it; `tensorgrade build` takes its fingerprint")


@app.command(rich_help_panel=INSTRUCTORS)
def bundle(
    out: Annotated[
        Path | None, typer.Option(help="The zip to write; by default <the course's name>-kit.zip.")
    ] = None,
) -> None:
    """Write the learner's kit: stubs, checks, notebooks and the engine, and nothing hidden."""
    from .author.bundle import write_kit
    from .project import find_project

    project = find_project()
    out = out or Path(f"{project.course.name}-kit.zip")
    typer.echo(f"{write_kit(project, out)} files in {out}")


@app.command("kill-matrix", rich_help_panel=AUTHORS)
def kill_matrix(
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; fail if the page is stale.")
    ] = False,
) -> None:
    """Run every known mistake against every hidden test, and write docs/kill_matrix.md."""
    from .author.building.derived import text_file
    from .author.proofs.kill_matrix import kill_page, unproved
    from .project import find_project

    project = find_project()
    text, matrices = kill_page(project)
    page, gaps = text_file(project.root / "docs" / "kill_matrix.md", text), unproved(matrices)
    if check and not page.fresh():
        gaps.append("docs/kill_matrix.md is stale; `tensorgrade kill-matrix` writes it")
    complain(gaps)
    if not check:
        page.write()
    typer.echo("Every mistake is noticed, and every hidden test notices one or is a guard.")


@app.command(rich_help_panel=AUTHORS)
def figures(
    pairs: Annotated[int, typer.Option(help="How many pairs of mistakes to draw.")] = 200,
    seed: Annotated[int, typer.Option(help="Another number, other pairs.")] = 1,
) -> None:
    """Measure how often mistakes are caught and named, alone and two at once."""
    from .author.proofs.figures import measure, report
    from .project import find_project

    project = find_project()
    measured = measure(project, project.root / "tests" / "right_answers", pairs, seed)
    typer.echo(report(measured, project.mistakes))


@app.command(rich_help_panel=AUTHORS)
def sample(
    folder: Annotated[Path, typer.Argument(help="Where to write the made-up learners' files.")],
    learners: Annotated[int, typer.Option(help="How many.")] = 30,
    seed: Annotated[int, typer.Option(help="Another number, another class.")] = 1,
) -> None:
    """Write a made-up class, put together from the solutions and the known mistakes."""
    from .author.proofs.sample_class import write_sample_class
    from .project import find_project

    files = write_sample_class(find_project(), folder, learners, seed)
    typer.echo(f"{files} files of {learners} made-up learners in {folder}")


@app.command(rich_help_panel=INSTRUCTORS)
def explain(
    student: Annotated[str, typer.Argument(help="The learner's folder name.")],
    exercise: Annotated[str, typer.Argument(help="Its name, as in the chapter's file.")],
    submitted: Annotated[
        Path, typer.Option(help="Folder with <student>/<chapter>/<chapter>.py or .ipynb.")
    ],
    out: Annotated[
        Path | None, typer.Option(help="Folder with results.jsonl, to compare with.")
    ] = None,
    isolation: Annotated[
        str, typer.Option(help="auto: the best that this machine gives; none: no sandbox.")
    ] = "auto",
) -> None:
    """Show an instructor everything behind one verdict, expected values too."""
    from rich.console import Console

    from .attempts.setup import Setup
    from .instructor.explain import explain as gather
    from .instructor.explain import print_explanation
    from .instructor.grader import Grader
    from .project import find_project

    grader = Grader(Setup(find_project().graders, isolation))
    try:
        grader.start()
        print_explanation(
            Console(highlight=False), gather(grader, student, exercise, submitted, out)
        )
    finally:
        grader.close()


@app.command(rich_help_panel=INSTRUCTORS)
def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
) -> None:
    """Say which isolation this machine gives, what it protects from, and how to get more."""
    from .isolation.doctor import as_text, examine
    from .project import find_project

    try:
        wanted = find_project().course.isolation
    except CourseError:  # it helps outside a course's folder too
        wanted = None
    report = examine(wanted)
    typer.echo(json.dumps(report, indent=1) if as_json else as_text(report))


def main() -> None:
    """Run a command; an error in the course's own files is one sentence, not a traceback."""
    try:
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


if __name__ == "__main__":
    main()
