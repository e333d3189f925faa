"""Check an exercise in the running notebook, and show the outcome as a card."""

import functools
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

import torch

from ..attempts.maker import AttemptMaker
from ..attempts.results import State
from ..attempts.scoring import results_on
from ..attempts.setup import Setup
from ..course import CourseError
from ..project import PUBLIC, folder_with
from ..runner.reading import Cell, extract
from ..runner.source import Source
from ..runner.syntax import bound_by
from ..sandbox.processes import own_server
from ..views.pages import pages_in
from ..views.points import Checked
from ..views.words import in_tenths
from .pictures import find_shell

TEMPLATE = pages_in(Path(__file__).parent).get_template("card.html")
CHECKS = "checks.zip"
NOT_RUN = "No cell that has run defines {}: run the one with your answer first, then this one."
NO_NOTEBOOK = "check(…) looks at a notebook's cells; for a file run `pytest exercises/`"


@dataclass(frozen=True, repr=False)
class Card(Checked):
    """A check's outcome, shown as HTML in a notebook and as plain sentences anywhere else."""

    def __repr__(self) -> str:
        title = f"{self.exercise.name}: {self.standing}, {self.sums}"
        return f"{title}: {self.came_about}.\n\n{self.note}" if self.note else title

    def _repr_html_(self) -> str:
        return TEMPLATE.render(card=self)


class Points(float):
    """Points out of a maximum: a float that a notebook shows as a sentence."""

    most: float

    def __new__(cls, earned: float, most: float) -> "Points":
        made = super().__new__(cls, earned)
        made.most = most
        return made

    def _repr_html_(self) -> str:
        return f"<b>{in_tenths(self)} of {self.most:g}</b> points by the public checks"


def check_here(asked: object) -> Card:
    """Run an exercise's public checks on the cells that have run so far.

    asked: the exercise's name, or the function or class that has this name. Raises CourseError,
    also outside a notebook, and if no cell defines this name or a similar one.
    """
    name = asked if isinstance(asked, str) else str(getattr(asked, "__name__", asked))
    exercises, shell = find_exercises(), find_shell()
    if shell is None or shell.history_manager is None:
        raise CourseError(NO_NOTEBOOK)
    cells = enumerate(shell.history_manager.input_hist_raw)
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
def check(exercises: Path, name: str, source: Source) -> Card:
    """Run an exercise's public checks on a source text."""
    maker = AttemptMaker(Setup(exercises))
    maker.unlocked = own_server(maker.course.limits, functools.partial(as_in_grading, Path.cwd()))
    chapter, exercise = maker.course.exercise(name)
    attempt = maker.attempt_from_source(chapter.name, source)
    try:
        with torch.random.fork_rng(devices=[]):  # the given code of an exercise may run here
            results = results_on(attempt, name)[name]
            begins = next(iter(attempt.answers[name].own_lines), (None,))[0]
            card = Card(exercise, results, line=begins)
            repr(card)  # its note runs the code again, while there is a process
        return card
    finally:
        attempt.lab.close()
        maker.close()


def as_in_grading(folder: Path) -> None:
    """Use one thread, and no modules in a notebook's folder: grading gets the notebook alone.

    The course's chapters stay importable: `Chapters` finds them.
    """
    torch.set_num_threads(1)
    sys.path[:] = [place for place in sys.path if Path(place).resolve() != folder.resolve()]
    for name in [name for name in sys.modules if is_beside(name, folder.resolve())]:
        del sys.modules[name]


def is_beside(name: str, folder: Path) -> bool:
    """Return True if a loaded module is a file or in a package that lies directly in a folder."""
    top = sys.modules.get(name.partition(".")[0])
    path = Path(getattr(top, "__file__", None) or sys.executable)
    place = path.parent.parent if path.stem == "__init__" else path.parent
    return place == folder and name != "__main__"


def find_exercises() -> Path:
    """Return the folder of the public checks: in the current folder or in the nearest one above.

    It is an unpacked `checks.zip`, or an `exercises` folder with a `course.json`. Raises
    CourseError.
    """
    root = folder_with(CHECKS, PUBLIC)
    if root is None:
        raise CourseError(
            f"the public checks are missing: put {CHECKS} next to the notebook, in {Path.cwd()}"
        )
    if (root / CHECKS).is_file():
        changed = (root / CHECKS).stat().st_mtime_ns
        return Path(unpacked(root / CHECKS, changed).name, "exercises")
    return root / "exercises"


@functools.cache
def unpacked(archive: Path, changed: int) -> tempfile.TemporaryDirectory:
    """Unpack a zip file into a folder that is deleted when Python exits.

    changed: the time when the zip file was last written; a newer file is unpacked again.
    """
    folder = tempfile.TemporaryDirectory(prefix="checks-")
    zipfile.ZipFile(archive).extractall(folder.name)
    return folder
