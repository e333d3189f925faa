"""Grade with the workers of an existing dask scheduler, wherever they run.

Workers share only the network. Graders and submissions travel as bytes, and verdicts come back as
records. Every worker, even one that joins later, writes the graders into its own scratch folder.
"""

import shutil
import threading
import uuid
from collections import Counter
from concurrent.futures import CancelledError, Future
from dataclasses import replace
from pathlib import Path

import torch

from ..attempts.setup import Setup
from ..attempts.verdict import Verdict
from ..course import Course, CourseError
from ..sources.submitted_files import SubmittedFiles
from .dependencies import graders_files
from .grader import Grader, grade_with
from .workers import Workers

try:
    from distributed import Client, KilledWorker, get_worker
except ImportError as error:
    raise CourseError(
        "--scheduler needs dask.distributed: pip install 'tensorgrade[cluster]'"
    ) from error

LONGEST_START, LONGEST_CONNECT = 120, 10
MOST_AHEAD = 1000  # submissions waiting at the scheduler; about 10 MB
Parcel = dict[str, bytes]
GRADERS: dict[str, tuple[Grader, Path]] = {}  # in a worker: by run, with the graders' folder
ONE_AT_A_TIME = threading.RLock()  # a worker with several threads has one grader


class ClusterWorkers(Workers):
    """The workers behind a scheduler's address. dask replaces workers that die."""

    lost = (KilledWorker,)

    def __init__(self, address: str, setup: Setup, course: Course):
        self.ahead, self.told = MOST_AHEAD, (uuid.uuid4().hex[:12], setup)
        self.parcel = pack_graders(setup.tests, course)
        try:
            self.client = Client(address, set_as_default=False, timeout=LONGEST_CONNECT)
        except (OSError, ValueError) as error:
            raise CourseError(f"there is no dask scheduler at {address}: {error}") from None

    def check_in(self) -> dict[str, int]:
        """Return the number of workers by kind of isolation. Raises CourseError."""
        try:
            self.client.wait_for_workers(1, timeout=LONGEST_START)
        except TimeoutError:
            raise CourseError("the scheduler has no workers; start some, then try again") from None
        kinds = self.client.run(isolation_here, *self.told, self.parcel)
        self.there = self.client.scatter(self.parcel, broadcast=True, hash=False)
        return dict(Counter(kinds.values()))

    def submit(self, one: SubmittedFiles, last: bool) -> Future[list[Verdict] | None]:
        """Send one submission to a worker."""
        executor = self.client.get_executor(pure=False)
        return executor.submit(grade_here, *self.told, self.there, one, last)

    def replace(self, running: set[Future]) -> set[Future]:
        """Return no futures: dask replaces a lost worker, and the other workers keep theirs."""
        return set()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is CancelledError:
                why = "the scheduler stopped; start it again, then run the same command to continue"
                raise CourseError(why) from None
            self.client.run(end_here, self.told[0])
        finally:
            self.client.close()


def isolation_here(run: str, setup: Setup, parcel: Parcel) -> str:
    """In a worker: return the kind of isolation with which it grades for this run."""
    return grader_here(run, setup, parcel).maker.warm_up().isolation


def grade_here(
    run: str, setup: Setup, parcel: Parcel, one: SubmittedFiles, last: bool
) -> list[Verdict] | None:
    """In a worker: return the verdicts of a try on one submission."""
    with ONE_AT_A_TIME:
        return grade_with(grader_here(run, setup, parcel), one, last)


def grader_here(run: str, setup: Setup, parcel: Parcel) -> Grader:
    """In a worker: return its warm grader for this run. Raises CourseError."""
    with ONE_AT_A_TIME:
        if run not in GRADERS:
            torch.set_num_threads(1)
            folder = Path(get_worker().local_directory) / f"tensorgrade-{run}"
            grader = Grader(replace(setup, tests=unpack_graders(parcel, folder)))
            grader.start()
            GRADERS[run] = grader, folder
        return GRADERS[run][0]


def end_here(run: str) -> None:
    """In a worker: delete everything of a run when it is over."""
    grader, folder = GRADERS.pop(run, (None, None))
    if grader and folder:
        grader.close()
        shutil.rmtree(folder, ignore_errors=True)


def pack_graders(graders: Path, course: Course) -> Parcel:
    """Return the files that grading reads, by path.

    The course is included without its seed and without the rest of `course_config.py`, which may
    hold a gradebook's password.
    """
    files = {name: path.read_bytes() for name, path in graders_files(graders).items()}
    return files | {"graders/course.json": course.public_json().encode()}


def unpack_graders(parcel: Parcel, folder: Path) -> Path:
    """Write the files into a new private folder, and return the graders' folder in it."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for name, content in parcel.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder / "graders"
