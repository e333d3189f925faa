"""Run the public checks of one exercise in a process of its own."""

import functools
import sys
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from types import ModuleType

import torch

from ...attempts.maker import AttemptMaker
from ...attempts.results import CheckResult, State, first_failure, state_of
from ...attempts.scoring import results_on
from ...attempts.setup import Setup
from ...course import CourseError, Exercise
from ...judging.diagnosis import Finding
from ...runner.reading import Cell, extract
from ...runner.source import Source
from ...runner.syntax import bound_by
from ...sandbox.own_code import own_forks
from ...views.note import Note
from ...views.points import earned
from ...views.summary import OF_THE_TEST
from .public_checks import find_exercises
from .running import cells_run


@dataclass(frozen=True)
class Checked:
    """The results of an exercise's public checks. line: the first line of the exercise, if any."""

    exercise: Exercise
    results: list[CheckResult]

    line: int | None = None

    @property
    def points(self) -> float:
        """Return the points that the checks earn."""
        return earned(self.results)

    @property
    def state(self) -> State:
        """Return the state of the exercise."""
        return state_of(self.results)

    @property
    def first(self) -> Finding | None:
        """Return the first failure."""
        failure = first_failure(self.results)
        return (failure.finding or OF_THE_TEST) if failure else None

    @functools.cached_property
    def note(self) -> Note | None:
        """Return the note on the first failure."""
        return Note(self.first, line=self.line) if self.first else None


NOT_RUN = "No cell that has run defines {}: run the one with your answer first, then this one."


def check_here(asked: object) -> Checked:
    """Run an exercise's public checks on the running notebook.

    asked: the exercise's name, or the function or class that has this name. Raises CourseError,
    also if no cell that has run defines this name or a similar one.
    """
    name = asked if isinstance(asked, str) else str(getattr(asked, "__name__", asked))
    exercises, cells = find_exercises(), enumerate(cells_run())
    source = extract([Cell(text, f"[{number}]") for number, text in cells if text.strip()])
    if not get_close_matches(name, bound_by(source.text), 1, 0.8):
        raise CourseError(NOT_RUN.format(name))
    return check(exercises, name, source)


def is_wrong_here(name: str) -> bool:
    """Return True if an exercise fails its checks here; False also if it cannot be checked."""
    try:
        return check_here(name).state != State.DONE
    except CourseError:
        return False


@functools.lru_cache(maxsize=32)
def check(exercises: Path, name: str, source: Source) -> Checked:
    """Run an exercise's public checks on a source text."""
    maker = AttemptMaker(Setup(exercises))
    maker.unlocked = own_forks(maker.course.limits, functools.partial(as_in_grading, Path.cwd()))
    chapter, exercise = maker.course.exercise(name)
    attempt = maker.attempt_from_source(chapter.name, source)
    try:
        with torch.random.fork_rng(devices=[]):  # the given code of an exercise may run here
            checks = results_on(attempt, name)[name]
            begins = next(iter(attempt.answers[name].own_lines), (None,))[0]
            found = Checked(exercise, checks, begins)
            if found.note:
                found.note.sections  # noqa: B018 - runs the code again, while there is a process
        return found
    finally:
        attempt.lab.close()


def as_in_grading(folder: Path) -> None:
    """Use one thread, and no modules in a notebook's folder: grading gets the notebook alone.

    The course's chapters stay importable: ChapterFinder finds them.
    """
    torch.set_num_threads(1)
    sys.path[:] = [place for place in sys.path if Path(place).resolve() != folder.resolve()]
    for name in own_modules(folder.resolve()):
        del sys.modules[name]


def own_modules(folder: Path) -> dict[str, ModuleType]:
    """Return the loaded modules whose file or package lies directly in a folder, by their names."""
    files = {
        name: Path(file)
        for name, module in sys.modules.items()
        if (file := getattr(module, "__file__", None)) and name != "__main__"
    }
    places = {n: f.parent.parent if f.stem == "__init__" else f.parent for n, f in files.items()}
    tops = {name for name, place in places.items() if "." not in name and place == folder}
    return {n: sys.modules[n] for n in files if n.split(".")[0] in tops}
