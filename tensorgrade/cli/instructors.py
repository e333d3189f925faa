"""The commands for instructors: grade a class, and exchange files with course systems."""

import json
import os
import sys
from contextlib import closing, nullcontext
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from ..course import CourseError
from ..exchange.text import printable
from ..project import find_project
from .shared import INSTRUCTORS, app, interruptible

QUESTIONS = 3  # for each exercise, at most
FILES = "Folder with <student>/<chapter>/<chapter>.py or .ipynb."
Submitted = Annotated[Path, typer.Option(help=FILES)]
Graded = Annotated[Path, typer.Argument(help="The folder that `tensorgrade grade` wrote.")]
Student = Annotated[str, typer.Argument(help="The learner's folder name.")]
Isolation = Annotated[
    str, typer.Option(help="none runs learner code without a sandbox (auto: the course's choice).")
]
Roster = Annotated[
    Path | None, typer.Option(help="The class list as CSV, exported from the course system.")
]
Section = Annotated[str, typer.Option(help="Only the learners of this section of the roster.")]


@app.command(rich_help_panel=INSTRUCTORS)
def grade(
    submitted: Annotated[Path, typer.Argument(help=FILES)],
    out: Annotated[
        Path,
        typer.Option(help="Folder for the results. Use it again to resume a run."),
    ],
    jobs: Annotated[int, typer.Option(help="Worker processes (0 = one per core).")] = 0,
    scheduler: Annotated[
        str, typer.Option(help="Address of a dask scheduler that provides the workers.")
    ] = "",
    isolation: Isolation = "auto",
    device: Annotated[str, typer.Option(help="cpu, cuda or auto.")] = "cpu",
    student: Annotated[
        list[str] | None,
        typer.Option(help="Grade only this learner, and again; may be repeated."),
    ] = None,
    roster: Annotated[
        Path | None, typer.Option(help="The class list as CSV; everyone on it gets results.")
    ] = None,
    chapter: Annotated[
        list[str] | None, typer.Option(help="Grade only this chapter; may be repeated.")
    ] = None,
    section: Section = "",
) -> None:
    """Grade a class and write a report."""
    from ..attempts.setup import Setup
    from ..instructor.grader import NOTHING_PASSES
    from ..instructor.people import class_of
    from ..instructor.report.page import write_report
    from ..instructor.rules import graders_failed
    from ..instructor.run import Run, grade_class, print_class, print_notes, say
    from ..sources.finding import named

    project, people = find_project(), class_of(submitted, roster)
    own = people.in_section(section)
    run = Run(
        Setup(project.graders, isolation, device, (submitted, out)),
        jobs,
        scheduler,
        learners=frozenset(student or own),
        again=bool(student),
        roster=tuple(person["student"] for person in people.rows),
        chapters=tuple(chapter or ()),
    )
    os.umask(0o077)  # results are for their owner only
    goes_on = f"Results so far are in {out}; run the same command to continue."
    console = Console(highlight=False)
    with interruptible(goes_on):
        rows, notes, ungraded = grade_class(submitted, out, project.course, run, console)
    print_class(console, project.course, [r for r in rows if not own or r["student"] in own])
    page = write_report(out, project)
    say(console, f"\n{len(rows)} rows in {out / 'results.jsonl'}, a page in {page}")
    if ungraded:
        again = f"{NOTHING_PASSES} Run the same command again to grade the rest"
        notes.append(f"not graded yet: {named(ungraded)}, because {again}")
    print_notes(console, notes)
    if ungraded or any(map(graders_failed, rows)):
        raise typer.Exit(1)


@app.command(rich_help_panel=INSTRUCTORS)
def log(
    out: Graded,
    student: Student,
) -> None:
    """Show everything that happened to one learner's points."""
    from ..instructor.explain import log_of

    for line in log_of(out, student, find_project().course):
        typer.echo(printable(line, len(line)))


@app.command(rich_help_panel=INSTRUCTORS)
def report(
    out: Graded,
    section: Section = "",
) -> None:
    """Write OUT/report.html, one page about the class."""
    from ..instructor.people import class_of
    from ..instructor.report.page import write_report

    own = class_of(out, None).in_section(section)
    typer.echo(f"{write_report(out, find_project(), section, own)}")


@app.command(rich_help_panel=INSTRUCTORS)
def collect(
    source: Annotated[Path, typer.Argument(help="The system's download: a zip or a folder.")],
    submitted: Annotated[Path, typer.Argument(help="Folder to write <student>/<chapter>/ to.")],
    system: Annotated[str, typer.Option("--from", help="moodle, canvas, gradescope or git.")],
    chapter: Annotated[str, typer.Option(help="Collect only this chapter.")] = "",
    roster: Roster = None,
    zone: Annotated[
        str, typer.Option(help="Time zone of Moodle's worksheet, if it is not the course's own.")
    ] = "",
    section: Section = "",
    preview: Annotated[
        bool, typer.Option("--preview", help="Only show which file belongs to whom.")
    ] = False,
) -> None:
    """Sort a course system's download into SUBMITTED."""
    from ..instructor.collect import SAME, USED, copy_of, table
    from ..instructor.collect import collect as sort_download
    from ..instructor.people import read_people, read_roster
    from ..views.words import plural

    course, listed = find_project().course, read_roster(roster)
    with copy_of(submitted) if preview else nullcontext(submitted) as target:
        people = read_people(target)
        found = sort_download(
            system, source, target, course, people, listed, chapter, zone, section
        )
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 200)
    console.print(table(found.lines, course.lateness.zone))
    for note in found.told():
        console.print(f"note: {printable(note, len(note))}", markup=False, soft_wrap=True)
    done = "would be written" if preview else "written"
    results = [result for result, _ in found.done.values()]
    count, same = plural(results.count(USED), "submission"), results.count(SAME)
    unchanged = f", {same} as before" if same else ""
    console.print(f"{count} {done} to {submitted}{unchanged}", markup=False, soft_wrap=True)
    if found.lost:
        console.print("some submissions are not collected; see the notes above")
        raise typer.Exit(1)


EARLIER_FORMATS = {
    ("html", "csv"): "pages",
    ("html", "moodle"): "feedback",
    ("xlsx", "csv"): "xlsx",
}


@app.command(rich_help_panel=INSTRUCTORS)
def export(
    out: Graded,
    form: Annotated[
        str, typer.Option("--format", help="csv, xlsx, moodle, canvas, pages or feedback.")
    ] = "csv",
    to: Annotated[str, typer.Option(hidden=True)] = "",
    chapter: Annotated[str, typer.Option(help="Only this chapter.")] = "",
    roster: Roster = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace typed cells, and let many grades fall.")
    ] = False,
    partial: Annotated[
        bool, typer.Option("--partial", help="Export even if some are not graded yet.")
    ] = False,
    section: Section = "",
    column: Annotated[
        str, typer.Option(help="The column of Canvas' gradebook, if not named like the chapter.")
    ] = "",
    lessons: Annotated[
        str, typer.Option(help="Address of the kit's lessons.html, for links on learners' pages.")
    ] = "",
) -> None:
    """Export points for course systems, or a page for each learner."""
    from ..instructor.exporting import export as write_export
    from ..instructor.people import read_roster

    course, listed = find_project().course, read_roster(roster)
    form = EARLIER_FORMATS.get((to, form), form)
    files, notes = write_export(
        out, course, form, listed, chapter, overwrite, partial, section, column, lessons
    )
    shown = files if len(files) < 4 else [files[0].parent]
    for path in shown:
        typer.echo(f"{path}" if path in files else f"{len(files)} files in {path}")
    for note in notes:
        typer.echo(f"note: {printable(note, len(note))}")


@app.command(rich_help_panel=INSTRUCTORS)
def channel(
    system: Annotated[str, typer.Argument(help="gradescope or prairielearn.")],
    chapter: Annotated[str, typer.Option(help="The chapter to grade there.")],
    out: Annotated[Path, typer.Option(help="The zip to write.")],
) -> None:
    """Write a package that lets a course system check a chapter."""
    from ..instructor.channels import write_channel

    typer.echo(f"{write_channel(system, find_project(), chapter, out)} files in {out}")


@app.command(rich_help_panel=INSTRUCTORS)
def questions(
    submitted: Annotated[Path, typer.Argument(help="Folder with <student>/<chapter>/.")],
    out: Annotated[Path, typer.Option(help="Folder for the pages.")] = Path("questions"),
    isolation: Isolation = "auto",
) -> None:
    """Write questions for each learner on shapes in the learner's own code."""
    from ..instructor.questions import questions_for_class, write_questions
    from ..sources.finding import named
    from ..views.words import plural

    written, without = {}, []
    for student, asked in questions_for_class(
        find_project().exercises, submitted, isolation, QUESTIONS
    ):
        typer.echo(printable(student, 100))
        if asked:
            written[student] = asked
        else:
            without.append(student)
    if without:
        why = "no exercise of theirs passes its public checks"
        typer.echo(f"note: no questions for {printable(named(without), 1000)}: {why}")
    if written:
        write_questions(written, out)
        count = plural(sum(map(len, written.values())), "question")
        learners = plural(len(written), "learner")
        typer.echo(f"{count} for {learners} in {out}; answers.csv is for you only")


@app.command(rich_help_panel=INSTRUCTORS)
def bundle(
    out: Annotated[
        Path | None, typer.Option(help="The zip to write; by default <the course's name>-kit.zip.")
    ] = None,
    solutions: Annotated[
        bool, typer.Option("--solutions", help="Write only solutions.zip, for after the deadline.")
    ] = False,
) -> None:
    """Write the learner's kit: stubs, checks, notebooks and the engine, and nothing hidden."""
    from ..author.handouts import files_of_kit, files_of_solutions, zipped
    from ..folders import write_file

    project = find_project()
    out = out or Path("solutions.zip" if solutions else f"{project.course.name}-kit.zip")
    files = files_of_solutions(project) if solutions else files_of_kit(project)
    write_file(out, zipped(files, "" if solutions else f"{out.stem}/"))
    typer.echo(f"{len(files)} files in {out}")


@app.command(rich_help_panel=INSTRUCTORS)
def explain(
    student: Student,
    exercise: Annotated[str, typer.Argument(help="The exercise's name, as in the chapter's file.")],
    submitted: Submitted,
    out: Annotated[
        Path | None,
        typer.Option(help="The folder that `tensorgrade grade` wrote, for overrides and lateness."),
    ] = None,
    isolation: Isolation = "auto",
    to_send: Annotated[
        bool,
        typer.Option("--reply", "--for-learner", help="Only show what may be sent to the learner."),
    ] = False,
) -> None:
    """Show everything behind one verdict, including expected values."""
    from ..attempts.setup import Setup
    from ..built import refuse_unbuilt
    from ..instructor.collect import where_files_went
    from ..instructor.explain import explain as gather
    from ..instructor.explain import for_learner, print_explanation
    from ..instructor.exporting import not_released
    from ..instructor.grader import Grader
    from ..lateness import is_released

    project = find_project()
    course = project.course
    if to_send and not is_released(course.lateness):
        raise CourseError(not_released(course))
    chapter = course.exercise(exercise)[0].name
    refuse_unbuilt(project.graders, course, [chapter])
    with closing(Grader(Setup(project.graders, isolation, private=(submitted,)))) as grader:
        explanation = gather(grader, student, exercise, submitted, out)
        if isinstance(explanation, str):
            typer.echo(explanation)
        elif to_send:
            for note in (UNKNOWN_OVERRIDES if out is None else "", explanation.difference):
                typer.echo(f"note: {note}", err=True) if note else None
            typer.echo(for_learner(explanation))
        else:
            bug = bug_told(project.solution(chapter), exercise)
            print_explanation(Console(highlight=False), explanation, bug)
    for line in where_files_went(submitted, student, chapter) if not to_send else []:
        typer.echo(printable(line, len(line)))


UNKNOWN_OVERRIDES = "overrides are unknown without --out, so other points may count"


def bug_told(lesson: Path, exercise: str) -> str:
    """Describe the bug in a find-the-bug exercise; empty for other exercises."""
    from ..author.lessons import BUG
    from ..cells import marked, read_lesson

    bugs = BUG.findall(marked(read_lesson(lesson), "exercise")[exercise].source)
    return "; ".join(f"learners were given `{wrong}` for `{right}`" for _, right, wrong in bugs)


@app.command(rich_help_panel=INSTRUCTORS)
def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
) -> None:
    """Try what the sandbox for learner code stops on this machine. Exit code 1: not everything."""
    from ..attempts.maker import private_paths
    from ..sandbox.holes import examine

    try:
        private = private_paths(find_project().graders)
    except CourseError:  # so that it also works outside a course's folder
        private = {}
    report = examine(private)
    text = "Isolation on this machine: {isolation} ({system})\n\n{message}".format(**report)
    typer.echo(json.dumps(report, indent=1) if as_json else text)
    if report["holes"]:
        raise typer.Exit(1)
