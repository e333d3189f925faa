"""Attempts at a chapter made from its solution: right ones, and ones with known mistakes.

Right answers in other forms stand outside the engine, in a folder that a command is given.
"""

import ast
import runpy
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from ...attempts.attempt import Attempt
from ...attempts.in_process import InProcess
from ...attempts.maker import AttemptMaker
from ...attempts.setup import Setup
from ...project import Project
from ...recognition.mistakes import Mistake, make, mistake


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

    def attempt(self, chapter: str, source: str, bugs: dict[str, str] | None = None) -> Attempt:
        """Any source text as an attempt. bugs: what was given to be mended, if anything."""
        backend = InProcess(self.project.submission(chapter, source))
        attempt = self.maker.attempt_from(chapter, backend)
        attempt.references = replace(attempt.references, bugs=bugs or {})
        return attempt


@dataclass(frozen=True)
class Form:
    """A right answer to one exercise, in a chapter's text.

    edited: the text that this one is an edit of; empty where somebody wrote it.
    """

    chapter: str
    exercise: str
    name: str
    source: str
    edited: str = ""

    def is_new(self, line: int) -> bool:
        """Whether a line is this form's own, and not one of the text that it is an edit of."""
        return self.source.splitlines()[line - 1] not in self.known_lines

    @cached_property
    def known_lines(self) -> set[str]:
        """The lines of the text that this one is an edit of."""
        return set(self.edited.splitlines())


def right_forms(project: Project, chapter: str, exercise: str, folder: Path) -> Iterator[Form]:
    """The solution, `right_answers/<chapter>/*.py` and `right_edits/<chapter>.py` of a folder."""
    solution = project.solution(chapter).read_text(encoding="utf-8")
    yield Form(chapter, exercise, "the solution", solution)
    for path in sorted(folder.glob(f"right_answers/{chapter}/*.py")):
        source = path.read_text(encoding="utf-8")
        if exercise in {getattr(node, "name", None) for node in ast.parse(source).body}:
            yield Form(chapter, exercise, path.stem, source)
    for path in folder.glob(f"right_edits/{chapter}.py"):
        for name, edits in runpy.run_path(str(path))["RIGHT"].get(exercise, {}).items():
            source = make(solution, exercise, [mistake(name, "", {exercise: tuple(edits)})])
            yield Form(chapter, exercise, name, source, solution)
