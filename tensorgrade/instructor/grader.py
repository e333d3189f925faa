"""Grade one chapter of one learner: run all hidden tests, and return one verdict per exercise."""

import ctypes
import gc
import logging
from collections.abc import Callable

import torch

from ..attempts.attempt import Attempt
from ..attempts.maker import AttemptMaker
from ..attempts.pipeline import grade as grade_attempt
from ..attempts.scoring import results_on
from ..attempts.setup import Setup
from ..attempts.verdict import (
    GRADERS_FAILED,
    GRADING_FAILED,
    NO_FILE,
    NOTHING_SUBMITTED,
    UNREADABLE,
    Status,
    Verdict,
)
from ..course import Course, CourseError
from ..exchange.observation import Outcome
from ..exchange.text import sentence
from ..sandbox.processes import NotStarted
from ..sources.program import Source
from ..sources.submitted_files import SubmittedFiles

NOTHING_PASSES = (
    "even the course's own solution cannot be graded on this machine now. Is memory short, or are "
    "too many processes or files open?"
)


class NotReady(CourseError):
    """A worker cannot grade at all; no submission is at fault."""


class NotGraded(CourseError):
    """This machine could not grade a submission, which is not the learner's fault."""


class Grader:
    """A course's checks and a fork server for learner code. Each worker has one.

    Raises CourseError if the graders cannot be read.
    """

    def __init__(self, setup: Setup):
        self.maker = AttemptMaker(setup)

    def start(self) -> str:
        """Prepare for the first submission, and return the kind of isolation.

        Raises NotIsolated, NotStarted, or NotReady if not even a right answer can be graded.
        """
        isolation = self.maker.warm_up().isolation
        if not self.canary():
            raise NotReady(NOTHING_PASSES)
        return isolation

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

    def grade(self, one: SubmittedFiles) -> list[Verdict]:
        """Return verdicts on all exercises of a chapter.

        Raises NotGraded if a process ended or stopped answering twice, and the canary fails too.
        """
        return self.one_try(one, last=False) or self.one_try(one, last=True) or []

    def one_try(self, one: SubmittedFiles, last: bool) -> list[Verdict] | None:
        """Return the verdicts; None if a process ended or stopped answering, unless it is the last.

        That is a fault of this run until another try proves that it is the learner's. Raises
        NotGraded at the last try, if a right answer does not pass either.
        """
        whose = f"{one.chapter} of {one.student} is not graded"
        try:
            verdicts, is_lost = self.try_once(one)
        except NotStarted as error:
            if last:
                raise NotGraded(f"{whose}: {error}") from None
            return None
        if is_lost and last and not self.canary():
            raise NotGraded(f"{whose}: {NOTHING_PASSES}")
        return None if is_lost and not last else verdicts

    def try_once(self, one: SubmittedFiles) -> tuple[list[Verdict], bool]:
        """Return the verdicts, and True if a process ended or stopped answering."""
        if one.reason:
            status, why = Status.ERROR, NO_FILE if one.no_file else UNREADABLE
            if one.missing:
                status, why = Status.NOT_ATTEMPTED, NOTHING_SUBMITTED
            isolation = self.maker.warm_up().isolation
            return set_aside(one, self.maker.course, status, why, isolation), False
        attempt = self.attempt(one)
        return self.judge(one.student, attempt), attempt.lab.is_lost

    def attempt(self, one: SubmittedFiles) -> Attempt:
        """Return a submission as an attempt. An unreadable one gives an attempt too."""
        return self.maker.attempt_from_source(one.chapter, one)

    def judge(self, student: str, attempt: Attempt) -> list[Verdict]:
        """Run the cases and the checks on the results, and return the verdicts."""
        try:
            return grade_attempt(student, attempt)
        finally:
            attempt.lab.close()

    def close(self) -> None:
        """End the fork server."""
        self.maker.close()


GRADER: Grader | None = None
TROUBLE = "it was never started"


def start(setup: Setup) -> None:
    """Initialise a worker process. Errors are reported only when work arrives."""
    global GRADER, TROUBLE
    torch.set_num_threads(1)
    if tune is not None:
        tune(MMAP_THRESHOLD, LARGE_BLOCK)  # large results return to the system when they are freed
    try:
        grader = Grader(setup)
        grader.start()
        forget()
        GRADER = grader
    except Exception as error:  # an initializer that raises would look like a crash
        TROUBLE = str(error) or type(error).__name__


def check_in() -> str:
    """Return the kind of isolation of this worker. Raises NotReady."""
    return ready_grader().maker.warm_up().isolation


def grade(one: SubmittedFiles, last: bool) -> list[Verdict] | None:
    """Return the verdicts of a worker's try on one submission. Raises NotReady."""
    return grade_with(ready_grader(), one, last)


def ready_grader() -> Grader:
    """Return this process's grader. Raises NotReady."""
    if GRADER is None:
        raise NotReady(f"a worker could not start: {TROUBLE}")
    return GRADER


def grade_with(grader: Grader, one: SubmittedFiles, last: bool = True) -> list[Verdict] | None:
    """Return the verdicts of this grader on one submission.

    last: False returns None if another try is needed, True if this machine cannot grade it.
    """
    try:
        return grader.one_try(one, last)
    except NotGraded:
        return None
    except CourseError:
        raise  # the course or this machine is at fault, for all learners
    except Exception:  # a fault of the graders on this file, which must not end the run
        logging.exception("%s of %s could not be judged", one.chapter, one.student)
        return set_aside(one, grader.maker.course, Status.ERROR, GRADING_FAILED)
    finally:
        forget()


def forget() -> None:
    """Free everything of the last submission: an attempt and its exercises refer to each other.

    The remaining objects (references, fingerprints) are frozen. Otherwise Python would search them
    after each submission, which would take longer than grading it. Free memory returns to the
    system, because large results would leave gaps that are too small for others.
    """
    gc.collect()
    gc.freeze()
    if trim is not None:
        trim(0)


def c_function(name: str) -> Callable[..., int] | None:
    """Return a function of the C library; None if it is missing, as on Windows."""
    try:
        return getattr(ctypes.CDLL(None), name)
    except (AttributeError, OSError, TypeError):
        return None


trim, tune = c_function("malloc_trim"), c_function("mallopt")
MMAP_THRESHOLD, LARGE_BLOCK = -3, 1 << 18  # for mallopt; larger than a normal result


def set_aside(
    one: SubmittedFiles, course: Course, status: Status, why: str, isolation: str = "none"
) -> list[Verdict]:
    """Return verdicts without points on every exercise of the chapter. why: a reason's name."""
    return [
        Verdict(
            one.student,
            one.chapter,
            exercise.name,
            0.0,
            float(exercise.points),
            status,
            message=sentence(GRADERS_FAILED.get(why) or one.reason),
            message_id=why,
            isolation=isolation,
        )
        for exercise in course.chapter(one.chapter).exercises
    ]
