"""Print the end of a test run: the state of each exercise, and the one to work on first."""

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import IO, cast

from pytest import Config, TerminalReporter
from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from ..attempts.attempt import Attempt
from ..attempts.inherited_errors import once
from ..attempts.maker import AttemptMaker
from ..attempts.points import settled
from ..attempts.results import CheckResult, State, first_failure, state_of
from ..course import Chapter, Course, Exercise
from ..judging.diagnosis import Diagnosis, Finding, Kind
from ..judging.errors import raised
from ..messages.errors import NotWritten
from ..messages.message import Clauses, render, sentence
from ..messages.verdicts import CheckFailed, GoOnThere
from .hints import print_hints
from .note import Note
from .words import in_tenths, place_in_file

MARKS = {
    State.DONE: ("✓", "green"),
    State.WRONG: ("✗", "bold red"),
    State.TO_DO: ("·", "dim"),
}
WIDEST, NARROW, BAR, TITLE, NAME = 100, 100, 16, 39, 32
START = "Read its docstring, put your code in the place of `raise NotImplementedError`, and save."
MEND = "A mistake is in the code that stands there: find it, mend it, and save."
MOST_WARNINGS = 3
ALL_DONE = "Everything is done."
PART_DONE = "What was run is done; `pytest exercises/` runs it all."
AGAIN = "Then run this again; `tensorgrade watch` does that by itself each time you save."
OF_THE_TEST = Finding("", Diagnosis(Kind.ERROR, CheckFailed()))
Results = dict[str, list[CheckResult]]  # by exercise


def print_summary(
    terminal: TerminalReporter, results: list[CheckResult], maker: AttemptMaker, config: Config
) -> Results:
    """Write the summary to pytest's terminal. Return the results, settled and by exercise."""
    console = console_on(terminal)
    course, by_exercise = maker.course, settle(group(results), maker)
    folder = Path(config.getoption("attempt") or maker.tests)
    console.print()
    print_progress(console, course, by_exercise)
    print_left_out(console, maker.attempts.values())
    first = first_to_work_on(course, by_exercise)
    if first is None:
        done = ALL_DONE if is_whole(course, by_exercise, config) else PART_DONE
        console.print(f"\n[bold green]{done}[/]\n")
    else:
        print_first(console, course, first, by_exercise[first], folder, config.getoption("hint"))
    return by_exercise


def is_whole(course: Course, by_exercise: Results, config: Config) -> bool:
    """Return True if the run included all exercises and no subset of tests was selected."""
    if config.getoption("keyword") or any("::" in argument for argument in config.args):
        return False
    return all(e.name in by_exercise for c in course.chapters for e in c.exercises)


def print_left_out(console: Console, attempts: Iterable[Attempt]) -> None:
    """Print the parts of the learner's files that could not be run, and the warnings in them."""
    for attempt in attempts:
        warned = [
            f"{attempt.chapter.name}.py: {said}" for said in attempt.backend.warned[:MOST_WARNINGS]
        ]
        for said in [*left_out(attempt), *warned]:
            console.print(Text(said, "yellow"))


def left_out(attempt: Attempt) -> list[str]:
    """Describe the code outside the exercises that could not be run; the checks ignore it."""
    failed = [p.error for p in attempt.loaded.problems if not attempt.exercises.keys() & p.names]
    left = f"Left out of {attempt.chapter.name}.py, since"
    endless = f"{left} it does not come to an end: the code outside of functions and classes"
    told = [f"{left} it fails: {render(raised(error, attempt.place))}" for error in failed]
    return [endless] * attempt.backend.definitions_only + told


def console_on(terminal: TerminalReporter) -> Console:
    """Return a console on pytest's terminal, with colours only if pytest itself uses them."""
    writer = terminal._tw
    return Console(
        file=cast(IO[str], writer),  # it has the methods that rich needs: write, flush, isatty
        width=min(WIDEST, writer.fullwidth),
        highlight=False,
        force_terminal=True if writer.hasmarkup else None,
        color_system="auto" if writer.hasmarkup else None,
    )


def group(results: list[CheckResult]) -> Results:
    """Group results by exercise."""
    grouped = defaultdict(list)
    for result in results:
        grouped[result.exercise].append(result)
    return grouped


def settle(by_exercise: Results, maker: AttemptMaker) -> Results:
    """Return the results with each check's points, and the earlier exercise to fix first."""
    again = by_exercise.__getitem__  # on public cases nothing is judged a second time
    for attempt in maker.attempts.values():
        by_exercise = once(attempt, by_exercise, again, maker.tests)
        own = by_exercise.keys() & attempt.exercises.keys()
        by_exercise |= {name: settled(attempt.exercises[name], by_exercise[name]) for name in own}
    return by_exercise


def print_progress(
    console: Console, course: Course, by_exercise: Results, every: bool = False
) -> None:
    """Print a line for each chapter, and a sum if there are several.

    every: show all exercises of each chapter.
    """
    chapters = [c for c in course.chapters if any(e.name in by_exercise for e in c.exercises)]
    sums = [print_chapter(console, chapter, by_exercise, every) for chapter in chapters]
    if len(sums) > 1:
        earned, most = map(sum, zip(*sums, strict=True))
        print_line(console, "Together", earned, most)


def print_chapter(
    console: Console, chapter: Chapter, by_exercise: Results, every: bool = True
) -> tuple[float, float]:
    """Print a chapter's line, and its exercises if `every`, if one is wrong or if states differ.

    Return the points earned and the points possible.
    """
    shown = [exercise for exercise in chapter.exercises if exercise.name in by_exercise]
    states = {state_of(by_exercise[exercise.name]) for exercise in shown}
    points = sum(earned(by_exercise[exercise.name]) for exercise in shown)
    most = sum(exercise.points for exercise in shown)
    print_line(console, chapter.title, points, most)
    if every or len(states) > 1 or State.WRONG in states:
        # In a narrow terminal the columns are closer, which leaves room for the problem.
        longest = max(len(exercise.name) for exercise in shown)
        column = NAME if console.width >= NARROW else min(NAME, longest)
        for exercise in shown:
            print_exercise(console, exercise, by_exercise[exercise.name], column)
    return points, most


def earned(results: list[CheckResult]) -> float:
    """Return the points that the checks earn."""
    return round(sum(result.earned for result in results), 6)


def print_line(console: Console, title: str, part: float, whole: float) -> None:
    """Print a title, a bar and points in columns. A title that is too long gets its own line."""
    if len(title) > TITLE:
        console.print(Text(title, "bold"))
        title = ""
    sums = f"{in_tenths(part):>5} of {whole:g} points"
    console.print(Text.assemble((title.ljust(TITLE), "bold"), f" {bar(part, whole)}  {sums}"))


def bar(part: float, whole: float) -> str:
    """Return a progress bar: █ for earned points, ░ for the rest; full only if all are earned.

    >>> bar(1, 2)
    '████████░░░░░░░░'
    """
    full = int(BAR * part / whole) if whole else 0
    return "█" * full + "░" * (BAR - full)


def print_exercise(
    console: Console, exercise: Exercise, results: list[CheckResult], column: int
) -> None:
    """Print one line: a mark, the name, the points, and the state or the problem in short.

    column: the width of the names.
    """
    state = state_of(results)
    mark, style = MARKS[state]
    points = f"{in_tenths(earned(results)):>4} / {exercise.points:<3g}"
    line = Text.assemble((f"  {mark} ", style), f"{exercise.name:<{column}} {points}  ")
    line.append(state if state != State.WRONG else why(results), style)
    line.truncate(console.width - 1, overflow="ellipsis")
    console.print(line)


def why(results: list[CheckResult]) -> str:
    """Return the first mistake's name, or a short description of the problem."""
    first = first_failure(results)
    if first is None or first.finding is None:
        return "the check itself failed"
    if names := list(first.finding.mistakes):
        return names[0] + (f", and {len(names) - 1} more" if names[1:] else "")
    return in_short(first.finding.diagnosis)


def in_short(diagnosis: Diagnosis) -> str:
    """Describe the problem, with an error's own words first because the line may be cut off."""
    error = diagnosis.error
    if error is None or not error.text or diagnosis.kind != Kind.ERROR:
        return render(diagnosis.problem)
    # A KeyError's own words are only the key; those of `sys.exit(1)` are a number.
    typed = not error.line or error.type in ("KeyError", "SystemExit")
    said = f"{error.type}: {error.text}" if typed else error.text
    return f"line {error.line}: {said}" if error.line else said


def first_to_work_on(course: Course, by_exercise: Results) -> str | None:
    """Return the first wrong exercise in the course's order, or else the first one to do."""
    order = [
        e.name for chapter in course.chapters for e in chapter.exercises if e.name in by_exercise
    ]
    for state in (State.WRONG, State.TO_DO):
        for name in order:
            if state_of(by_exercise[name]) == state:
                return name
    return None


def print_first(
    console: Console,
    course: Course,
    name: str,
    results: list[CheckResult],
    folder: Path,
    hints: int,
) -> None:
    """Print the one exercise to work on: its place, its problem, and hints if requested."""
    chapter, exercise = course.exercise(name)
    where = place_in_file(folder / f"{chapter.name}.py", name)
    console.print()
    if state_of(results) == State.WRONG:
        console.print(
            Text.assemble((f"Work on this first: {name}", "bold"), (f"  ({where})", "dim"))
        )
        console.print()
        first = first_failure(results)
        Note((first.finding if first else None) or OF_THE_TEST).print(console)
    else:
        print_start(console, name, where, first_failure(results))
    print_hints(console, exercise.hints, hints, f"tensorgrade hint {name} -n {hints + 1}")


def print_ending(console: Console, course: Course, chapter: Chapter) -> None:
    """Print that a chapter is done, its closing words, and the next chapter."""
    done = f"✓ {chapter.title}: all {chapter.points:g} points"
    console.print(Text(done, "bold green"))
    if chapter.ending:
        console.print(Padding(chapter.ending, (1, 2, 0, 2)))
    following = course.chapters[course.chapters.index(chapter) + 1 :]
    if following:
        first = following[0]
        title = Text.assemble("Next: ", (first.title, "bold"), (f"  ({first.name}.py)", "dim"))
        console.print(Padding(title, (1, 2, 0, 2)))


def print_start(
    console: Console, name: str, where: str, first: CheckResult | None, again: str = AGAIN
) -> None:
    """Print the next step for an exercise that is not begun, or that waits for another one.

    first: the result of its first failed check. again: how to check the exercise afterwards.
    """
    problem = first.finding.diagnosis.problem if first and first.finding else NotWritten()
    to_mend = bool(first and first.finding and first.finding.is_to_mend)
    begun = not isinstance(problem, NotWritten) and not to_mend
    title = f"{name} is written" if begun else f"Start here: {name}"
    console.print(Text.assemble((title, "bold"), (f"  ({where})", "dim")))
    console.print()
    todo = sentence(Clauses((problem, GoOnThere()), ": ")) if begun else START
    if to_mend:
        todo = f"{MEND} {sentence(problem)}"
    console.print(Padding(Text(f"{todo} {again}"), (0, 2)))
