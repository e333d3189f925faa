"""Make mistakes by rule, grade them on the hidden cases, and list those that keep all points.

    python benchmarks/mutants.py [EXERCISE …] [--sample 4] [--seed 1]

A mutant is the solution with one small edit (benchmarks/edits.py), drawn for each
exercise. Some of those that keep all points change no result, so read the list: the others are gaps
in the tests. The line of a mutant counts as near if it is at most one line from the edit.
"""

import argparse
import difflib
import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import torch

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from edits import Edit, edits  # noqa: E402

from tensorgrade.attempts.pipeline import verdict_or_points  # noqa: E402
from tensorgrade.attempts.scoring import judged_on  # noqa: E402
from tensorgrade.attempts.setup import Setup  # noqa: E402
from tensorgrade.instructor.grader import Grader  # noqa: E402
from tensorgrade.project import Project  # noqa: E402
from tensorgrade.sources.program import Source  # noqa: E402


@dataclass(frozen=True)
class Graded:
    """A mutant and what its learner gets: points or not, names of mistakes, a line."""

    exercise: str
    change: str
    loses: bool
    named: bool
    near: bool


def drawn(text: str, exercise: str, count: int, seed: int) -> list[Edit]:
    """Draw edits of an exercise in the text of its solution."""
    made = edits(text, exercise)
    return random.Random(f"{exercise} {seed}").sample(made, min(count, len(made)))


def graded(names: list[str], count: int, seed: int) -> Iterator[Graded]:
    """Grade mutants of these exercises, or of all."""
    project = Project(ROOT)
    grader = Grader(Setup(project.graders))
    for chapter in project.course.chapters:
        text = project.solution(chapter.name).read_text(encoding="utf-8")
        for exercise in chapter.exercises:
            asked = not names or exercise.name in names
            for edit in drawn(text, exercise.name, count, seed) if asked else ():
                source = Source(edit.text, f"{chapter.name}.py")
                attempt = grader.maker.attempt_from_source(chapter.name, source)
                (judged,) = judged_on(attempt, [exercise.name]).values()
                found = verdict_or_points("mutant", judged)
                attempt.lab.close()
                yield Graded(
                    exercise.name,
                    change(text, edit.text),
                    loses=found.points < found.max_points,
                    named=bool(found.mistakes),
                    near=found.line is not None and abs(found.line - edit.line) <= 1,
                )
    grader.close()


def change(before: str, after: str) -> str:
    """Return the lines that an edit removes and adds."""
    lines = difflib.unified_diff(before.split("\n"), after.split("\n"), lineterm="", n=0)
    return "\n".join(f"    {line}" for line in [*lines][2:])


def main() -> None:
    """Grade the mutants, and print the counts and the list."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("exercises", nargs="*", metavar="EXERCISE")
    parser.add_argument("--sample", type=int, default=4, help="edits for each exercise")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    rows = [*graded(asked.exercises, asked.sample, asked.seed)]
    losing = [row for row in rows if row.loses]
    print(f"{len(losing)} of {len(rows)} mutants lose points")
    print(f"{sum(row.named for row in losing)} of these get a mistake's name")
    print(f"{sum(row.near for row in losing)} of these get a line at most one from the edit")
    for row in rows:
        if not row.loses:
            print(f"keeps all points: {row.exercise}\n{row.change}")


if __name__ == "__main__":
    main()
