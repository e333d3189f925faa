"""Where things stand in a course's repository."""

import hashlib
import json
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from .course import Course, CourseError
from .course_sources import load_config
from .grader_files import BUG, grader_path, import_from
from .sources.beside import Beside, files_beside

if TYPE_CHECKING:  # the first imports pytest, the second torch
    from .marker import FindTheBug
    from .sources.submission import Submission


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

    def forms(self, chapter: str) -> list[Path]:
        """Right answers to a chapter's exercises in other forms than the solution's, if any."""
        return sorted((self.root / "solutions" / "forms" / chapter).glob("*.py"))

    @cached_property
    def stages(self) -> dict[str, str]:
        """What the course calls a value on the way, by the local name that it has there."""
        there = (self.graders / "stages.py").exists()
        return dict(import_from(self.graders, "stages").STAGES) if there else {}

    @cached_property
    def drawn(self) -> dict[tuple[str, str, bool], list]:
        """The cases that have been drawn: by chapter, exercise, and whether they are hidden."""
        return {}

    def submission(self, chapter: str, source: str, filename: str | None = None) -> "Submission":
        """A chapter's source with the stand-ins that the course puts beside it."""
        from .sources.submission import Source, Submission, read_given  # which imports torch

        chapters = [c.name for c in self.course.chapters]
        given, rebind = read_given(self.exercises, chapter, chapters)
        text = Source(source, filename or f"{chapter}.py")
        own = self.course.chapter(chapter)
        names = {exercise.name: "" for exercise in own.exercises}
        return Submission(chapter, text, given, rebind, names, self.beside(chapter), own.parameters)

    def beside(self, chapter: str) -> tuple[Beside, ...]:
        """What a right answer to a chapter carries beside its code."""
        files = self.course.chapter(chapter).beside
        return files_beside(files, self.solution(chapter).parent)

    def grader(self, chapter: str, exercise: str) -> ModuleType:
        """The file with an exercise's cases, tests and mistakes, imported."""
        return import_from(self.graders, f"{chapter}.{exercise}")

    @cached_property
    def mistakes(self) -> list:
        """All known mistakes: those of several exercises first, then each exercise's own.

        Raises CourseError where two have one name, by which all else speaks of them.
        """
        shared = list(import_from(self.graders, "mistakes").MISTAKES)
        found = [("graders/mistakes", one) for one in shared]
        for chapter in self.course.chapters:
            for name in (exercise.name for exercise in chapter.exercises):
                place = f"graders/{chapter.name}/{name}.py"
                found += [(place, one) for one in self.own_mistakes(chapter.name, name)]
        names = [one.name for _, one in found]
        if twice := next((name for name in names if names.count(name) > 1), None):
            places = " and ".join({place: "" for place, one in found if one.name == twice})
            raise CourseError(
                f"two mistakes are named {twice}, in {places}; one that happens in several "
                "exercises stands in graders/mistakes, once, and says where"
            )
        return [one for _, one in found]

    def bug(self, chapter: str, exercise: str) -> "FindTheBug | None":
        """What an exercise says in which a mistake is to be found; None for any other."""
        there = grader_path(self.graders, chapter, exercise).exists()
        return getattr(self.grader(chapter, exercise), BUG, None) if there else None

    @cached_property
    def form_edits(self) -> list:
        """Other right ways to write solutions, as edits of them (`graders/forms.py`), if any."""
        there = (self.graders / "forms.py").exists()
        return list(import_from(self.graders, "forms").FORMS) if there else []

    def own_mistakes(self, chapter: str, exercise: str) -> list:
        """The mistakes in an exercise's own file. Raises CourseError for one of another."""
        path, mistakes = grader_path(self.graders, chapter, exercise), []
        for one in getattr(self.grader(chapter, exercise), "MISTAKES", []):
            if not {"", exercise} >= one.edits.keys():
                raise CourseError(f"{path}: {one.name} happens elsewhere too: see graders/mistakes")
            if not one.edits or not isinstance(one.message, str):
                raise CourseError(f"{path}: {one.name} needs a name, a message and an edit or more")
            (edits,) = one.edits.values()
            mistakes.append(replace(one, edits={exercise: edits}))
        return mistakes


DRAWN_FROM = "drawn from"  # in made_from.json, a digest of the seed of the hidden cases


def made_from(graders: Path) -> Path:
    """Return where `build` says what references were made from. Graders only: it is private."""
    return graders / "references" / "made_from.json"


def digest_of_seed(course: Course) -> str:
    """Return a digest of the seed, from which nobody can tell the seed."""
    return hashlib.sha256(f"tensorgrade {course.seed}".encode()).hexdigest()[:24]


def check_seed(graders: Path, course: Course) -> None:
    """Raise CourseError if the hidden cases were drawn from another seed than today's."""
    path = made_from(graders)
    if course.seed is None or not path.is_file():
        return
    known = json.loads(path.read_text(encoding="utf-8")).get(DRAWN_FROM)
    if known not in (None, digest_of_seed(course)):
        raise CourseError(
            "the hidden cases were drawn from another seed than the one in course_config.py; run "
            "`tensorgrade build` first"
        )


def find_project(start: Path | None = None) -> Project:
    """The project around a folder. Raises CourseError where there is none."""
    start = (start or Path.cwd()).resolve()
    for folder in (start, *start.parents):
        if (folder / "course_config.py").exists():
            return Project(folder)
    raise CourseError(f"there is no course_config.py in {start} or above it")
