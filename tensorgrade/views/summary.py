"""The end of a test run: what is done, wrong and to do, and the one thing to work on first."""

from collections import defaultdict
from pathlib import Path

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from ..course import Chapter, Course
from ..diagnosis import Diagnosis
from ..judging.unanswered import raised
from .note import Note
from .place import place_in_file

MARKS = {"done": ("✓", "green"), "wrong": ("✗", "bold red"), "to do": ("·", "dim")}
WIDEST, BAR, TITLE, NAME = 100, 16, 39, 28
START = "Read its docstring, put your code in the place of `raise NotImplementedError`, and save."
AGAIN = "Then run this again; `tensorgrade watch` does that by itself each time you save."
OF_THE_TEST = Note("", Diagnosis("error", "the check itself failed; its error stands above"))


def print_summary(terminal, reports: list, desk, config) -> None:
    """Write the summary to pytest's terminal."""
    console = console_on(terminal)
    course, by_exercise = desk.course, group(reports)
    folder = Path(config.getoption("attempt") or desk.tests)
    console.print()
    print_progress(console, course, by_exercise)
    print_left_out(console, desk.attempts.values())
    first = first_to_work_on(course, by_exercise)
    if first is None:
        narrowed = any("::" in argument for argument in config.args) or config.getoption("keyword")
        whole = not narrowed and all(e.name in by_exercise for c in course.chapters for e in c.exercises)
        said = "Everything is done." if whole else "What was run is done; `pytest exercises/` runs it all."
        console.print(f"\n[bold green]{said}[/]\n")
    else:
        print_first(console, course, first, by_exercise[first], folder, config.getoption("hint"))


def print_left_out(console: Console, attempts) -> None:
    """What else in the learner's files could not be run."""
    for said in (said for attempt in attempts for said in left_out(attempt)):
        console.print(Text(said, "yellow"))


def left_out(attempt) -> list[str]:
    """What of a file, beside its exercises, could not be run: the checks go on without it."""
    if attempt.loaded.status != "loaded":
        return []
    exercises = {exercise.name for exercise in attempt.chapter.exercises}
    failed = [p["error"] for p in attempt.loaded.problems if not exercises & set(p["names"])]
    return [f"Left out of {attempt.chapter.name}.py, since it fails: {raised(error)}" for error in failed]


def console_on(terminal) -> Console:
    """A console on pytest's terminal: colours only where pytest itself uses them."""
    colours = {"force_terminal": True} if terminal._tw.hasmarkup else {"color_system": None}
    width = min(WIDEST, terminal._tw.fullwidth)
    return Console(file=terminal._tw, width=width, highlight=False, soft_wrap=False, **colours)


def group(reports: list) -> dict[str, list]:
    """Reports by exercise."""
    found = defaultdict(list)
    for report in reports:
        found[report.tensorgrade.exercise].append(report)
    return found


def state_of(reports: list) -> str:
    """`done`, `to do` where nothing of it is written, or `wrong`."""
    results = [report.tensorgrade for report in reports]
    if all(result.passed for result in results):
        return "done"
    unwritten = all(is_to_do(result) for result in results if not result.passed)
    return "to do" if unwritten else "wrong"


def is_to_do(result) -> bool:
    """Whether a check failed for nothing but an unwritten exercise."""
    return result.diagnosis is not None and result.diagnosis.kind == "to do"


def print_progress(console: Console, course: Course, by_exercise: dict[str, list], every=False) -> None:
    """All chapters, and their sum where there are several. every: with all their exercises."""
    chapters = [c for c in course.chapters if any(e.name in by_exercise for e in c.exercises)]
    sums = [print_chapter(console, chapter, by_exercise, every) for chapter in chapters]
    if len(sums) > 1:
        earned, most = map(sum, zip(*sums))
        print_line(console, "Together", earned, most)


def print_chapter(
    console: Console, chapter: Chapter, by_exercise: dict, every: bool = True
) -> tuple[float, float]:
    """One chapter's line, and its exercises, if not `every`, only where these are not all alike."""
    shown = [exercise for exercise in chapter.exercises if exercise.name in by_exercise]
    states = {exercise.name: state_of(by_exercise[exercise.name]) for exercise in shown}
    points = [earned(by_exercise[exercise.name]) for exercise in shown]
    most = sum(exercise.points for exercise in shown)
    print_line(console, chapter.title, sum(points), most)
    if every or len(set(states.values())) > 1 or "wrong" in states.values():
        for exercise, got in zip(shown, points):
            print_exercise(console, exercise, got, states[exercise.name], by_exercise[exercise.name])
    return sum(points), most


def earned(reports: list) -> float:
    """Points of the checks that passed."""
    return sum(report.tensorgrade.points for report in reports if report.tensorgrade.passed)


def print_line(console: Console, title: str, part: float, whole: float) -> None:
    """A title, a bar and points, in columns; a title that is too long gets a line of its own."""
    if len(title) > TITLE:
        console.print(Text(title, "bold"))
        title = ""
    sums = f"{part:g} of {whole:g} points"
    console.print(Text.assemble((title.ljust(TITLE), "bold"), f" {bar(part, whole)}  {sums}"))


def bar(part: float, whole: float) -> str:
    """A progress bar: █ for what is earned, ░ for the rest; full only where all is.

    >>> bar(1, 2)
    '████████░░░░░░░░'
    """
    full = int(BAR * part / whole) if whole else 0
    return "█" * full + "░" * (BAR - full)


def print_exercise(console: Console, exercise, got: float, state: str, reports: list) -> None:
    """A mark, the name, the points, and in a word or two how it stands; never more than one line."""
    mark, style = MARKS[state]
    points = f"{got:g} / {exercise.points:g}"
    line = Text.assemble((f"  {mark} ", style), f"{exercise.name:<{NAME}} {points:>9}  ")
    line.append(state if state != "wrong" else why(reports), style)
    line.truncate(console.width - 1, overflow="ellipsis")
    console.print(line)


def why(reports: list) -> str:
    """The first mistake's name, or the first sentence about what is wrong."""
    first = first_failure(reports)
    if not hasattr(first, "note"):
        return "the check itself failed"
    if names := list(first.note.mistakes):
        return names[0] + (f", and {len(names) - 1} more" if names[1:] else "")
    return first.tensorgrade.diagnosis.said


def first_failure(reports: list):
    """The first report of a check that found something wrong; else of one that is to do."""
    failed = [report for report in reports if not report.tensorgrade.passed]
    return next((report for report in failed if not is_to_do(report.tensorgrade)), failed[0])


def first_to_work_on(course: Course, by_exercise: dict[str, list]) -> str | None:
    """The first exercise, in the course's order, that is wrong; else the first one to do."""
    order = [e.name for chapter in course.chapters for e in chapter.exercises if e.name in by_exercise]
    for state in ("wrong", "to do"):
        for name in order:
            if state_of(by_exercise[name]) == state:
                return name
    return None


def print_first(
    console: Console, course: Course, name: str, reports: list, folder: Path, hints: int
) -> None:
    """The one thing to work on: where it is, what is wrong with it, and hints if asked for."""
    chapter, exercise = course.exercise(name)
    where = place_in_file(folder / f"{chapter.name}.py", name)
    console.print()
    if state_of(reports) == "wrong":
        console.print(Text.assemble((f"Work on this first: {name}", "bold"), (f"  ({where})", "dim")))
        console.print()
        getattr(first_failure(reports), "note", OF_THE_TEST).print(console)
    else:
        print_start(console, name, where)
    print_hints(console, exercise.hints, hints)


def print_start(console: Console, name: str, where: str, again: str = AGAIN) -> None:
    """What to do with an exercise that is not begun; `again`: how to check it afterwards."""
    console.print(Text.assemble((f"Start here: {name}", "bold"), (f"  ({where})", "dim")))
    console.print()
    console.print(Padding(f"{START} {again}", (0, 2)))


def print_hints(console: Console, hints: tuple[str, ...], count: int, more: str = "") -> None:
    """The first hints, and how to get one more."""
    if hints:
        console.print()
    for number, hint in enumerate(hints[:count], 1):
        console.print(Padding(Text.assemble((f"hint {number}  ", "bold"), hint), (0, 2)))
    if count < len(hints):
        asked = "Another hint" if count else "Stuck? A hint"
        console.print(Text.assemble(f"  {asked}: ", (more or f"pytest exercises/ --hint {count + 1}", "bold")))
