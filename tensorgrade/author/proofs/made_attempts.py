"""Attempts at a chapter made from its solution: right ones, and ones with known mistakes.

Other right answers are outside the engine, in a folder that is passed to the command.
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

    def wrong(self, chapter: str, exercise: str, mistakes: list[Mistake]) -> Attempt:
        """Return the solution with mistakes in one exercise. Raise EditError if they do not fit."""
        return self.attempt(chapter, make(self.source(chapter), exercise, mistakes))

    def attempt(self, chapter: str, source: str, bugs: dict[str, str] | None = None) -> Attempt:
        """Return any source text as an attempt. bugs: the given code of find-the-bug exercises."""
        backend = InProcess(self.project.submission(chapter, source))
        attempt = self.maker.attempt_from(chapter, backend)
        attempt.references = replace(attempt.references, bugs=bugs or {})
        return attempt


@dataclass(frozen=True)
class Form:
    """A right answer to one exercise, in a chapter's text.

    edited: the text that this one was edited from, or an empty string if it was written by hand.
    """

    chapter: str
    exercise: str
    name: str
    source: str
    edited: str = ""

    def is_new(self, line: int) -> bool:
        """Return True if a line is not in the text that this form was edited from."""
        return self.source.splitlines()[line - 1] not in self.known_lines

    @cached_property
    def known_lines(self) -> set[str]:
        """Return the lines of the text that this form was edited from."""
        return set(self.edited.splitlines())


def right_forms(project: Project, chapter: str, exercise: str, folder: Path) -> Iterator[Form]:
    """Yield the solution, and right forms from a folder.

    These are the files `right_answers/<chapter>/*.py` and the edits in `right_edits/<chapter>.py`.
    """
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
