"""A course: its chapters, exercises, points, tolerances and limits, in one record.

Instructors write the settings in `course_config.py`. The module project.py reads the rest from the
course's own files. Learners get the public part with their exercises as `course.json`,
without the seed.
"""

import json
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from difflib import get_close_matches
from typing import Annotated, Any, Literal, NamedTuple, TypeVar

import msgspec
from msgspec import Meta

from .lateness import Lateness


class CourseError(Exception):
    """An error that the user can correct, in the course's files, an option or a submission folder.

    Commands print its text without a traceback.
    """


Item = TypeVar("Item")
Result = TypeVar("Result")


def each(function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    """Apply a function to all items, and collect the errors.

    Raises one CourseError with a line for each error, so that authors see all problems at once.
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


class Call(NamedTuple):
    """One call in a check, by the name of a function on an exercise: `it.agrees("values")`."""

    name: str
    arguments: tuple
    settings: dict[str, Any]


@dataclass(frozen=True)
class Check:
    """A check of an exercise: its points, the sentence for learners, and what must hold.

    A check that is worth 0 points is for learners only. line: its place in the grader file.
    """

    points: int | float
    says: str
    calls: tuple[Call, ...]
    line: int = field(default=0, compare=False)


@dataclass(frozen=True)
class Exercise:
    """One function or class to write.

    points: the points of a right answer. hints: from a nudge to nearly the solution.
    parameters: the stub's parameters in order, by callable, such as `f`, or `Layer` and
    `Layer.forward`. checks: their points add up to the exercise's points. like: for a find-the-bug
    exercise, the exercise whose cases and checks judge it.
    """

    name: str
    points: int | float
    hints: tuple[str, ...] = ()
    parameters: dict[str, list[str]] = field(default_factory=dict, hash=False)
    checks: tuple[Check, ...] = field(default=(), hash=False)
    like: str = ""


@dataclass(frozen=True)
class Chapter:
    """One lesson with several exercises: one file, one nbgrader assignment.

    ending: a sentence or two on what learners can do after this chapter. due: the deadline as
    learners read it; "" without one.
    """

    name: str
    title: str
    exercises: tuple[Exercise, ...]
    ending: str = ""
    due: str = ""

    @property
    def points(self) -> float:
        """Return the sum of the exercises' points."""
        return sum(exercise.points for exercise in self.exercises)

    @property
    def parameters(self) -> dict[str, list[str]]:
        """Return the parameters of all exercises' stubs, by callable."""
        return {
            called: names
            for exercise in self.exercises
            for called, names in exercise.parameters.items()
        }

    def exercise(self, name: str) -> Exercise:
        """Return the exercise of that name. Raises CourseError if there is none."""
        for exercise in self.exercises:
            if exercise.name == name:
                return exercise
        raise CourseError(f"{self.name} has no exercise named {name}")


@dataclass(frozen=True)
class Tolerance:
    """A tolerance: values agree if |actual - expected| <= absolute + relative * |expected|."""

    relative: float
    absolute: float


@dataclass(frozen=True)
class Limits:
    """The limits for one learner's file while it is graded. Seconds are wall-clock time.

    - load_seconds: for loading the file. case_seconds: for one case, in processor time; by the
      clock, a case may take three times as long.
    - handin_seconds: for all calls of a chapter together. processor_seconds: their processor time.
    - memory_bytes: in addition to the memory of Python and torch.
    - file_bytes: one file, where there is no sandbox; in it no file can be written.
    - reply_bytes: one result, including everything that is observed of it. all_replies_bytes: all
      results of a submission, which the grading process holds until they are judged.
    - source_bytes: a submitted script. notebook_bytes: a notebook, including its outputs.
    """

    load_seconds: float = 15.0
    case_seconds: float = 5.0
    handin_seconds: float = 120.0
    memory_bytes: int = 1 << 30
    file_bytes: int = 16 << 20
    processor_seconds: int = 60
    open_files: int = 256
    reply_bytes: int = 8 << 20
    all_replies_bytes: int = 64 << 20
    source_bytes: int = 1 << 20
    notebook_bytes: int = 64 << 20


@dataclass(frozen=True)
class Scheme:
    """The rule that turns chapters into a grade for the term, in percent.

    drop_lowest: this many chapters with the lowest shares do not count. weights: the weights of
    chapters, if they differ from their points. bonus: chapters that add to the grade and are not
    part of the 100 percent, so that it can be above 100. most: the highest grade in percent; None
    if there is no limit. pass_mark: in percent; None if there is none. decimals: of rounded grades;
    halves are rounded up.
    """

    drop_lowest: Annotated[int, Meta(ge=0)] = 0
    weights: dict[str, Annotated[float, Meta(ge=0)]] = field(default_factory=dict, hash=False)
    pass_mark: Annotated[float, Meta(ge=0, le=100)] | None = None
    decimals: Annotated[int, Meta(ge=0, le=6)] = 1
    bonus: tuple[str, ...] = ()
    most: Annotated[float, Meta(gt=0)] | None = None

    def complaints(self, chapters: list[str]) -> list[str]:
        """Return the errors in these settings about chapters, one sentence each."""
        named = (*self.weights, *self.bonus)
        found = [f"no chapter is named {name}" for name in named if name not in chapters]
        counted = len(chapters) - len(set(self.bonus))
        if self.drop_lowest >= counted:
            which = f"{counted} chapters{' without bonus' if self.bonus else ''}"
            found.append(f"drop_lowest is {self.drop_lowest}; one of the {which} must count")
        return found


@dataclass(frozen=True, kw_only=True)
class Rules:
    """What an instructor may set, and a course has.

    limits: for learner code. isolation: how hidden graders run it. packages: the packages that
    learners may import in addition to torch, by their pip names. submit_as: what
    `tensorgrade submit` writes: a zip of all files, a folder of them to upload one by one, or a zip
    with a folder for each chapter.
    `course.json` does not contain the other ones: lateness: deadlines, and the deductions for late
    work. scheme: the rule for grades, if there is one. solutions_in_kit: put the solutions into the
    kit.
    """

    limits: Limits = field(default_factory=Limits)
    isolation: Literal["sandbox", "none"] = "sandbox"
    packages: tuple[str, ...] = ()
    submit_as: Literal["zip", "files", "chapters"] = "zip"
    lateness: Lateness = field(default_factory=Lateness)
    scheme: Scheme | None = None
    solutions_in_kit: bool = False


@dataclass(frozen=True)
class Settings(Rules):
    """The settings that an instructor writes in `course_config.py`.

    chapters: names, in order. points: override an exercise's points here. off: exercises that are
    left out everywhere this term. Other fields are as in `Rules` and `Course`.
    """

    name: str
    title: str
    seed: int
    chapters: tuple[str, ...]
    tolerances: dict[str, dict[str, Tolerance]]
    points: dict[str, Annotated[float, Meta(gt=0, lt=1e9)]] = field(default_factory=dict)
    off: tuple[str, ...] = ()


@dataclass(frozen=True)
class Course(Rules):
    """All data about a course that the tools need.

    name: one short word, for file names. title: for people.
    tolerances: by device (`cpu`, `cuda`), then by dtype.
    seed: the hidden cases are drawn from it; use a new one each term. None for learners.
    """

    name: str
    title: str
    chapters: tuple[Chapter, ...]
    tolerances: dict[str, dict[str, Tolerance]]
    seed: int | None = None

    def chapter(self, name: str) -> Chapter:
        """Return the chapter of that name. Raises CourseError if there is none."""
        for chapter in self.chapters:
            if chapter.name == name:
                return chapter
        names = ", ".join(chapter.name for chapter in self.chapters)
        raise CourseError(f"there is no chapter named {name}; the course has {names}")

    def chapter_called(self, name: str) -> Chapter | None:
        """Return the chapter that a learner calls by its name or by the part before the first `_`.

        None if there is none or more than one, or if an exercise has that name.
        """
        found = [c for c in self.chapters if name in (c.name, c.name.partition("_")[0])]
        return found[0] if len(found) == 1 and name not in self.exercise_names else None

    @property
    def exercise_names(self) -> list[str]:
        """Return the names of all exercises, in the course's order."""
        return [exercise.name for chapter in self.chapters for exercise in chapter.exercises]

    def exercise(self, name: str) -> tuple[Chapter, Exercise]:
        """Return an exercise with its chapter, by name. Raises CourseError if there is none."""
        for chapter in self.chapters:
            for exercise in chapter.exercises:
                if exercise.name == name:
                    return chapter, exercise
        close = get_close_matches(name, self.exercise_names, 3, 0.5)
        meant = f"there is {', '.join(close)}" if close else "`tensorgrade hint` lists them"
        raise CourseError(f"no exercise is named {name}; {meant}")

    def public_json(self) -> str:
        """Return the data for learners' checks as JSON, without the seed.

        The rules for late work and grades and `solutions_in_kit` are left out, too.
        """
        told = asdict(self) | {"seed": None}
        for private in ("lateness", "scheme", "solutions_in_kit"):
            del told[private]
        for check in (c for one in told["chapters"] for e in one["exercises"] for c in e["checks"]):
            del check["line"]
        return json.dumps(told, indent=1) + "\n"

    @classmethod
    def from_json(cls, text: str) -> "Course":
        """Read the course that `public_json` wrote."""
        return msgspec.json.decode(text, type=cls)
