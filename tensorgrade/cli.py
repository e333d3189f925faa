"""Exercises on tensors that grade themselves: what learners, instructors and authors can run.

Each command imports what it needs when it runs, so that a learner's `hint` does not wait for an
instructor's libraries.
"""

import functools
import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .course import CourseError

if TYPE_CHECKING:
    from .instructor.alike import Alike

ROSTER = "The class as CSV, as the course system gives it out."
LEARNERS, INSTRUCTORS, AUTHORS = "For learners", "For instructors", "For authors"
THIS_COURSE = "This course"
SECONDS_TO_END = 10.0  # after Ctrl-C; then a command ends wherever it is
app = typer.Typer(no_args_is_help=True, add_completion=False, help=__doc__.split("\n")[0])


@app.command(rich_help_panel=LEARNERS)
def watch(
    folder: Annotated[Path, typer.Argument(help="Folder with your files.")] = Path("exercises"),
    tests: Annotated[Path, typer.Option(help="Folder with the tests.")] = Path("exercises"),
) -> None:
    """Check what you save, as you save it; keys for a hint, the next exercise, the list."""
    if not (tests / "references").is_dir():
        raise CourseError(f"there are no tests in {tests}; go to the course's folder first")
    typer.echo("getting ready …")
    from .learner.watch.loop import watch as run

    run(tests.resolve(), folder.resolve())


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
    from .learner.watch.checker import check_all
    from .views.lessons import lessons_page

    course, results = check_all(tests.resolve(), folder.resolve())
    out.write_text(lessons_page(course, tests.resolve().parent, results), encoding="utf-8")
    typer.echo(f"{out}")
    if show:
        webbrowser.open(out.resolve().as_uri())


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
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Chapters or exercises; everything where none is named."),
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Make all anew, write nothing; fail if a file is stale.")
    ] = False,
    pairs: Annotated[
        bool, typer.Option("--pairs", help="Make pairs of mistakes too, as a release needs them.")
    ] = False,
) -> None:
    """Derive stubs, references, fingerprints and notebooks from the solutions."""
    from .author.kept import proved_before
    from .project import find_project

    project = find_project()
    complain(commands_in_the_way(project.root))
    said, has_pairs = proved_before(project.root)
    if said and not (check or names) and has_pairs >= pairs:  # nothing has changed since
        typer.echo(said)
        return
    from .author.building.made_parts import Wish
    from .author.proofs.complaints import check as check_all
    from .author.proofs.complaints import exercises_of, rebuild
    from .author.terminal import BuildProgress

    again = "What was made is kept; the same command makes the rest."
    with BuildProgress() as progress, interruptible(again):
        wish = Wish(pairs=pairs, exercises=exercises_of(project, names or []))
        if check:
            built = check_all(project, wish, progress.tell)
        else:
            built = rebuild(
                project, wish, progress.tell, lambda path: progress.say(f"wrote {path}")
            )
    complain(list(built.wrong))
    typer.echo(built.said)


@app.command(rich_help_panel=AUTHORS)
def author() -> None:
    """Stay open: build what you save, as you save it, and say what is wrong."""
    from .project import find_project

    root = find_project().root
    typer.echo("First everything is built, then what you save. Ctrl-C ends it.")
    from .author.terminal import author as run  # takes a while

    with interruptible("What was saved before is built."):
        run(root)


new = typer.Typer(no_args_is_help=True, help="Begin a course, a chapter or an exercise.")
app.add_typer(new, name="new", rich_help_panel=AUTHORS)


@new.command("course")
def new_course(
    folder: Annotated[Path, typer.Argument(help="A folder that is not there yet.")],
    title: Annotated[str, typer.Option(help="The course's title.")] = "",
) -> None:
    """A course with one chapter, and all files that it needs."""
    from .author.scaffolds import new_course as make

    say_written(make(folder, title), folder)
    typer.echo(f"Next: cd {folder}, and keep `tensorgrade author` open: it builds what you save.")


@new.command("chapter")
def new_chapter(name: Annotated[str, typer.Argument(help="Such as ch2_trees.")]) -> None:
    """A chapter with one exercise."""
    from .author.scaffolds import new_chapter as make
    from .project import find_project

    project = find_project()
    written = make(project, name)
    say_written(written, project.root)
    sample = next(path.stem for path in written if path.parent == project.graders / name)
    typer.echo(
        f"{sample} is a sample: replace it by an exercise of yours, under a name of its own "
        f"(in solutions/{name}.py, and graders/{name}/{sample}.py)."
    )


@new.command("exercise")
def new_exercise(
    chapter: Annotated[str, typer.Argument(help="The chapter that it is to stand in.")],
    name: Annotated[str, typer.Argument(help="The name that learners are to define.")],
    as_class: Annotated[bool, typer.Option("--class", help="A class with weights.")] = False,
    values: Annotated[
        bool, typer.Option("--values", help="A function of plain values, not of tensors.")
    ] = False,
) -> None:
    """An exercise at the end of a chapter: a function of tensors, unless told otherwise."""
    from .author.scaffolds import new_exercise as make
    from .project import find_project

    project, kind = find_project(), "class" if as_class else "values" if values else "function"
    say_written(make(project, chapter, name, kind), project.root)


def commands_in_the_way(root: Path) -> list[str]:
    """A sentence for each of the course's own commands that has an engine's command's name."""
    from .course_sources import own_commands

    ours = taken_names()
    return [
        f"{path.relative_to(root)}: {name} is a command of the engine; give yours another name"
        for name, path in own_commands(root).items()
        if name in ours
    ]


def say_written(paths: list[Path], root: Path) -> None:
    """Say which files were written."""
    for path in dict.fromkeys(paths):
        typer.echo(f"wrote {path.resolve().relative_to(root.resolve())}")


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
        str, typer.Option(help="auto; a rung that is enough, such as landlock; none: no sandbox.")
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
    roster: Annotated[
        Path | None, typer.Option(help="The class as CSV: everybody in it has rows.")
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Take no file that is nearly named or placed right.")
    ] = False,
) -> None:
    """Grade a class: one row for every exercise of every learner, a table, and a report."""
    from .attempts.setup import Setup
    from .instructor.class_terminal import ClassProgress, print_class
    from .instructor.report.page import messages_in, write_report
    from .instructor.roster import read_roster
    from .instructor.run import Run, grade_class
    from .project import find_project

    project, names = find_project(), tuple(read_roster(roster).names)
    setup = Setup(project.graders, isolation, device)
    run = Run(setup, jobs, scheduler, tuple(forget or ()), not strict, names)
    goes_on = f"What is graded is in {out}; the same command does the rest."
    with ClassProgress() as progress, interruptible(goes_on):
        rows = grade_class(submitted, out, run, progress)
    print_class(progress.console, project.course, rows)
    messages = messages_in(project.graders / "references")
    page = write_report(out, project.course, messages=messages)
    progress.console.print(f"\n{len(rows)} rows in {out / 'results.jsonl'}, a page in {page}")
    if gradebook:
        from .instructor.gradebook import course_id_in, write_gradebook

        course_id = course_id_in(project.root)
        written = write_gradebook(gradebook, rows, project.course, course_id)
        progress.console.print(f"{written} submissions in the gradebook")


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


@app.command(rich_help_panel=INSTRUCTORS)
def report(
    out: Annotated[Path, typer.Argument(help="The folder that `tensorgrade grade` wrote.")],
    hide_names: Annotated[
        bool, typer.Option("--hide-names", help="Leave learners' names out of the page.")
    ] = False,
    watch: Annotated[
        bool, typer.Option("--watch", help="Write it again and again while a run goes on.")
    ] = False,
    alike: Annotated[
        Path | None, typer.Option(help="SUBMITTED: list answers in it that are nearly the same.")
    ] = None,
    isolation: Annotated[
        str, typer.Option(help="How learners' files are read for --alike, as for grading.")
    ] = "auto",
) -> None:
    """Write OUT/report.html, the class on one page, from the results in OUT."""
    from .instructor.report.page import messages_in, watch_report, write_report
    from .project import find_project

    project, listed = find_project(), []
    course, messages = project.course, messages_in(project.graders / "references")
    if alike is not None:
        listed = answers_in(alike, isolation)
    if watch:
        with interruptible("The page is as it was last written."):
            page = watch_report(out, course, hide_names, typer.echo, messages=messages)
            typer.echo(f"{page}")
    else:
        typer.echo(f"{write_report(out, course, hide_names, listed, messages)}")


def answers_in(submitted: Path, isolation: str) -> "list[Alike]":
    """Answers in a folder of hand-ins that are nearly the same."""
    from .attempts.maker import AttemptMaker
    from .attempts.setup import Setup
    from .instructor.alike import answers_alike
    from .project import find_project

    maker = AttemptMaker(Setup(find_project().graders, isolation))
    try:
        return answers_alike(maker, submitted)
    finally:
        maker.close()


@app.command(rich_help_panel=INSTRUCTORS)
def collect(
    source: Annotated[Path, typer.Argument(help="What the system gave out: a zip or a folder.")],
    submitted: Annotated[Path, typer.Argument(help="Folder for <student>/<chapter>/.")],
    layout: Annotated[str, typer.Option("--from", help="moodle, canvas, gradescope or git.")],
    chapter: Annotated[
        str, typer.Option(help="The chapter that a file means whose name does not say.")
    ] = "",
    roster: Annotated[Path | None, typer.Option(help=ROSTER)] = None,
    zone: Annotated[str, typer.Option(help="Time zone of Moodle's worksheet.")] = "UTC",
    preview: Annotated[
        bool, typer.Option("--preview", help="Only show who is who; write nothing.")
    ] = False,
) -> None:
    """Sort a course system's download into SUBMITTED, after a table of who is who."""
    from rich.console import Console

    from .instructor.collecting import plan, some_of, table, write
    from .instructor.roster import read_roster
    from .project import find_project

    course = find_project().course
    found = plan(layout, source, course, read_roster(roster), chapter, zone)
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 200)
    console.print(table(found))
    notes = found.notes + some_of(found.left_out)
    notes += [] if preview else write(found, submitted)
    for note in notes:
        console.print(f"note: {note}", markup=False, soft_wrap=True)
    done = "would be written" if preview else "written"
    console.print(f"{len(found.places)} files {done} to {submitted}", soft_wrap=True)


@app.command(rich_help_panel=INSTRUCTORS)
def export(
    out: Annotated[Path, typer.Argument(help="The folder that `tensorgrade grade` wrote.")],
    to: Annotated[
        str, typer.Option(help="csv, xlsx, html or jsonl; csv where nothing is said.")
    ] = "",
    form: Annotated[
        str, typer.Option("--format", help="plain, moodle, canvas or jsonl-annotations.")
    ] = "",
    chapter: Annotated[str, typer.Option(help="Only this chapter.")] = "",
    roster: Annotated[Path | None, typer.Option(help=ROSTER)] = None,
) -> None:
    """Write OUT/export/: points for course systems, or a page for each learner."""
    from .instructor.exporting import export as write_export
    from .instructor.roster import read_roster
    from .project import find_project

    to = to or ("jsonl" if form == "jsonl-annotations" else "csv")
    form = form or ("jsonl-annotations" if to == "jsonl" else "plain")
    course = find_project().course
    files, notes = write_export(out, course, to, form, read_roster(roster), chapter)
    shown = files if len(files) < 4 else [files[0].parent]
    for path in shown:
        typer.echo(f"{path}" if path in files else f"{len(files)} files in {path}")
    for note in notes:
        typer.echo(f"note: {note}")


@app.command(rich_help_panel=INSTRUCTORS)
def channel(
    system: Annotated[str, typer.Argument(help="gradescope, prairielearn or classroom50.")],
    chapter: Annotated[str, typer.Option(help="The chapter that is graded there.")],
    out: Annotated[Path, typer.Option(help="The zip to write.")],
    isolation: Annotated[
        str, typer.Option(help="The lowest rung on which learner code may run there.")
    ] = "uid",
) -> None:
    """Write what a course system needs to grade a chapter in its own containers."""
    from .instructor.channels import write_channel
    from .project import find_project

    typer.echo(f"{write_channel(system, find_project(), chapter, out, isolation)} files in {out}")


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
    exercises: Annotated[
        list[str] | None,
        typer.Argument(help="With --mutants, --unnamed: these exercises alone."),
    ] = None,
    pairs: Annotated[int, typer.Option(help="How many pairs of mistakes to draw.")] = 200,
    seed: Annotated[int, typer.Option(help="Another number, others drawn.")] = 1,
    mutants: Annotated[
        bool, typer.Option("--mutants", help="Mistakes that a machine makes, by exercise.")
    ] = False,
    unnamed: Annotated[
        bool, typer.Option("--unnamed", help="Known mistakes, each as if nobody knew its name.")
    ] = False,
    sample: Annotated[int, typer.Option(help="How many of them to draw for an exercise.")] = 50,
    prices: Annotated[
        bool, typer.Option("--prices", help="Print what each mistake costs, and no more.")
    ] = False,
    sentences: Annotated[int, typer.Option(help="How many sentences on them to show.")] = 0,
) -> None:
    """Measure how often mistakes are caught and named, alone and two at once; or what they cost."""
    from .author.proofs.figures import measure, price_table, report
    from .author.proofs.figures import prices as measured_prices
    from .author.proofs.kills import measure_mutants, measure_unnamed
    from .author.proofs.kills import report as kill_report
    from .project import find_project

    project = find_project()
    if prices:
        typer.echo(price_table(measured_prices(project)))
        return
    tests = project.root / "tests"  # where right answers in other forms stand
    if mutants:
        kills = measure_mutants(project, tests, sample, seed, exercises or ())
        typer.echo(kill_report(kills, sentences, seed))
        return
    if unnamed:
        kills = measure_unnamed(project, sample, seed, exercises or ())
        typer.echo(kill_report(kills, sentences, seed))
        return
    measured = measure(project, tests / "right_answers", pairs, seed)
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
        str, typer.Option(help="auto; a rung that is enough, such as landlock; none: no sandbox.")
    ] = "auto",
    to_send: Annotated[
        bool, typer.Option("--for-learner", help="Only what may be sent to the learner.")
    ] = False,
) -> None:
    """Show an instructor everything behind one verdict, expected values too."""
    from rich.console import Console

    from .attempts.setup import Setup
    from .instructor.explain import explain as gather
    from .instructor.explain import for_learner, print_explanation
    from .instructor.grader import Grader
    from .project import find_project

    grader = Grader(Setup(find_project().graders, isolation))
    try:
        grader.start()
        explanation = gather(grader, student, exercise, submitted, out)
        if to_send:
            typer.echo(for_learner(explanation))
        else:
            print_explanation(Console(highlight=False), explanation, bug_told(exercise))
    finally:
        grader.close()


def bug_told(exercise: str) -> str:
    """Which mistake is to be found in an exercise this term; empty for any other exercise."""
    from .author.recording.bugs import drawn
    from .project import find_project

    project = find_project()
    chapter = project.course.exercise(exercise)[0].name
    if not project.bug(chapter, exercise):
        return ""
    mistake = drawn(project, chapter, exercise)
    return f"learners were given {mistake.name}: {mistake.message}"


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


def hide_what_is_not_here() -> None:
    """A learner's kit holds no folder for instructors: its `--help` lists what learners can run."""
    if not (Path(__file__).parent / "instructor").is_dir():
        for command in app.registered_commands:
            command.hidden = command.rich_help_panel != LEARNERS
        for group in app.registered_groups:
            group.hidden = True


def taken_names() -> set[str]:
    """The names of the engine's own commands."""
    named = [(one.name, one.callback) for one in app.registered_commands]
    names = {name or function.__name__.replace("_", "-") for name, function in named if function}
    return names | {group.name for group in app.registered_groups if group.name}


def add_commands_of_the_course(called: str) -> None:
    """Add what the course in this folder brings along. Raises CourseError for a broken one.

    called: the command that is to run, and the only one that is imported; of the others the
    help shows what their files say. A name that is taken keeps its meaning.
    """
    ours = taken_names()
    if called in ours:
        return
    from .course_sources import described_command, load_command, own_commands

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
    from .course_sources import told_at

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


if __name__ == "__main__":
    main()
