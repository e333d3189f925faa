"""Attempts at a chapter made from its solution: right ones, and ones with known mistakes."""

from pathlib import Path

from ...attempts.attempt import Attempt
from ...attempts.in_process import InProcess
from ...attempts.maker import AttemptMaker
from ...attempts.setup import Setup
from ...project import Project
from ..recording.mistakes import Mistake, make


class MadeAttempts:
    """Makes attempts for one folder of tests, in this process: only for code that we wrote."""

    def __init__(self, project: Project, tests: Path):
        self.project, self.maker = project, AttemptMaker(Setup(tests, "none"))

    def source(self, chapter: str) -> str:
        """The text of a chapter's solution."""
        return self.project.solution(chapter).read_text(encoding="utf-8")

    def right(self, chapter: str) -> Attempt:
        """The solution as an attempt."""
        return self.attempt(chapter, self.source(chapter))

    def wrong(self, chapter: str, exercise: str, mistakes: list[Mistake]) -> Attempt:
        """The solution with these mistakes in one exercise. Raises EditError if they fit not."""
        return self.attempt(chapter, make(self.source(chapter), exercise, mistakes))

    def attempt(self, chapter: str, source: str) -> Attempt:
        """Any source text as an attempt."""
        backend = InProcess(self.project.submission(chapter, source))
        return self.maker.attempt_from(chapter, backend)
