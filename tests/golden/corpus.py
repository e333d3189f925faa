"""The submissions of the golden corpus: every right and wrong answer that this repository holds."""

import ast
import runpy
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from tensorgrade.author.proofs.figures import by_name, sample_pairs
from tensorgrade.author.proofs.sample_class import HEADER, Choice, assemble
from tensorgrade.project import Project
from tensorgrade.recognition.mistakes import EditError, Mistake, make, mistake

TESTS = Path(__file__).parents[1]
PAIRS = 100
PLACE = {False: "hidden", True: "public"}
EVERYTHING_WRONG, ALL_TO_DO = "every exercise wrong", "every exercise to do"


@dataclass(frozen=True)
class Entry:
    """One submission of a chapter, and the exercises that are graded in it (all, if none).

    public: judged by the learner's own checks, and not by the hidden ones.
    """

    name: str
    chapter: str
    text: str = field(repr=False)
    exercises: tuple[str, ...] = ()
    public: bool = False


def corpus(project: Project, chapter: str) -> Iterator[Entry]:
    """Return all entries of a chapter, always in the same order."""
    yield from whole_chapters(project, chapter)
    yield from right_answers(chapter)
    yield from edits_of(project, chapter, "right_edits", "RIGHT")
    yield from edits_of(project, chapter, "wrong_answers", "WRONG")
    yield from known_mistakes(project, chapter)
    yield from pairs_of_mistakes(project, chapter)


def whole_chapters(project: Project, chapter: str) -> Iterator[Entry]:
    """Return the solution, the stub, and a submission with a known mistake in every exercise."""
    yield Entry("solution", chapter, project.solution(chapter).read_text(encoding="utf-8"))
    stub = project.exercises / f"{chapter}.py"
    yield Entry(ALL_TO_DO, chapter, stub.read_text(encoding="utf-8"))
    choices = [
        Choice(exercise.name, tuple(names[:1]))
        for exercise in project.course.chapter(chapter).exercises
        if (names := [one.name for one in project.mistakes if exercise.name in one.edits])
    ]
    yield Entry(EVERYTHING_WRONG, chapter, HEADER + assemble(project, chapter, choices))


def right_answers(chapter: str) -> Iterator[Entry]:
    """Return the right answers in unusual forms, one for each file."""
    for path in sorted(TESTS.glob(f"right_answers/{chapter}/*.py")):
        text = path.read_text(encoding="utf-8")
        defined = [getattr(node, "name", "") for node in ast.parse(text).body]
        yield Entry(f"right_answers/{path.stem}", chapter, text, tuple(filter(None, defined)))


def edits_of(project: Project, chapter: str, folder: str, name: str) -> Iterator[Entry]:
    """Return the solution with the edits that a file of right or wrong answers lists."""
    path = TESTS / folder / f"{chapter}.py"
    listed = runpy.run_path(str(path))[name] if path.exists() else {}
    source = project.solution(chapter).read_text(encoding="utf-8")
    for exercise, programs in listed.items():
        for title, edits in programs.items():
            text = make(source, exercise, [mistake(title, "", {exercise: tuple(edits)})])
            yield Entry(f"{folder}/{title}", chapter, text, (exercise,))


def known_mistakes(project: Project, chapter: str) -> Iterator[Entry]:
    """Return the solution with each known mistake."""
    for exercise in (one.name for one in project.course.chapter(chapter).exercises):
        for known in (one for one in project.mistakes if exercise in one.edits):
            yield from with_mistakes(project, chapter, exercise, known)


def pairs_of_mistakes(project: Project, chapter: str) -> Iterator[Entry]:
    """Return the solution with two known mistakes in one exercise, drawn at random."""
    for found, exercise, pair in by_name(project, drawn_pairs(project)):
        if found == chapter:
            yield from with_mistakes(project, chapter, exercise, *pair)


@cache
def drawn_pairs(project: Project) -> list:
    """Draw pairs of mistakes from all chapters, once for each process."""
    return sample_pairs(project, PAIRS, seed=7)


def with_mistakes(
    project: Project, chapter: str, exercise: str, *mistakes: Mistake
) -> Iterator[Entry]:
    """Return the solution with mistakes in an exercise, for hidden and for public checks."""
    source = project.solution(chapter).read_text(encoding="utf-8")
    try:
        text = make(source, exercise, list(mistakes))
    except EditError:
        return
    name = "+".join(one.name for one in mistakes)
    for public in (False, True):
        yield Entry(f"mistakes/{name}/{PLACE[public]}", chapter, text, (exercise,), public)
