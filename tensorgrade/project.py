"""Find the files in a course's repository."""

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from .course import Course, CourseError
from .course_sources import load_config
from .grader_files import grader_path, import_from

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

    @cached_property
    def mistakes(self) -> list:
        """Return all known mistakes: first those of several exercises, then each exercise's own.

        Raises CourseError if two have the same name, because names identify mistakes everywhere.
        """
        shared = list(import_from(self.graders, "mistakes").MISTAKES)
        found = [("graders/mistakes", one) for one in shared]
        for chapter in self.course.chapters:
            for name in (one.name for one in chapter.exercises if not one.like):
                place = f"graders/{chapter.name}/{name}.py"
                found += [(place, one) for one in self.own_mistakes(chapter.name, name)]
        names = [one.name for _, one in found]
        if twice := next((name for name in names if names.count(name) > 1), None):
            places = " and ".join({place: "" for place, one in found if one.name == twice})
            raise CourseError(
                f"two mistakes are named {twice}, in {places}; put one that happens in several "
                "exercises into graders/mistakes, once, with the names of the exercises"
            )
        return [one for _, one in found]

    def own_mistakes(self, chapter: str, exercise: str) -> list:
        """Return the mistakes in an exercise's file. Raises CourseError if one is elsewhere too."""
        path, mistakes = grader_path(self.graders, chapter, exercise), []
        for one in getattr(self.grader(chapter, exercise), "MISTAKES", []):
            if not {"", exercise} >= one.edits.keys():
                raise CourseError(f"{path}: {one.name} happens elsewhere too: see graders/mistakes")
            if not one.edits or not isinstance(one.message, str):
                raise CourseError(f"{path}: {one.name} needs a name, a message and an edit or more")
            (edits,) = one.edits.values()
            mistakes.append(replace(one, edits={exercise: edits}))
        return mistakes


def find_project(start: Path | None = None) -> Project:
    """Return the project around a folder. Raises CourseError if there is none."""
    start = (start or Path.cwd()).resolve()
    for folder in (start, *start.parents):
        if (folder / "course_config.py").exists():
            return Project(folder)
    raise CourseError(f"there is no course_config.py in {start} or above it")
