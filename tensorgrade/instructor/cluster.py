"""Grade with the workers of an existing dask scheduler, wherever they run.

Workers share only the network. Graders and submissions travel as bytes, and verdicts come back as
records. Every worker, even one that joins later, unpacks the graders into its own scratch folder.
"""

import asyncio
import io
import shutil
import threading
import time
import uuid
import zipfile
from collections import Counter
from concurrent.futures import CancelledError, Future
from dataclasses import replace
from pathlib import Path
from typing import Self

import torch

from ..attempts.setup import Setup
from ..attempts.verdict import Verdict
from ..course import Course, CourseError
from ..sources.submitted_files import SubmittedFiles
from .dependencies import graders_files
from .grader import Grader, NotReady, grade_with

try:
    from distributed import Client, KilledWorker, Worker, WorkerPlugin
except ImportError as error:
    raise CourseError(
        "--scheduler needs dask.distributed: pip install 'tensorgrade[cluster]'"
    ) from error

LONGEST_START = 120
LONGEST_CONNECT = 10
MOST_AHEAD = 1000  # submissions waiting at the scheduler; about 10 MB
GRADERS: dict[str, Grader] = {}  # by run, in a worker's process
ONE_AT_A_TIME = threading.Lock()  # a worker with several threads has one warm session


class GraderPlugin(WorkerPlugin):
    """A plugin that gives a worker a warm grader when it joins the run."""

    def __init__(self, run: str, parcel: bytes, setup: Setup):
        self.name = f"tensorgrade-{run}"
        self.run, self.parcel, self.grading = run, parcel, setup

    async def setup(self, worker: Worker) -> None:
        """Unpack and warm up in a thread, so that the worker's loop goes on. Raises CourseError."""
        self.folder = Path(worker.local_directory) / self.name
        await asyncio.to_thread(self.begin)

    def begin(self) -> None:
        torch.set_num_threads(1)
        graders = unpack_graders(self.parcel, self.folder)
        grader = Grader(replace(self.grading, tests=graders))
        grader.start()
        GRADERS[self.run] = grader

    def teardown(self, worker: Worker) -> None:
        """Delete all files of the run when it is over."""
        if (grader := GRADERS.pop(self.run, None)) is not None:
            grader.close()
        shutil.rmtree(self.folder, ignore_errors=True)


class ClusterWorkers:
    """The workers behind a scheduler's address. dask replaces workers that die."""

    lost = (KilledWorker,)
    ahead = MOST_AHEAD

    def __init__(self, address: str, setup: Setup, course: Course):
        self.run = uuid.uuid4().hex[:12]
        self.client = connect(address)
        self.executor = self.client.get_executor(pure=False)
        self.plugin = GraderPlugin(self.run, pack_graders(setup.tests, course), setup)

    def check_in(self) -> dict[str, int]:
        """Return the number of workers by kind of isolation. Raises CourseError."""
        try:
            self.client.wait_for_workers(1, timeout=LONGEST_START)
        except TimeoutError:
            raise CourseError("the scheduler has no workers; start some, then try again") from None
        self.client.register_plugin(self.plugin)
        return dict(Counter(self.client.run(isolation_here, self.run).values()))

    def submit(self, submitted_files: SubmittedFiles, last: bool) -> Future[list[Verdict] | None]:
        """Send one submission to a worker."""
        return self.executor.submit(grade_here, self.run, submitted_files, last)

    def replace(self, running: set[Future]) -> set[Future]:
        """Return no futures: dask replaces a lost worker, and the other workers keep theirs."""
        return set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is CancelledError:
            raise CourseError(
                "the scheduler stopped; start it again, then run the same command to continue"
            ) from None
        self.executor.shutdown(wait=False)
        try:
            self.client.unregister_worker_plugin(self.plugin.name)
        finally:
            self.client.close()


def connect(address: str) -> "Client":
    """Return a client of the scheduler. Raises CourseError."""
    try:
        return Client(address, set_as_default=False, timeout=LONGEST_CONNECT)
    except (OSError, ValueError) as error:
        raise CourseError(f"there is no dask scheduler at {address}: {error}") from None


def isolation_here(run: str) -> str:
    """In a worker: return the kind of isolation with which it grades for this run."""
    return grader_of(run).maker.warm_up().isolation


def grade_here(run: str, submitted_files: SubmittedFiles, last: bool) -> list[Verdict] | None:
    """In a worker: return the verdicts of a try on one submission."""
    grader = grader_of(run)
    with ONE_AT_A_TIME:
        return grade_with(grader, submitted_files, last)


def grader_of(run: str) -> Grader:
    """In a worker: wait for its warm grader and return it. Raises NotReady."""
    deadline = time.monotonic() + LONGEST_START
    while run not in GRADERS:
        if time.monotonic() > deadline:
            raise NotReady("a worker got no graders for this run")
        time.sleep(0.05)
    return GRADERS[run]


STAMP = (2020, 1, 1, 0, 0, 0)  # so that equal graders have equal bytes


def pack_graders(graders: Path, course: Course) -> bytes:
    """Return a zip of the files that grading reads.

    The course is included without its seed and without the rest of `course_config.py`, which may
    hold a gradebook's password. Right answers are included, because a row must not depend on the
    machine that graded it.
    """
    buffer = io.BytesIO()
    files = graders_files(graders)
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, path in files.items():
            add(archive, renamed(name, graders), path.read_bytes())
        add(archive, "graders/course.json", course.public_json().encode())
    return buffer.getvalue()


def add(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    """Add a file, compressed: a ZipInfo is uncompressed by default."""
    archive.writestr(zipfile.ZipInfo(name, STAMP), content, zipfile.ZIP_DEFLATED)


def renamed(name: str, graders: Path) -> str:
    """Return a file's name in the package, in which the graders' folder is always `graders`."""
    return (
        name.replace(f"{graders.name}/", "graders/", 1) if name.startswith(graders.name) else name
    )


def unpack_graders(parcel: bytes, folder: Path) -> Path:
    """Unpack the package into a new folder, and return the graders' folder in it."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with zipfile.ZipFile(io.BytesIO(parcel)) as archive:
        archive.extractall(folder)
    return folder / "graders"
