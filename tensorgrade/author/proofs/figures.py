"""Measurements of how well known mistakes are named, and of names given to right answers."""

import ast
import contextlib
import io
import os
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import torch

from ...attempts.attempt import Attempt
from ...attempts.points import LEAST, MOST, sums
from ...attempts.recognized import mistakes as mistakes_of
from ...attempts.results import CheckResult
from ...attempts.scoring import run_and_score
from ...processes import side_by_side
from ...project import Project
from ...sandbox.processes import ENVIRONMENT
from ..mistakes import Mistake, told_apart
from .made_attempts import MadeAttempts

NO_COMPILER = "TORCHDYNAMO_DISABLE"


@dataclass(frozen=True)
class Trial:
    """The result of one known mistake.

    hidden: True if it was tried on hidden cases. caught: True if a test of the exercise failed.
    named: the names that it was given. cost: the share of the exercise's points that it loses, from
    0 to 1. by_checks: the share that its failed tests alone would cost.
    """

    exercise: str
    mistake: str
    hidden: bool
    caught: bool
    named: tuple[str, ...]
    cost: float = 0.0
    by_checks: float = 0.0


@dataclass(frozen=True)
class Figures:
    """All trials, the number of right answers that were tried, and the names given to them."""

    trials: list[Trial]
    right: int
    misnamed: list[str]


def named_rightly(trial: Trial) -> bool:
    """Return True if the trial was given the name of its mistake, and no other one."""
    return trial.named == (trial.mistake,)


def measure(project: Project, right_answers: Path) -> Figures:
    """Measure everything, with chapters in parallel.

    right_answers: a folder of `<chapter>/*.py`.
    """
    names = [chapter.name for chapter in reversed(project.course.chapters)]  # the longest first
    # Some mistakes cause torch warnings.
    with side_by_side(None, warnings.simplefilter, "ignore") as pool:
        jobs = [
            pool.submit(measure_chapter, str(project.root), name, str(right_answers), hidden)
            for name in names
            for hidden in (True, False)
        ]
        trials, right, misnamed = zip(*(job.result() for job in jobs), strict=True)
    every = chain.from_iterable
    return Figures([*every(trials)], sum(right), [*every(misnamed)])


def measure_chapter(root: str, chapter: str, right_answers: str, hidden: bool) -> tuple:
    """Return the trials, the number of right answers, and names given to these."""
    torch.set_num_threads(1)
    os.environ[NO_COMPILER] = ENVIRONMENT[NO_COMPILER]  # as in the processes that grade
    project = Project(Path(root))
    bench = Bench(project, project.graders if hidden else project.exercises)
    trials = [bench.try_out(chapter, *one) for one in all_mistakes(project, chapter)]
    right, misnamed = names_of_right_answers(bench.made, chapter, Path(right_answers))
    return trials, right, misnamed


def names_of_right_answers(made: MadeAttempts, chapter: str, folder: Path) -> tuple[int, list[str]]:
    """Return the number of right answers, and `file: exercise: names` for each that got a name."""
    parts = []
    with contextlib.redirect_stdout(io.StringIO()):  # right answers may print anything
        for name, attempt, exercises in right_attempts(made, chapter, folder):
            attempt.run(exercises)
            parts += [
                (name, exercise, mistakes_of(attempt.exercises[exercise])) for exercise in exercises
            ]
    return len(parts), [f"{name}: {exercise}: {found}" for name, exercise, found in parts if found]


class Bench:
    """The factory of the attempts that the checks of one folder judge."""

    def __init__(self, project: Project, tests: Path):
        self.made = MadeAttempts(project, tests)

    def try_out(self, chapter: str, exercise: str, mistake: Mistake) -> Trial:
        """Make a mistake and return whether it is caught and which names it gets."""
        attempt = self.made.wrong(chapter, exercise, mistake)
        if not attempt.references.hidden:
            attempt.public = lambda: None  # no references, so no search for the wrong line
        results = run_and_score(attempt, exercise)
        caught = not all(result.passed for result in results)
        named = mistakes_of(attempt.exercises[exercise])
        hidden = attempt.references.hidden
        return Trial(exercise, mistake.name, hidden, caught, named, *costs(results))


def costs(results: list[CheckResult]) -> tuple[float, float]:
    """Return the lost share of an exercise, and the share that failed checks alone would cost."""
    earned, most = sums(results)
    passed = sum(result.points for result in results if result.passed)
    return round(1 - earned / most, 6), round(1 - passed / most, 6)


def all_mistakes(project: Project, chapter: str) -> Iterator[tuple[str, Mistake]]:
    """Yield (exercise, mistake) for every known mistake of a chapter."""
    for exercise in project.course.chapter(chapter).exercises:
        yield from ((exercise.name, one) for one in told_apart(project, exercise.name))


def right_attempts(
    made: MadeAttempts, chapter: str, right_answers: Path
) -> Iterator[tuple[str, Attempt, list[str]]]:
    """Yield (name, attempt, exercises in it) for the solution and each unusual right answer."""
    names = [exercise.name for exercise in made.project.course.chapter(chapter).exercises]
    yield "the solution", made.right(chapter), names
    for path in sorted((right_answers / chapter).glob("*.py")):
        source = path.read_text(encoding="utf-8")
        defined = {getattr(node, "name", None) for node in ast.parse(source).body}
        yield path.stem, made.attempt(chapter, source), [name for name in names if name in defined]


SIDES = {True: "hidden cases", False: "public cases"}


def prices(project: Project) -> list[Trial]:
    """Return the trials of all known mistakes on hidden cases, with chapters in parallel."""
    names = [chapter.name for chapter in reversed(project.course.chapters)]
    with side_by_side(None, warnings.simplefilter, "ignore") as pool:
        jobs = [pool.submit(chapter_prices, str(project.root), name) for name in names]
        return [trial for job in reversed(jobs) for trial in job.result()]


def chapter_prices(root: str, chapter: str) -> list[Trial]:
    """Return the trials of one chapter's known mistakes on hidden cases, run on one thread."""
    torch.set_num_threads(1)
    project = Project(Path(root))
    bench = Bench(project, project.graders)
    return [bench.try_out(chapter, *one) for one in all_mistakes(project, chapter)]


def price_table(trials: list[Trial]) -> str:
    """Return a table of each mistake's deduction in percent of its exercise, with a summary.

    Each exercise lists its largest deductions first.
    """
    lines = [f"{'exercise':<28} {'mistake':<34} {'costs':>6} {'checks alone':>13}"]
    for t in sorted(trials, key=lambda t: (t.exercise, -t.cost, t.mistake)):
        lines.append(f"{t.exercise:<28} {t.mistake:<34} {t.cost:>6.0%} {t.by_checks:>13.0%}")
    for what, shares in (
        ("costs", [t.cost for t in trials]),
        ("checks alone", [t.by_checks for t in trials]),
    ):
        low = sum(share < LEAST - 1e-6 for share in shares)
        high = sum(share > MOST + 1e-6 for share in shares)
        middle = sorted(shares)[len(shares) // 2]
        lines.append(
            f"{what}: median {middle:.0%}, {low} below {LEAST:.0%}, {high} above {MOST:.0%}"
        )
    return "\n".join(lines)


def report(figures: Figures) -> str:
    """Return all figures, followed by the trials that were not caught or not named correctly."""
    lines = []
    for hidden, side in SIDES.items():
        trials = [trial for trial in figures.trials if trial.hidden is hidden]
        lines += [
            side,
            share("mistakes caught", [t.caught for t in trials]),
            share("mistakes named rightly", [named_rightly(t) for t in trials]),
            "",
        ]
    given = [True] * len(figures.misnamed) + [False] * (figures.right - len(figures.misnamed))
    lines += ["right answers", share("given a mistake's name", given)]
    return "\n".join(lines + figures.misnamed + ["", *unnamed(figures)])


def share(what: str, hits: list[bool]) -> str:
    """Return a line like `  mistakes caught   200 of 200  100.0 %`."""
    percent = 100 * sum(hits) / max(1, len(hits))
    return f"  {what:<30} {sum(hits):>4} of {len(hits):>4}  {percent:5.1f} %"


def unnamed(figures: Figures) -> list[str]:
    """Return one line for each trial that was not caught or not named correctly."""
    lost = [t for t in figures.trials if not (t.caught and named_rightly(t))]
    return [
        f"  {SIDES[t.hidden].split()[0]:<6} {t.exercise}: {t.mistake} → "
        f"{' + '.join(t.named) or 'no name'}" + ("" if t.caught else " (not caught)")
        for t in lost
    ]
