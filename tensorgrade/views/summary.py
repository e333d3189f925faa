"""Print the end of a test run: the state of each exercise, and the one to work on first."""

import re
from difflib import get_close_matches
from pathlib import Path
from typing import IO, cast

from pytest import Config, TerminalReporter
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ..attempts.attempt import Attempt
from ..attempts.maker import AttemptMaker
from ..attempts.results import CheckResult, Results, State, state_of
from ..course import Chapter, Course, Exercise
from ..exchange.text import sentence
from ..judging.diagnosis import Diagnosis
from ..judging.errors import raised
from .hints import print_hints
from .points import MARKS, Checked, earned
from .words import definition_in, in_tenths, path_here, plural

STYLES = {"✓": "green", "✗": "bold red", "○": "dim"}
WIDEST, BAR = 100, 16
START = "Read its docstring, replace `raise NotImplementedError` with your code, and save."
FIX = "The given code has a mistake; the checks are your main clue. Find it, fix it, and save."
TO_BEGIN = {"not_written": START, "not_fixed_yet": FIX}  # by the name of the problem
BREAKPOINT = re.compile(r"^\s*breakpoint\(", re.MULTILINE)
NO_STOP = "breakpoint() does not stop here; in `pytest exercises/ -s` it does."
MOST_WARNINGS = 3
PART_DONE = "All selected exercises are done; `pytest exercises/` runs all exercises."
AGAIN = "Then run this again. `tensorgrade watch` does that each time you save."
AT_THE_END = (
    "You have written every exercise of the course. Next: submit your files, and read the lessons "
    "once more with your own results: tensorgrade read"
)


def print_summary(
    terminal: TerminalReporter, by_exercise: Results, maker: AttemptMaker, config: Config
) -> None:
    """Write the summary to pytest's terminal.

    In plain text the exercise to work on comes before the list of all.
    """
    console, plain = console_on(terminal), config.getoption("plain")
    if plain is None:  # not asked for: if the output is no terminal
        plain = not (terminal._tw.hasmarkup or terminal.isatty)
    course = maker.course
    folder = Path(config.getoption("attempt") or maker.tests)
    console.print()
    if not plain:
        print_progress(console, course, by_exercise)
    if first := first_to_work_on(course, by_exercise):
        console.print()
        checked = checked_in(folder, course, first, by_exercise[first])
        print_page(console, checked, AGAIN, plain, title="Work on this first: {}")
        exercise = course.exercise(checked.waits_for or first)[1]
        hints = config.getoption("hint")
        more = f"tensorgrade hint {exercise.name} -n {hints + 1}"
        print_hints(console, exercise.hints, hints, more)
    elif all(name in by_exercise for name in course.exercise_names):
        print_end_of_course(console, course)
    else:
        console.print(f"\n[bold green]{PART_DONE}[/]\n")
    console.print()
    for note in (said for attempt in maker.attempts.values() for said in left_out(attempt)):
        console.print(Text(note, "yellow"))
    if plain:
        print_progress(console, course, by_exercise, plain=True)


def print_nothing_found(terminal: TerminalReporter, keyword: str, names: list[str]) -> None:
    """Print the exercises with a similar name if `-k` selected no test."""
    close = get_close_matches(keyword, names, 3, 0.5)
    told = f"Did you mean {' or '.join(f'-k {name}' for name in close)}?" if close else ""
    terminal.write_line(f"\nNo exercise or check matches -k {keyword}. {told}".rstrip(), bold=True)


def left_out(attempt: Attempt) -> list[str]:
    """Describe the code outside the exercises that could not be run, a breakpoint, and warnings."""
    file, named = f"{attempt.chapter.name}.py", set(attempt.exercises)
    failed = [p.error for p in attempt.loaded.problems if named.isdisjoint(p.names)]
    left = f"Left out of {file}, because"
    endless = f"{left} it does not finish or ends Python: the code outside of functions and classes"
    told = [f"{left} it fails: {raised(error, attempt.source.place)}" for error in failed]
    passed_by = attempt.lab.server is not None and bool(BREAKPOINT.search(attempt.source.text))
    warned = [f"{file}: {said}" for said in attempt.warned[:MOST_WARNINGS]]
    return [endless] * attempt.program.definitions_only + told + [NO_STOP] * passed_by + warned


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


def print_progress(
    console: Console,
    course: Course,
    by_exercise: Results,
    plain: bool = False,
    every: bool = False,
) -> None:
    """Print a line for each chapter, and a sum if there are several.

    A chapter's exercises follow if `every`, if one is wrong, or if their states differ. plain:
    print sentences instead of columns.
    """
    table = Table.grid(padding=(0, 2), expand=True)
    table.add_column(no_wrap=True, overflow="ellipsis")
    table.add_column(no_wrap=True, justify="right", min_width=len("12.5 / 30 "))
    table.add_column(no_wrap=True, overflow="ellipsis", ratio=1)
    lines, sums = [], []
    for chapter in course.chapters:
        shown = [one for one in chapter.exercises if one.name in by_exercise]
        if not shown:
            continue
        points = earned(*(by_exercise[one.name] for one in shown))
        sums.append((points, sum(one.points for one in shown)))
        lines.append(add_chapter(table, chapter.title, *sums[-1]))
        states = {state_of(by_exercise[one.name]) for one in shown}
        if every or len(states) > 1 or State.WRONG in states:
            lines += [add_exercise(table, one, by_exercise[one.name]) for one in shown]
    if len(sums) > 1:
        part, whole = map(sum, zip(*sums, strict=True))
        lines.append(add_chapter(table, "Together", part, whole))
    console.print("\n".join(lines) if plain else table, markup=False, soft_wrap=plain)


def add_chapter(table: Table, title: str, part: float, whole: float) -> str:
    """Add a chapter's row, with a bar for its points; return it as a sentence."""
    full = int(BAR * part / whole) if whole else 0  # the bar is full only if all are earned
    bar = "█" * full + "░" * (BAR - full)
    table.add_row(Text(title, "bold"), f"{in_tenths(part)} / {whole:<3g}", bar)
    return f"{title}: {in_tenths(part)} of {whole:g} points."


def add_exercise(table: Table, exercise: Exercise, results: list[CheckResult]) -> str:
    """Add an exercise's row: its mark, points, and its state or problem; return a sentence."""
    checked = Checked(exercise, results)
    style = STYLES[checked.mark]
    reason = checked.note.problem if checked.note and checked.mark == MARKS[State.WRONG] else ""
    points = f"{in_tenths(checked.points)} / {exercise.points:<3g}"
    name = Text.assemble((f"  {checked.mark} ", style), exercise.name)
    table.add_row(name, points, Text(reason or checked.standing, style))
    return f"{exercise.name}: {checked.standing}, {checked.sums}" + (reason and f": {reason}")


def first_to_work_on(course: Course, by_exercise: Results) -> str | None:
    """Return the first wrong exercise in the course's order, or else the first one to do."""
    for state in (State.WRONG, State.TO_DO):
        for name in course.exercise_names:
            if name in by_exercise and state_of(by_exercise[name]) == state:
                return name
    return None


def checked_in(folder: Path, course: Course, name: str, checks: list[CheckResult]) -> Checked:
    """Return an exercise with its checks. folder: the learner's files."""
    chapter, exercise = course.exercise(name)
    path = folder / f"{chapter.name}.py"
    text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
    code = definition_in(text, name)
    line = text.count("\n", 0, text.rfind(code)) + 1 if code else None
    return Checked(exercise, checks, path_here(path), line, code)


def print_page(
    console: Console, checked: Checked, again: str, plain: bool, title: str = "{}: wrong"
) -> None:
    """Print one exercise: its points and what is wrong, or how to begin it.

    again: how to check the exercise afterwards. title: of one that is wrong.
    """
    name, note = checked.exercise.name, checked.note
    if note and checked.state == State.TO_DO:
        for line in start_of(name, checked.place, note.finding.diagnosis, again):
            console.print(Padding(line, (0, 2)))
        if note.finding.is_to_fix:
            print_checks(console, checked.results, plain)
        return
    if checked.waits_for:
        title = f"{name} is {checked.standing}"
    console.print(Text(title.format(name) if note else f"✓ {name} is done", "bold"))
    console.print(Text(f"{checked.sums}: {checked.came_about}.", "dim"))
    if note:
        console.print()
        note.print(console, plain)


def print_checks(console: Console, checks: list[CheckResult], plain: bool) -> None:
    """Print all checks of an exercise, and which of them pass."""
    console.print()
    for check in checks:
        mark, word = ("✓", "passed") if check.passed else ("✗", "failed")
        said = Text(f"{word}: ") if plain else Text(f"{mark} ", STYLES[mark])
        console.print(Padding(said + Text(check.asks), (0, 2)))


def start_of(name: str, where: str, first: Diagnosis, again: str) -> list[Text]:
    """Return the next step for an exercise that is not begun, or that waits for another one.

    first: the diagnosis of its first failed check. again: how to check the exercise afterwards.
    """
    title, todo = f"Start here: {name}", TO_BEGIN.get(first.id) or sentence(first.problem)
    if first.id == "needs_unwritten":
        title, todo = f"{name} is written", sentence(f"{first.problem}: write that one first")
    return [Text(title, "bold"), Text(where, "cyan"), Text(""), Text(f"{todo} {again}")]


def print_ending(console: Console, course: Course, chapter: Chapter) -> None:
    """Print congratulations on a finished chapter, its closing words, and the next chapter."""
    points = f"{plural(len(chapter.exercises), 'exercise')}, {chapter.points:g} points"
    done = f"✓ Well done: you have finished “{chapter.title}”, {points}."
    console.print(Text(done, "bold green"))
    if chapter.ending:
        console.print(Padding(chapter.ending, (1, 2, 0, 2)))
    following = course.chapters[course.chapters.index(chapter) + 1 :]
    if following:
        first = following[0]
        title = Text.assemble("Next: ", (first.title, "bold"), (f"  ({first.name}.py)", "dim"))
        console.print(Padding(title, (1, 2, 0, 2)))


def print_end_of_course(console: Console, course: Course) -> None:
    """Print congratulations on the whole course, and the next step."""
    points = sum(chapter.points for chapter in course.chapters)
    done = f"Congratulations! Everything is done: all {points:g} points by the public checks."
    console.print(Text(f"\n{done}", "bold green"))
    console.print(Padding(Text(AT_THE_END), (1, 2)))
