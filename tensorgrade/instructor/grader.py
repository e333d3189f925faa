"""Grades one chapter of one learner: all hidden tests on one attempt, one verdict an exercise."""

import ctypes
import gc
import logging
from collections.abc import Callable

import torch

from ..attempts.attempt import Attempt
from ..attempts.maker import AttemptMaker
from ..attempts.pipeline import grade as grade_attempt
from ..attempts.setup import Setup
from ..attempts.verdict import Status, Verdict
from ..course import Course, CourseError
from ..project import check_seed
from ..sources.handins import Handin
from ..testing.collected import CollectedTests

TRIES = 2


class Grader:
    """The collected tests and a warm process for learner code; one of each worker.

    Raises CourseError if the graders cannot be collected, or the seed is new since the build.
    """

    def __init__(self, setup: Setup):
        self.maker = AttemptMaker(setup)
        check_seed(setup.tests, self.maker.course)
        self.collected = CollectedTests(setup.tests)

    def start(self) -> str:
        """Be ready for the first hand-in; returns the name of the rung of isolation.

        Raises NotIsolated or NotStarted.
        """
        return self.maker.warm_up().isolation

    def grade(self, handin: Handin) -> list[Verdict]:
        """Verdicts on all exercises of a chapter.

        Once more where the warm process itself ended on the way: that costs no learner points
        unless it happens every time.
        """
        if handin.missing:
            course, isolation = self.maker.course, self.start()
            return set_aside(handin, course, Status.NOT_ATTEMPTED, handin.reason, isolation)
        for _ in range(TRIES):
            warm = self.maker.warm_up()
            starts = warm.starts
            verdicts = self.judge(handin.student, self.attempt(handin))
            if warm.alive() and warm.starts == starts:
                break
        return verdicts

    def attempt(self, handin: Handin) -> Attempt:
        """A hand-in as an attempt; one that cannot be read is an attempt all the same."""
        if handin.reason:
            return self.maker.unread(handin.chapter, handin.reason)
        return self.maker.attempt_from_source(handin.chapter, handin)

    def judge(self, student: str, attempt: Attempt) -> list[Verdict]:
        """Run the cases, the tests on what was seen, and sum them up."""
        try:
            return grade_attempt(student, attempt, self.collected)
        finally:
            attempt.backend.close()

    def close(self) -> None:
        """End the warm process."""
        self.maker.close()


GRADER: Grader | None = None
TROUBLE = "it was never started"


class NotReady(CourseError):
    """A worker cannot grade at all; that is nobody's submission's fault."""


def start(setup: Setup) -> None:
    """Once for each worker process. What goes wrong here is told when work comes in."""
    global GRADER, TROUBLE
    torch.set_num_threads(1)
    if tune is not None:
        tune(MMAP_THRESHOLD, LARGE_BLOCK)  # a large result is given back as soon as it is freed
    try:
        grader = Grader(setup)
        grader.start()
        forget()
        GRADER = grader
    except Exception as error:  # an initializer that raises would only look like a crash
        TROUBLE = str(error) or type(error).__name__


def check_in() -> str:
    """The rung of isolation on which this worker grades. Raises NotReady."""
    return ready_grader().start()


def grade(handin: Handin) -> list[Verdict]:
    """The verdicts on one hand-in. Raises NotReady."""
    return grade_with(ready_grader(), handin)


def ready_grader() -> Grader:
    """This process's grader. Raises NotReady."""
    if GRADER is None:
        raise NotReady(f"a worker could not start: {TROUBLE}")
    return GRADER


def grade_with(grader: Grader, handin: Handin) -> list[Verdict]:
    """The verdicts on one hand-in, by this grader."""
    try:
        return grader.grade(handin)
    except CourseError:
        raise  # the course or this machine is at fault, for everybody
    except Exception:  # a fault of the graders on this one file; it must not end the class
        logging.exception("%s of %s could not be judged", handin.chapter, handin.student)
        return set_aside(handin, grader.maker.course, Status.ERROR, NOT_JUDGED)
    finally:
        forget()


def forget() -> None:
    """Free everything of the last submission: an attempt and its exercises refer to each other.

    What is left then (references, fingerprints) stays, so that Python need not look through it
    after the next submission, which would take longer than to grade it. Memory that is free goes
    back to the system, or large results would leave holes that nothing fits into.
    """
    gc.collect()
    gc.freeze()
    if trim is not None:
        trim(0)


def c_function(name: str) -> Callable[..., int] | None:
    """Return a function of the C library; None if it has none of that name, as on Windows."""
    try:
        return getattr(ctypes.CDLL(None), name)
    except (AttributeError, OSError, TypeError):
        return None


trim, tune = c_function("malloc_trim"), c_function("mallopt")
MMAP_THRESHOLD, LARGE_BLOCK = -3, 1 << 18  # of mallopt; larger than what a normal case returns


ENDED_ITS_WORKER = (
    "Grading this file ended the grading process itself; your instructor has to look at it."
)
NOT_JUDGED = "Grading this file failed, and not by your fault; your instructor has to look at it."
# Messages of rows that the graders could not judge. They are graded again on the next run.
GRADERS_FAILED = (ENDED_ITS_WORKER, NOT_JUDGED)


def set_aside(
    handin: Handin, course: Course, status: Status, why: str, isolation: str = "none"
) -> list[Verdict]:
    """Verdicts without points on every exercise of the chapter, with one reason."""
    student, chapter = handin.student, handin.chapter
    return [
        Verdict(student, chapter, e.name, 0.0, float(e.points), status, [], why, isolation)
        for e in course.chapter(chapter).exercises
    ]
