"""Where things stand in a course's repository."""

import importlib
import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from .course import Course, CourseError, load_config
from .submission import Submission, read_given


@dataclass(frozen=True)
class Project:
    """An instructor's checkout: the course's own folders below one root."""

    root: Path

    @cached_property
    def course(self) -> Course:
        """The course that `course_config.py` describes."""
        return load_config(self.root / "course_config.py")

    @property
    def exercises(self) -> Path:
        return self.root / "exercises"

    @property
    def graders(self) -> Path:
        return self.root / "graders"

    def solution(self, chapter: str) -> Path:
        """The literate source of a chapter."""
        return self.root / "solutions" / f"{chapter}.py"

    def submission(self, chapter: str, source: str, filename: str | None = None) -> Submission:
        """A chapter's source with the stand-ins that the course puts beside it."""
        chapters = [c.name for c in self.course.chapters]
        given, rebind = read_given(self.exercises, chapter, chapters)
        return Submission(chapter, source, filename or f"{chapter}.py", given, rebind)

    def cases_of(self, chapter: str):
        """The chapter's `write_cases`."""
        return self.load(f"graders.cases.{chapter}").write_cases

    @property
    def mistakes(self) -> list:
        """All known mistakes of the course."""
        return self.load("graders.mistakes").MISTAKES

    def load(self, module: str):
        """A module of the course's own (never of the engine)."""
        if str(self.root) not in sys.path:
            sys.path.insert(0, str(self.root))
        return importlib.import_module(module)


def find_project(start: Path | None = None) -> Project:
    """The project around a folder. Raises CourseError where there is none."""
    start = (start or Path.cwd()).resolve()
    for folder in (start, *start.parents):
        if (folder / "course_config.py").exists():
            return Project(folder)
    raise CourseError(f"there is no course_config.py in {start} or above it")
