"""A course: its chapters, exercises, points, tolerances and limits, in one record.

Instructors write it in `course_config.py`. What learners may know of it travels with their
exercises as `course.json`, without the seed.
"""

import importlib.util
import json
from dataclasses import asdict, dataclass, field
from difflib import get_close_matches
from pathlib import Path


class CourseError(Exception):
    """The course's own files are missing or contradict each other."""


@dataclass(frozen=True)
class Exercise:
    """One function or class to write.

    points: what a right answer earns. hints: from a nudge to nearly there.
    """

    name: str
    points: float
    hints: tuple[str, ...] = ()


@dataclass(frozen=True)
class Chapter:
    """One lesson with several exercises: one file, one nbgrader assignment."""

    name: str
    title: str
    exercises: tuple[Exercise, ...]

    @property
    def points(self) -> float:
        """The sum of the exercises' points."""
        return sum(exercise.points for exercise in self.exercises)

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
    processor_seconds: for one chapter. file_bytes: one file; folder_bytes, folder_files: all.
    """

    load_seconds: float = 15.0
    case_seconds: float = 5.0
    memory_bytes: int = 1 << 30
    file_bytes: int = 16 << 20
    processes: int = 64
    processor_seconds: int = 60
    folder_bytes: int = 16 << 20
    folder_files: int = 256
    open_files: int = 256
    reply_bytes: int = 8 << 20
    source_bytes: int = 1 << 20


@dataclass(frozen=True)
class Course:
    """Everything that the tools need to know of a course.

    seed: the hidden cases are drawn from it; a new term takes a new one. None for learners.
    tolerances: by device (`cpu`, `cuda`), then by dtype.
    isolation: the lowest rung of tensorgrade/sandbox/ladder.py on which hidden graders may run.
    """

    title: str
    chapters: tuple[Chapter, ...]
    tolerances: dict[str, dict[str, Tolerance]]
    limits: Limits = field(default_factory=Limits)
    isolation: str = "namespaces"
    seed: int | None = None

    def chapter(self, name: str) -> Chapter:
        """The chapter of that name. Raises CourseError where there is none."""
        for chapter in self.chapters:
            if chapter.name == name:
                return chapter
        names = ", ".join(chapter.name for chapter in self.chapters)
        raise CourseError(f"there is no chapter named {name}; the course has {names}")

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
        """What learners may know, as JSON: everything but the seed."""
        return json.dumps(asdict(self) | {"seed": None}, indent=1) + "\n"

    @classmethod
    def from_json(cls, text: str) -> "Course":
        """The course that `public_json` wrote."""
        data = json.loads(text)
        return cls(
            title=data["title"],
            chapters=tuple(chapter_from(c) for c in data["chapters"]),
            tolerances={
                device: {dtype: Tolerance(**t) for dtype, t in by_dtype.items()}
                for device, by_dtype in data["tolerances"].items()
            },
            limits=Limits(**data["limits"]),
            isolation=data["isolation"],
        )


def chapter_from(data: dict) -> Chapter:
    """One chapter of `course.json`."""
    exercises = (Exercise(e["name"], e["points"], tuple(e["hints"])) for e in data["exercises"])
    return Chapter(data["name"], data["title"], tuple(exercises))


def load_course(folder: Path) -> Course:
    """The course of a folder of tests: its `course.json`, or the `course_config.py` above it."""
    public, config = folder / "course.json", folder.parent / "course_config.py"
    if public.exists():
        return Course.from_json(public.read_text(encoding="utf-8"))
    if config.exists():
        return load_config(config)
    raise CourseError(f"there is neither {public} nor {config}")


def load_config(path: Path) -> Course:
    """The `COURSE` that a `course_config.py` defines."""
    spec = importlib.util.spec_from_file_location("course_config", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.COURSE
