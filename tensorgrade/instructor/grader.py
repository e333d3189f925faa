"""Grade one chapter of one learner, in this process or in workers that share a class.

If a worker dies, the submissions that it and the others held are lost, and the one that caused this
is unknown. If a process that runs learner code ends, the machine may be at fault. So each of these
submissions is graded once more, alone, after all others. What fails again is the learner's if a
right answer passes at that moment; otherwise it is not graded.
"""

import gc
import logging
import os
from collections import deque
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from contextlib import AbstractContextManager
from functools import cache
from math import ceil
from pathlib import Path

import torch

from ..attempts.maker import AttemptMaker
from ..attempts.pipeline import grade as verdicts_of
from ..attempts.scoring import results_on
from ..attempts.setup import Setup
from ..attempts.verdict import (
    GRADERS_FAILED,
    GRADING_FAILED,
    NO_FILE,
    NOTHING_SUBMITTED,
    UNREADABLE,
    WORKER_ENDED,
    Status,
    Verdict,
)
from ..course import Course, CourseError
from ..exchange.observation import Outcome
from ..exchange.stored_key import SUFFIX, key_in
from ..exchange.text import sentence
from ..folders import JUDGED_WITH, digest_of_files, engine_files
from ..processes import side_by_side
from ..sandbox.processes import NotStarted
from ..sources.program import Source
from ..sources.submitted_files import SubmittedFiles

NOTHING_PASSES = (
    "even the course's own solution cannot be graded on this machine now. Is memory short, or are "
    "too many processes or files open?"
)
# Of files that were not graded, by the reason. All others have an error.
STATUSES = {NOTHING_SUBMITTED: Status.NOT_ATTEMPTED, WORKER_ENDED: Status.KILLED}
SUBMISSIONS_PER_WORKER = 4  # they are graded in less time than one more worker needs to start
Verdicts = list[Verdict]


class Grader:
    """A course's checks and a fork server for learner code. Each worker has one.

    Raises CourseError if the graders cannot be read, if there is no sandbox, and if not even a
    right answer can be graded.
    """

    def __init__(self, setup: Setup):
        torch.set_num_threads(1)
        self.maker = AttemptMaker(setup)
        self.maker.warm_up()
        if not self.canary():
            raise CourseError(NOTHING_PASSES)

    def canary(self) -> bool:
        """Return True if the solution of an exercise passes here now, so that the machine works.

        The process that runs it reads no submission. In a course system's container there is no
        solution, so it runs an empty file.
        """
        chapters = self.maker.course.chapters
        chapter = next((c for c in chapters if self.maker.is_built(c.name)), chapters[0])
        path = self.maker.tests.resolve().parent / "solutions" / f"{chapter.name}.py"
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        names = [one.name for one in chapter.exercises[:1]] if text else []
        attempt = self.maker.attempt_from_source(chapter.name, Source(text, path.name))
        try:
            loaded = attempt.loaded.status == Outcome.LOADED
            passed = all(one.passed for n in names for one in results_on(attempt, n)[n])
            return loaded and passed and not attempt.lab.is_lost
        except NotStarted:
            return False
        finally:
            attempt.lab.close()

    def grade(self, one: SubmittedFiles) -> Verdicts:
        """Return verdicts on all exercises of a chapter.

        Raises CourseError if this machine cannot grade the submission now.
        """
        verdicts = self.one_try(one, last=False) or self.one_try(one, last=True)
        if verdicts is None:
            raise CourseError(f"{one.chapter} of {one.student} is not graded: {NOTHING_PASSES}")
        return verdicts

    def one_try(self, one: SubmittedFiles, last: bool) -> Verdicts | None:
        """Return the verdicts; None if a process ended or stopped answering.

        That is a fault of this run until the last try proves that it is the learner's, because a
        right answer passes at that moment.
        """
        if one.reason:
            why = NOTHING_SUBMITTED if one.missing else NO_FILE if one.no_file else UNREADABLE
            return set_aside(one, self.maker.course, why, self.maker.warm_up().isolation)
        attempt = self.maker.attempt_from_source(one.chapter, one)
        try:
            verdicts = verdicts_of(one.student, attempt)
            is_lost = attempt.lab.is_lost
        except NotStarted:
            return None
        finally:
            attempt.lab.close()
        return verdicts if not is_lost or (last and self.canary()) else None

    def close(self) -> None:
        """End the fork server."""
        self.maker.close()


@cache
def grader_for(setup: Setup) -> Grader:
    """Return this process's grader for a setup. Raises CourseError."""
    grader = Grader(setup)
    forget()
    return grader


def grade(setup: Setup, one: SubmittedFiles, last: bool) -> Verdicts | None:
    """In a worker process: return the verdicts of a try, as `grade_with` does."""
    return grade_with(grader_for(setup), one, last)


def grade_with(grader: Grader, one: SubmittedFiles, last: bool = True) -> Verdicts | None:
    """Return the verdicts of a try on one submission; None if this machine could not grade it.

    Raises CourseError if the course or this machine is at fault, for all learners.
    """
    try:
        return grader.one_try(one, last)
    except CourseError:
        raise
    except Exception:  # a fault of the graders on this file, which must not end the run
        logging.exception("%s of %s could not be judged", one.chapter, one.student)
        return set_aside(one, grader.maker.course, GRADING_FAILED)
    finally:
        forget()


def forget() -> None:
    """Free everything of the last submission: an attempt and its exercises refer to each other.

    The remaining objects (references, fingerprints) are frozen. Otherwise Python would search them
    after each submission, which would take longer than grading it.
    """
    gc.collect()
    gc.freeze()


def set_aside(one: SubmittedFiles, course: Course, why: str, isolation: str = "none") -> Verdicts:
    """Return verdicts without points on every exercise of the chapter. why: a reason's name."""
    status, told = STATUSES.get(why, Status.ERROR), sentence(GRADERS_FAILED.get(why) or one.reason)
    most = {e.name: float(e.points) for e in course.chapter(one.chapter).exercises}
    return [
        Verdict(*one.about, name, 0.0, points, status, [], told, isolation, message_id=why)
        for name, points in most.items()
    ]


class Workers(AbstractContextManager["Workers"]):
    """Worker processes on this machine, used as a context; cluster.py has the same methods.

    submissions: all that they will grade. jobs: the most processes; 0 for one per available core.
    ahead: the number of submissions to give out at once: one in work and one waiting for each
    worker.
    """

    def __init__(self, submissions: int, jobs: int, setup: Setup):
        ours = getattr(os, "sched_getaffinity", lambda process: range(os.cpu_count() or 1))
        enough = max(1, ceil(submissions / SUBMISSIONS_PER_WORKER))
        self.count = min(jobs if jobs > 0 else len(ours(0)), enough)
        self.setup, self.ahead = setup, 2 * self.count
        # The processes share what is imported here; each has its own grader.
        self.pool = side_by_side(self.count, warm=True)

    def submit(self, one: SubmittedFiles, last: bool) -> Future[Verdicts | None]:
        """Send one submission to a worker. last: as in `one_try` of a grader."""
        try:
            return self.pool.submit(grade, self.setup, one, last)
        except BrokenExecutor:  # a worker died, and the pool with it
            self.pool.shutdown()
            self.pool = side_by_side(self.count, warm=True)
            return self.pool.submit(grade, self.setup, one, last)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.pool.shutdown(wait=kind is None, cancel_futures=True)


Graded = tuple[SubmittedFiles, Verdicts]
Done = tuple[SubmittedFiles, Future[Verdicts | None]]


def graded(todo: list[SubmittedFiles], workers: Workers, course: Course) -> Iterator[Graded]:
    """Yield each submission exactly once with its verdicts.

    Those that this machine cannot grade are left out. Raises CourseError if a worker cannot grade
    at all.
    """
    again = []
    for one, future in flow(todo, workers, last=False):
        verdicts = None if future.exception() else future.result()
        if verdicts is None:
            again.append(one)
        else:
            yield one, verdicts
    for one in again:
        for _, future in flow([one], workers, last=True):
            if future.exception():  # it has ended a worker twice
                yield one, set_aside(one, course, WORKER_ENDED)
            elif verdicts := future.result():
                yield one, verdicts


def flow(todo: list[SubmittedFiles], workers: Workers, last: bool) -> Iterator[Done]:
    """Yield finished tries as they arrive, with a bounded number of submissions at the workers.

    One whose worker died has an exception. Raises CourseError if a worker cannot grade at all.
    """
    left = deque(todo)
    running: dict[Future[Verdicts | None], SubmittedFiles] = {}
    while left or running:
        while left and len(running) < workers.ahead:
            one = left.popleft()
            running[workers.submit(one, last)] = one
        for future in wait(running, return_when=FIRST_COMPLETED).done:
            if isinstance(error := future.exception(), CourseError):
                raise error
            yield running.pop(future), future


# --- what a grade depends on ---------------------------------------------------------------------


def graders_files(graders: Path, chapter: str = "*") -> dict[str, Path]:
    """Return the files that grading a chapter (or all) needs, by path from the course's root.

    Files next to the chapters' folders are shared, because grader files import them. Public cases
    count too: pairs of mistakes are looked up on them. Grading does not read `mistakes.py`.
    """
    root = graders.parent
    patterns = {
        graders: (f"{chapter}/*.py", "*.py", f"references/{chapter}/*"),
        root / "exercises": (f"given/{chapter}/*.py", f"references/{chapter}/*"),
    }
    found = {path for folder, names in patterns.items() for n in names for path in folder.glob(n)}
    return {
        str(path.relative_to(root)): path
        for path in sorted(found)
        if path.is_file() and path.name != "mistakes.py"
    }


def parcel_of(graders: Path, course: Course, chapter: str = "*") -> dict[str, bytes]:
    """Return the content of these files and the course, as they travel to other machines.

    The course is included without its seed and without the rest of `course_config.py`, which may
    hold a gradebook's password.
    """
    files = {name: path.read_bytes() for name, path in graders_files(graders, chapter).items()}
    return files | {"graders/course.json": course.public_json().encode()}


def digest_of(graders: Path, course: Course, chapter: str = "*") -> str:
    """Return a digest of everything that affects the grades of a chapter, or of all.

    It changes with a hidden test, a recording, a mistake's message, a setting that affects grading,
    or the engine's code that decides results (JUDGED_WITH). Titles and dates do not matter.
    """
    files = graders_files(graders, chapter)
    # A key stands for a whole file, whose copy of the lesson's text does not matter.
    keys = [f"{name} {key_in(path)}" for name, path in files.items() if path.suffix == SUFFIX]
    files = {name: path for name, path in files.items() if path.suffix != SUFFIX}
    files |= {f"engine/{name}": path for name, path in engine_files(*JUDGED_WITH).items()}
    names = ("seed", "tolerances", "limits", "isolation", "packages")
    settings = {name: getattr(course, name) for name in names}
    exercises = [
        (exercise.name, exercise.points, exercise.like)
        for one in course.chapters
        for exercise in one.exercises
        if chapter in ("*", one.name)
    ]
    return digest_of_files(files, repr((settings, exercises)), *keys)[:16]
