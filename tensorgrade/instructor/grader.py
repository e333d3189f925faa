"""Grade one chapter of one learner: run all hidden tests, and return one verdict per exercise."""

import gc
import logging
from functools import cache

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


class Grader:
    """A course's checks and a fork server for learner code. Each worker has one.

    Raises CourseError if the graders cannot be read.
    """

    def __init__(self, setup: Setup):
        torch.set_num_threads(1)
        self.maker = AttemptMaker(setup)

    def start(self) -> None:
        """Prepare for the first submission.

        Raises CourseError, also if there is no sandbox or not even a right answer can be graded.
        """
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

    def grade(self, one: SubmittedFiles) -> list[Verdict]:
        """Return verdicts on all exercises of a chapter.

        Raises CourseError if this machine cannot grade the submission now.
        """
        verdicts = self.one_try(one, last=False) or self.one_try(one, last=True)
        if verdicts is None:
            raise CourseError(f"{one.chapter} of {one.student} is not graded: {NOTHING_PASSES}")
        return verdicts

    def one_try(self, one: SubmittedFiles, last: bool) -> list[Verdict] | None:
        """Return the verdicts; None if a process ended or stopped answering.

        That is a fault of this run until the last try proves that it is the learner's, because a
        right answer passes at that moment.
        """
        if one.reason:
            isolation = self.maker.warm_up().isolation
            status, why = Status.ERROR, NO_FILE if one.no_file else UNREADABLE
            if one.missing:
                status, why = Status.NOT_ATTEMPTED, NOTHING_SUBMITTED
            return set_aside(one, self.maker.course, status, why, isolation)
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
    """Return this process's grader for a setup, started. Raises CourseError."""
    grader = Grader(setup)
    grader.start()
    forget()
    return grader


def grade(setup: Setup, one: SubmittedFiles, last: bool) -> list[Verdict] | None:
    """In a worker process: return the verdicts of a try, as `grade_with` does."""
    return grade_with(grader_for(setup), one, last)


def grade_with(grader: Grader, one: SubmittedFiles, last: bool = True) -> list[Verdict] | None:
    """Return the verdicts of a try on one submission; None if this machine could not grade it.

    Raises CourseError if the course or this machine is at fault, for all learners.
    """
    try:
        return grader.one_try(one, last)
    except CourseError:
        raise
    except Exception:  # a fault of the graders on this file, which must not end the run
        logging.exception("%s of %s could not be judged", one.chapter, one.student)
        return set_aside(one, grader.maker.course, Status.ERROR, GRADING_FAILED)
    finally:
        forget()


def forget() -> None:
    """Free everything of the last submission: an attempt and its exercises refer to each other.

    The remaining objects (references, fingerprints) are frozen. Otherwise Python would search them
    after each submission, which would take longer than grading it.
    """
    gc.collect()
    gc.freeze()


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
