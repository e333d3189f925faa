"""What a course's own commands import: a learner's code, and how much of it is right.

A command is run by the learner whose code it uses, so the code runs in this very process, as in
`pytest exercises/`.
"""

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import ModuleType

from .attempts.maker import AttemptMaker
from .attempts.results import State
from .attempts.setup import Setup
from .course import CourseError
from .learner.notebook.checking import check, is_wrong_here
from .runner.loading import load_module
from .runner.reading import source_in, source_that_counts
from .runner.serve import install_given
from .runner.source import Source, Unreadable
from .sources.submission import read_given

__all__ = ["Learner", "is_wrong_here"]


class Learner:
    """Whose work lies in a folder: `<chapter>.py`, or `.ipynb` there or in the kit's `notebooks/`.

    exercises: the course's folder of checks. folder: the learner's files; the same, if not given.
    """

    def __init__(self, exercises: Path, folder: Path | None = None):
        self.exercises, self.maker = exercises, AttemptMaker(Setup(exercises))
        self.course = self.maker.course
        self.folder = folder or exercises

    def lacks(self, exercises: Iterable[str]) -> dict[str, State]:
        """Those of some exercises that do not pass their checks, and how far each one is.

        Raises CourseError where there is no file to check, or no such exercise.
        """
        states = {name: self.state(name) for name in exercises}
        return {name: state for name, state in states.items() if state != State.DONE}

    def state(self, exercise: str) -> State:
        """How far one exercise is. Raises CourseError."""
        chapter, _ = self.course.exercise(exercise)
        return check(self.exercises, exercise, self.source(chapter.name)).state

    def source(self, chapter: str) -> Source:
        """The text that counts of a chapter's files, as in grading. Raises CourseError."""
        script = self.folder / f"{chapter}.py"
        places = (self.folder, self.exercises.parent / "notebooks")
        notebooks = [place / f"{chapter}.ipynb" for place in places]
        found = [path for path in (*notebooks, script) if path.is_file()]
        if not found:
            raise CourseError(f"there is no {script} and no {notebooks[-1]}")
        content, name = found[0].read_bytes(), str(found[0])
        exercises = self.maker.names_in(chapter)
        try:
            if not script.is_file():
                return source_in(content, name)
            return source_that_counts(content, name, script.read_bytes(), exercises)
        except Unreadable as error:
            raise CourseError(str(error)) from None

    def code(self, chapter: str, beside: Mapping[str, ModuleType] | None = None) -> ModuleType:
        """The definitions in a chapter's file, and nothing else of it.

        beside: modules that it imports, by name; for others that it builds on the course's
        stand-ins are taken. Raises CourseError.
        """
        names = [one.name for one in self.course.chapters]
        install_given(read_given(self.exercises, chapter, names)[0])
        sys.modules.update(beside or {})
        source = self.source(chapter)
        return load_module(chapter, source.text, source.filename, definitions_only=True)[0]
