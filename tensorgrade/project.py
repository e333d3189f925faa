"""Find the files in a course's repository."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from .course import Course, CourseError
from .course_sources import load_config
from .grader_files import import_from

if TYPE_CHECKING:  # which imports torch
    from .sources.program import Program


@dataclass(frozen=True)
class Project:
    """An instructor's checkout: the course's own folders below one root."""

    root: Path

    @cached_property
    def course(self) -> Course:
        """Return the course that `course_config.py` describes."""
        return load_config(self.root / "course_config.py")

    @property
    def exercises(self) -> Path:
        return self.root / "exercises"

    @property
    def graders(self) -> Path:
        return self.root / "graders"

    def solution(self, chapter: str) -> Path:
        """Return the path of a chapter's literate source."""
        return self.root / "solutions" / f"{chapter}.py"

    @cached_property
    def stages(self) -> dict[str, str]:
        """Return the course's terms for intermediate values, by the local name of the value."""
        there = (self.graders / "stages.py").exists()
        return dict(import_from(self.graders, "stages").STAGES) if there else {}

    @cached_property
    def drawn(self) -> dict[tuple[str, str, bool], list]:
        """Return the cache of drawn cases, by chapter, exercise, and True for hidden ones."""
        return {}

    def program(self, chapter: str, source: str, filename: str | None = None) -> "Program":
        """Return a chapter's source as a program, with the substitutes that the course adds."""
        from .sources.program import Program, Source, read_given  # which imports torch

        chapters = [c.name for c in self.course.chapters]
        given, rebind = read_given(self.exercises, chapter, chapters)
        text = Source(source, filename or f"{chapter}.py")
        own = self.course.chapter(chapter)
        names = {exercise.name: "" for exercise in own.exercises}
        return Program(chapter, text, given, rebind, names, own.parameters)

    def grader(self, chapter: str, exercise: str) -> ModuleType:
        """Import the file with the cases and checks that judge an exercise, and its mistakes."""
        like = self.course.chapter(chapter).exercise(exercise).like
        return import_from(self.graders, f"{chapter}.{like or exercise}")


def find_project(start: Path | None = None) -> Project:
    """Return the project around a folder. Raises CourseError if there is none."""
    start = (start or Path.cwd()).resolve()
    for folder in (start, *start.parents):
        if (folder / "course_config.py").exists():
            return Project(folder)
    raise CourseError(f"there is no course_config.py in {start} or above it")
