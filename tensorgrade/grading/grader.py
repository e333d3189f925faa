"""Grades one chapter of one learner: all hidden tests on one attempt, one verdict an exercise."""

from pathlib import Path

from ..attempt import Attempt
from ..desk import Desk
from ..results import CheckResult, Verdict, verdict
from .session import WarmSession

TRIES = 2


class Grader:
    """A warm pytest session and a warm process for learner code; one of each worker."""

    def __init__(self, graders: Path, isolation: str = "auto", device: str = "cpu"):
        self.desk = Desk(graders, device, isolation)
        self.session = WarmSession(graders)  # collects in a thread, while the process warms up

    def start(self) -> str:
        """Be ready for the first hand-in; returns the name of the rung of isolation.

        Raises NotIsolated, NotStarted, or CourseError where the graders cannot be collected.
        """
        self.desk.warm_up()
        self.session.ready()
        return self.desk.warm.isolation

    def grade(self, student: str, chapter: str, source: str, filename: str) -> list[Verdict]:
        """Verdicts on all exercises of a chapter, from a learner's source text.

        Once more where the warm process itself ended on the way: that costs no learner points
        unless it happens every time.
        """
        for _ in range(TRIES):
            attempt = self.desk.attempt_from_source(chapter, source, filename)
            warm, starts = self.desk.warm, self.desk.warm.starts
            verdicts = self.judge(student, attempt)
            if warm.alive() and warm.starts == starts:
                break
        return verdicts

    def refuse(self, student: str, chapter: str, reason: str) -> list[Verdict]:
        """Verdicts where there is no source to run, for one reason."""
        return self.judge(student, self.desk.unread(chapter, reason))

    def judge(self, student: str, attempt: Attempt) -> list[Verdict]:
        """Run the tests on an attempt and sum them up, exercise by exercise."""
        try:
            return self.sum_up(student, attempt, self.session.results(attempt))
        finally:
            attempt.backend.close()

    def sum_up(self, student: str, attempt: Attempt, results: list[CheckResult]) -> list[Verdict]:
        """One verdict for each exercise, from the results of all checks on an attempt."""
        return [
            verdict(
                student,
                exercise,
                getattr(attempt, exercise.name),
                [result for result in results if result.exercise == exercise.name],
            )
            for exercise in attempt.chapter.exercises
        ]

    def close(self) -> None:
        """End the session and the warm process."""
        self.session.close()
        self.desk.close()
