"""A course: its chapters, exercises, points, tolerances and limits, in one record.

Instructors write the settings in `course_config.py`; course_sources.py reads the rest from the
course's own files. What learners may know of it travels with their exercises as `course.json`,
without the seed.
"""

import json
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from difflib import get_close_matches
from typing import TypeVar

from .lateness import Lateness


class CourseError(Exception):
    """The course's own files are missing or contradict each other."""


Item = TypeVar("Item")
Result = TypeVar("Result")


def each(function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    """What a function gives for all items. Raises one CourseError with a line for each that fails.

    Whoever writes a course is told of everything that is wrong at once.
    """
    results, wrong = [], []
    for item in items:
        try:
            results.append(function(item))
        except CourseError as error:
            wrong += str(error).splitlines()
    if wrong:
        raise CourseError("\n".join(dict.fromkeys(wrong)))
    return results


@dataclass(frozen=True)
class Exercise:
    """One function or class to write.

    points: what a right answer earns. hints: from a nudge to nearly there.
    shares: what the markers of its tests add up to; the same, unless the settings say otherwise.
    parameters: the stub's, in its order, by what is called: `f`, or `Layer` and `Layer.forward`.
    """

    name: str
    points: float
    hints: tuple[str, ...] = ()
    shares: float = 0
    parameters: dict[str, list[str]] = field(default_factory=dict, hash=False)

    def worth(self, share: float) -> float:
        """The points for a test whose marker says `share`."""
        return share * self.points / self.shares if self.shares else share


@dataclass(frozen=True)
class Chapter:
    """One lesson with several exercises: one file, one nbgrader assignment.

    ending: what one can do who has finished it, in a sentence or two. beside: the files of weights
    that a hand-in carries beside the learner's code, and how many bytes each may have.
    """

    name: str
    title: str
    exercises: tuple[Exercise, ...]
    ending: str = ""
    beside: dict[str, int] = field(default_factory=dict, hash=False)

    @property
    def points(self) -> float:
        """The sum of the exercises' points."""
        return sum(exercise.points for exercise in self.exercises)

    @property
    def parameters(self) -> dict[str, list[str]]:
        """The parameters of all exercises' stubs, by what is called."""
        return {
            called: names
            for exercise in self.exercises
            for called, names in exercise.parameters.items()
        }

    def exercise(self, name: str) -> Exercise:
        """The exercise of that name. Raises CourseError where there is none."""
        for exercise in self.exercises:
            if exercise.name == name:
                return exercise
        raise CourseError(f"{self.name} has no exercise named {name}")


@dataclass(frozen=True)
class Tolerance:
    """Values agree where |actual - expected| <= absolute + relative * |expected|."""

    relative: float
    absolute: float


@dataclass(frozen=True)
class Limits:
    """What one learner's file may use while it is graded. Seconds are wall-clock time.

    memory_bytes: beyond what Python and torch take. processes: threads count as such.
    handin_seconds: for all calls of one chapter together, and processor_seconds of them at work.
    file_bytes: one file; folder_bytes, folder_files: all. reply_bytes: one result with everything
    that is observed of it; all_replies_bytes: all results of a submission, which the grading
    process holds until it is judged. source_bytes: of a script that is handed in; notebook_bytes:
    of a notebook, outputs included.
    """

    load_seconds: float = 15.0
    case_seconds: float = 5.0
    handin_seconds: float = 120.0
    memory_bytes: int = 1 << 30
    file_bytes: int = 16 << 20
    processes: int = 64
    processor_seconds: int = 60
    folder_bytes: int = 16 << 20
    folder_files: int = 256
    open_files: int = 256
    reply_bytes: int = 8 << 20
    all_replies_bytes: int = 64 << 20
    source_bytes: int = 1 << 20
    notebook_bytes: int = 64 << 20


@dataclass(frozen=True)
class Scheme:
    """How chapters become a grade for the term, in percent.

    drop_lowest: so many chapters with the lowest shares do not count. weights: of chapters that
    shall not weigh as much as their points. pass_mark: in percent; None without one. decimals: of
    rounded grades; a half is rounded up.
    """

    drop_lowest: int = 0
    weights: dict[str, float] = field(default_factory=dict, hash=False)
    pass_mark: float | None = None
    decimals: int = 1

    def complaints(self, chapters: list[str]) -> list[str]:
        """What is wrong with these settings, a sentence each."""
        found = [f"no chapter is named {name}" for name in self.weights if name not in chapters]
        found += [f"the weight of {n} is negative" for n, w in self.weights.items() if w < 0]
        if self.drop_lowest < 0 or self.drop_lowest >= len(chapters):
            found.append(f"drop_lowest is {self.drop_lowest}, of {len(chapters)} chapters")
        if self.pass_mark is not None and not 0 <= self.pass_mark <= 100:
            found.append(f"pass_mark is {self.pass_mark:g}; give percent, 0 to 100")
        if not 0 <= self.decimals <= 6:
            found.append(f"decimals is {self.decimals}; give 0 to 6")
        return found


@dataclass(frozen=True)
class Settings:
    """What an instructor decides, in `course_config.py`.

    chapters: by name, in their order. points: of exercises that shall be worth something else
    than their tests say. off: exercises that are left out this term, everywhere. beside: by
    chapter, as in `Chapter`. packages: what learners may import besides torch, by the names that
    pip knows. The rest is as in `Course`.
    """

    name: str
    title: str
    seed: int
    chapters: tuple[str, ...]
    tolerances: dict[str, dict[str, Tolerance]]
    limits: Limits = field(default_factory=Limits)
    isolation: str = "namespaces"
    points: dict[str, float] = field(default_factory=dict)
    off: tuple[str, ...] = ()
    beside: dict[str, dict[str, int]] = field(default_factory=dict)
    packages: tuple[str, ...] = ()
    lateness: Lateness = field(default_factory=Lateness)
    scheme: Scheme | None = None


@dataclass(frozen=True)
class Course:
    """Everything that the tools need to know of a course.

    name: one short word, for names of files. title: for people.
    seed: the hidden cases are drawn from it; a new term takes a new one. None for learners.
    tolerances: by device (`cpu`, `cuda`), then by dtype.
    isolation: the lowest rung of tensorgrade/isolation/ladder.py on which hidden graders may run.
    lateness: deadlines, and what late work loses. scheme: how chapters become a grade, if that is
    set. `course.json` goes without both.
    packages: as in `Settings`.
    """

    name: str
    title: str
    chapters: tuple[Chapter, ...]
    tolerances: dict[str, dict[str, Tolerance]]
    limits: Limits = field(default_factory=Limits)
    isolation: str = "namespaces"
    seed: int | None = None
    lateness: Lateness = field(default_factory=Lateness)
    scheme: Scheme | None = None
    packages: tuple[str, ...] = ()

    def chapter(self, name: str) -> Chapter:
        """The chapter of that name. Raises CourseError where there is none."""
        for chapter in self.chapters:
            if chapter.name == name:
                return chapter
        names = ", ".join(chapter.name for chapter in self.chapters)
        raise CourseError(f"there is no chapter named {name}; the course has {names}")

    @property
    def beside(self) -> dict[str, tuple[str, int]]:
        """By the names of all files that hand-ins carry beside code: whose, and the most bytes."""
        return {
            name: (chapter.name, most)
            for chapter in self.chapters
            for name, most in chapter.beside.items()
        }

    def exercise(self, name: str) -> tuple[Chapter, Exercise]:
        """An exercise by its name, with its chapter. Raises CourseError where there is none."""
        for chapter in self.chapters:
            for exercise in chapter.exercises:
                if exercise.name == name:
                    return chapter, exercise
        names = [exercise.name for chapter in self.chapters for exercise in chapter.exercises]
        close = get_close_matches(name, names, 3, 0.5) or names
        raise CourseError(f"no exercise is named {name}; there is {', '.join(close)}")

    def public_json(self) -> str:
        """What learners' checks need to know, as JSON: everything but the seed and the dates."""
        private = ("lateness", "scheme")
        told = {name: value for name, value in asdict(self).items() if name not in private}
        return json.dumps(told | {"seed": None}, indent=1) + "\n"

    @classmethod
    def from_json(cls, text: str) -> "Course":
        """The course that `public_json` wrote."""
        data = json.loads(text)
        return cls(
            name=data["name"],
            title=data["title"],
            chapters=tuple(chapter_from(c) for c in data["chapters"]),
            tolerances={
                device: {dtype: Tolerance(**t) for dtype, t in by_dtype.items()}
                for device, by_dtype in data["tolerances"].items()
            },
            limits=Limits(**data["limits"]),
            isolation=data["isolation"],
            packages=tuple(data.get("packages", ())),
        )


def chapter_from(data: dict) -> Chapter:
    """One chapter of `course.json`."""
    exercises = (Exercise(**e | {"hints": tuple(e["hints"])}) for e in data["exercises"])
    ending, beside = data.get("ending", ""), data.get("beside", {})
    return Chapter(data["name"], data["title"], tuple(exercises), ending, beside)
