"""The interface for a course's own commands: a learner's code, and its results in the checks.

A command is run by the learner who wrote the code. So the code runs in the command's own process,
as in `pytest exercises/`.
"""

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import ModuleType

from .attempts.maker import AttemptMaker
from .attempts.results import State
from .attempts.setup import Setup
from .course import CourseError
from .learner.kit import Kit
from .learner.notebook import check, is_wrong_here
from .runner.loading import load_module
from .runner.reading import source_in, source_that_counts
from .runner.serve import install_given
from .runner.source import Source, Unreadable
from .sources.program import read_given

__all__ = ["Learner", "is_wrong_here"]


class Learner:
    """A learner's files in a folder: `<chapter>.py`, or `.ipynb` there or in `notebooks/`.

    exercises: the course's folder of checks. folder: the learner's files; by default the same one.
    """

    def __init__(self, exercises: Path, folder: Path | None = None):
        self.kit, self.maker = Kit(exercises.parent, folder), AttemptMaker(Setup(exercises))

    def lacks(self, exercises: Iterable[str]) -> dict[str, State]:
        """Return the exercises that do not pass their checks, with their states.

        Raises CourseError if there is no file to check, or no such exercise.
        """
        states = {name: self.state(name) for name in exercises}
        return {name: state for name, state in states.items() if state != State.DONE}

    def state(self, exercise: str) -> State:
        """Return the state of one exercise. Raises CourseError."""
        chapter, _ = self.kit.course.exercise(exercise)
        return check(self.kit.exercises, exercise, self.source(chapter.name)).state

    def source(self, chapter: str) -> Source:
        """Return the text that grading would use from a chapter's files. Raises CourseError."""
        script = self.kit.path(chapter)
        notebooks = [script.with_suffix(".ipynb"), self.kit.notebook(chapter)]
        found = [path for path in (*notebooks, script) if path.is_file()]
        if not found:
            raise CourseError(f"there is no {script} and no {notebooks[-1]}")
        content, name = found[0].read_bytes(), str(found[0])
        exercises = self.maker.program(chapter, Source("", "")).exercises
        try:
            if not script.is_file():
                return source_in(content, name)
            return source_that_counts(content, name, script.read_bytes(), exercises)
        except Unreadable as error:
            raise CourseError(str(error)) from None

    def code(self, chapter: str, beside: Mapping[str, ModuleType] | None = None) -> ModuleType:
        """Return a module with only the definitions in a chapter's file.

        beside: modules that it imports, by name. For its other imported chapters, the course's
        substitutes are used. Raises CourseError.
        """
        names = [one.name for one in self.kit.course.chapters]
        install_given(read_given(self.kit.exercises, chapter, names)[0])
        sys.modules.update(beside or {})
        source = self.source(chapter)
        return load_module(chapter, source.text, source.filename, definitions_only=True)[0]
