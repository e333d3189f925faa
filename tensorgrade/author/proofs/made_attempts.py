"""Attempts at a chapter made from its solution: right ones, and ones with known mistakes."""

from dataclasses import replace
from pathlib import Path

from ...attempts.attempt import Attempt
from ...attempts.lab import Lab
from ...attempts.maker import AttemptMaker
from ...attempts.setup import Setup
from ...project import Project
from ...recognition.edits import make
from ..mistakes import Mistake


class MadeAttempts:
    """A factory of attempts for one folder of tests.

    The attempts run in this process, so it is only for code that we wrote.
    """

    def __init__(self, project: Project, tests: Path):
        self.project, self.maker = project, AttemptMaker(Setup(tests, "none"))

    def source(self, chapter: str) -> str:
        """Return the text of a chapter's solution."""
        return self.project.solution(chapter).read_text(encoding="utf-8")

    def right(self, chapter: str) -> Attempt:
        """Return the solution as an attempt."""
        return self.attempt(chapter, self.source(chapter))

    def wrong(self, chapter: str, exercise: str, mistake: Mistake) -> Attempt:
        """Return the solution with a mistake in an exercise. Raise EditError if it does not fit."""
        return self.attempt(chapter, make(self.source(chapter), exercise, mistake.edits))

    def attempt(self, chapter: str, source: str, bugs: dict[str, str] | None = None) -> Attempt:
        """Return any source text as an attempt. bugs: the given code of find-the-bug exercises."""
        program, lab = self.project.program(chapter, source), Lab(None, self.project.course.limits)
        attempt = self.maker.attempt_with(lab, program)
        attempt.references = replace(attempt.references, bugs=bugs or {})
        return attempt
