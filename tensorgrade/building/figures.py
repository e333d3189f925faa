"""How well mistakes are named, measured: single ones, pairs of them, and right answers."""

import ast
import contextlib
import io
import multiprocessing
import os
import random
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import torch

from ..attempt import Attempt
from ..grading.session import WarmSession
from ..mistakes import EditError, Mistake, make
from ..project import Project
from .wrong_attempts import Workshop

PAIRS, SEED = 200, 1


@dataclass(frozen=True)
class Trial:
    """One wrong version: where it is, the mistakes in it, on which cases it was tried.

    caught: a test of the exercise fails. named: the names that it was given.
    """

    chapter: str
    exercise: str
    mistakes: tuple[str, ...]
    hidden: bool
    caught: bool
    named: tuple[str, ...]


@dataclass(frozen=True)
class Figures:
    """All trials; how many right answers were tried, and the names that any of them was given."""

    singles: list[Trial]
    pairs: list[Trial]
    right: int
    misnamed: list[str]


def named_rightly(trial: Trial, known: list[Mistake]) -> bool:
    """The names are those of the mistakes made, no fewer and no more.

    A mistake that is marked as the same as another one carries that one's name where it is told.
    """
    names = {m.name: m.same_as for m in known if trial.exercise in m.edits}
    wanted = {names[name] if names[name] in names else name for name in trial.mistakes}
    return set(trial.named) == wanted


def measure(project: Project, right_answers: Path, count: int = PAIRS, seed: int = SEED) -> Figures:
    """Try everything, the chapters side by side. right_answers: a folder of `<chapter>/*.py`."""
    pairs = sample_pairs(project, count, seed)
    names = [chapter.name for chapter in reversed(project.course.chapters)]  # the longest first
    with ProcessPoolExecutor(os.cpu_count(), multiprocessing.get_context("spawn")) as pool:
        jobs = [pool.submit(measure_chapter, str(project.root), name, pairs, str(right_answers), hidden)
                for name in names for hidden in (True, False)]
        singles, both, right, misnamed = zip(*(job.result() for job in jobs))
    return Figures(sum(singles, []), sum(both, []), sum(right), sum(misnamed, []))


def measure_chapter(root: str, chapter: str, pairs: list, right_answers: str, hidden: bool) -> tuple:
    """(trials of singles, of pairs, how many right answers, names given to them)."""
    torch.set_num_threads(1)
    project = Project(Path(root))
    bench = Bench(project, project.graders if hidden else project.exercises)
    singles = [bench.try_out(chapter, e, [m]) for e, m in all_singles(project, chapter)]
    both = [bench.try_out(c, e, pair) for c, e, pair in by_name(project, pairs) if c == chapter]
    right, misnamed = names_of_right_answers(bench.workshop, chapter, Path(right_answers))
    bench.session.close()
    return singles, both, right, misnamed


def names_of_right_answers(workshop: Workshop, chapter: str, folder: Path) -> tuple[int, list[str]]:
    """How many right answers there are, and `file: exercise: names` for each that got a name."""
    parts = []
    with contextlib.redirect_stdout(io.StringIO()):  # right answers may print as they like
        for name, attempt, exercises in right_attempts(workshop, chapter, folder):
            parts += [(name, exercise, getattr(attempt, exercise).mistakes) for exercise in exercises]
    return len(parts), [f"{name}: {exercise}: {found}" for name, exercise, found in parts if found]


class Bench:
    """The tests of one folder, and a workshop that makes what is tried on them."""

    def __init__(self, project: Project, tests: Path):
        self.session, self.workshop = WarmSession(tests), Workshop(project, tests)

    def try_out(self, chapter: str, exercise: str, mistakes: list[Mistake]) -> Trial:
        """Make the mistakes, and see whether they are caught and what they are called."""
        attempt = self.workshop.wrong(chapter, exercise, mistakes)
        caught = not all(result.passed for result in self.session.results(attempt, exercise))
        named = getattr(attempt, exercise).mistakes
        hidden = attempt.references.hidden
        return Trial(chapter, exercise, tuple(m.name for m in mistakes), hidden, caught, named)


def all_singles(project: Project, chapter: str) -> Iterator[tuple[str, Mistake]]:
    """(exercise, mistake) for every known mistake of a chapter."""
    for exercise in project.course.chapter(chapter).exercises:
        yield from ((exercise.name, m) for m in project.mistakes if exercise.name in m.edits)


def sample_pairs(project: Project, count: int, seed: int) -> list[tuple[str, str, tuple[str, str]]]:
    """A random sample of all pairs that can be made together, each as likely as any other.

    Two mistakes that change the same piece of the solution cannot be made together. A mistake
    marked as the same as another is left to that other one.
    """
    pairs = [
        (chapter.name, exercise.name, (one.name, other.name))
        for chapter in project.course.chapters
        for exercise in chapter.exercises
        for one, other in composable(project, chapter.name, exercise.name)
    ]
    return random.Random(seed).sample(pairs, min(count, len(pairs)))


def composable(project: Project, chapter: str, exercise: str) -> Iterator[tuple[Mistake, Mistake]]:
    """Pairs of mistakes that fit into the solution together."""
    source = project.solution(chapter).read_text(encoding="utf-8")
    known = [m for m in project.mistakes if exercise in m.edits and not alike_in(m, exercise, project)]
    for pair in combinations(known, 2):
        try:
            make(source, exercise, list(pair))
        except EditError:
            continue
        yield pair


def alike_in(mistake: Mistake, exercise: str, project: Project) -> bool:
    """Whether another mistake of this exercise stands for this one."""
    return any(m.name == mistake.same_as and exercise in m.edits for m in project.mistakes)


def by_name(project: Project, pairs: list) -> Iterator[tuple[str, str, list[Mistake]]]:
    """Pairs with the mistakes themselves in place of their names."""
    known = {mistake.name: mistake for mistake in project.mistakes}
    for chapter, exercise, names in pairs:
        yield chapter, exercise, [known[name] for name in names]


def right_attempts(
    workshop: Workshop, chapter: str, right_answers: Path
) -> Iterator[tuple[str, Attempt, list[str]]]:
    """(name, attempt, exercises in it) for the solution and for every unusual but right answer."""
    names = [exercise.name for exercise in workshop.project.course.chapter(chapter).exercises]
    yield "the solution", workshop.right(chapter), names
    for path in sorted((right_answers / chapter).glob("*.py")):
        source = path.read_text(encoding="utf-8")
        defined = {getattr(node, "name", None) for node in ast.parse(source).body}
        yield path.stem, workshop.attempt(chapter, source), [name for name in names if name in defined]
