"""Grade with the workers of an existing dask scheduler, to which everything travels as bytes."""

import uuid
from concurrent.futures import CancelledError, Future
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import Any

from ..attempts.setup import Setup
from ..attempts.verdict import Verdict
from ..course import Course, CourseError
from ..sources.submitted_files import SubmittedFiles
from .grader import Grader, Workers, grade_with, parcel_of

try:
    from distributed import Client, WorkerPlugin, get_worker
except ImportError as error:
    raise CourseError("--scheduler needs: pip install 'tensorgrade[cluster]'") from error


class Graders(WorkerPlugin):
    """One grader for each worker, even for one that joins later or has several threads."""

    def __init__(self, wanted: Setup, course: Course):
        self.name, self.wanted = f"tensorgrade-{uuid.uuid4().hex[:12]}", wanted
        self.files = parcel_of(wanted.tests, course)

    def setup(self, worker: Any) -> None:
        """Write the graders into a private folder of a worker. See Grader."""
        self.folder = TemporaryDirectory(prefix=self.name, dir=worker.local_directory)
        for name, content in self.files.items():
            path = Path(self.folder.name, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        self.one_at_a_time = Lock()
        self.grader = Grader(replace(self.wanted, tests=Path(self.folder.name, "graders")))

    def teardown(self, worker: Any) -> None:
        """Delete everything of a run when it is over."""
        self.grader.close()
        self.folder.cleanup()


def grade_there(name: str, one: SubmittedFiles, last: bool) -> list[Verdict] | None:
    """In a worker: return the verdicts of a try on one submission."""
    there: Any = get_worker().plugins[name]
    with there.one_at_a_time:
        return grade_with(there.grader, one, last)


class ClusterWorkers(Workers):
    """The workers behind a scheduler's address. dask replaces workers that die."""

    def __init__(self, address: str, setup: Setup, course: Course):
        self.graders = Graders(setup, course)
        self.ahead = 1000  # they take about 10 MB at the scheduler
        try:
            self.client = Client(address, set_as_default=False, timeout=10)
            self.client.wait_for_workers(1, timeout=120)
        except (OSError, ValueError) as error:
            raise CourseError(f"no dask scheduler with workers at {address}: {error}") from None
        self.client.register_plugin(self.graders)
        self.count = len(self.client.scheduler_info(-1)["workers"])

    def submit(self, one: SubmittedFiles, last: bool) -> Future[list[Verdict] | None]:
        """Send one submission to a worker."""
        there = self.client.get_executor(pure=False)
        return there.submit(grade_there, self.graders.name, one, last)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        with self.client:
            if kind is CancelledError:
                raise CourseError("the scheduler stopped; start it, then run this again") from None
            self.client.unregister_worker_plugin(self.graders.name)
