"""Count the files and functions of the engine that grading a submission uses.

A profile hook on the trusted side counts them when everything is warm. Comprehensions and lambdas
count with the functions that contain them. There are two submissions for each chapter: the
solution, and one with a mistake in every exercise.

    python benchmarks/functions_per_submission.py            one line for each submission
    python benchmarks/functions_per_submission.py --names    also list the functions, file by file
"""

import argparse
import sys
from collections import defaultdict
from itertools import islice
from pathlib import Path

import torch

from tensorgrade.attempts.setup import Setup
from tensorgrade.author.proofs.sample_class import Choice, assemble
from tensorgrade.instructor import grader as grading
from tensorgrade.project import Project
from tensorgrade.sources.submitted_files import SubmittedFiles

ROOT = Path(__file__).resolve().parents[1]
ENGINE = str(ROOT / "tensorgrade")


class Trace:
    """A record of the engine's functions that are called."""

    def __init__(self) -> None:
        self.functions: dict[str, set[str]] = defaultdict(set)

    def note(self, frame, event: str, argument: object) -> None:
        """Record a call; a profile hook."""
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(ENGINE) and "<" not in code.co_name:
            self.functions[code.co_filename[len(ENGINE) + 1 :]].add(code.co_qualname)


def way_of(grader: grading.Grader, submitted_files: SubmittedFiles) -> dict[str, set[str]]:
    """Return the functions that grading a submission calls, by file."""
    way = Trace()
    sys.setprofile(way.note)
    try:
        grading.grade_with(grader, submitted_files)
    finally:
        sys.setprofile(None)
    return way.functions


def with_mistake(project: Project, exercise: str) -> Choice:
    """Choose the first known mistake in an exercise; none for a find-the-bug exercise."""
    made = (mistake.name for mistake in project.mistakes if exercise in mistake.edits)
    return Choice(exercise, tuple(islice(made, 1)))


def submissions(project: Project, chapter) -> dict[str, SubmittedFiles]:
    """Return a right submission of a chapter, and one with a mistake in every exercise."""
    wrong = [with_mistake(project, exercise.name) for exercise in chapter.exercises]
    texts = {
        "right": project.solution(chapter.name).read_text(encoding="utf-8"),
        "wrong": assemble(project, chapter.name, wrong),
    }
    return {
        kind: SubmittedFiles("somebody", chapter.name, f"{chapter.name}.py", text.encode())
        for kind, text in texts.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--names", action="store_true", help="list the functions")
    names = parser.parse_args().names
    torch.set_num_threads(1)
    project = Project(ROOT)
    grader = grading.Grader(Setup(project.graders))
    grader.start()
    for chapter in project.course.chapters:
        for kind, submitted_files in submissions(project, chapter).items():
            grading.grade_with(grader, submitted_files)  # work of the first run does not count
            way = way_of(grader, submitted_files)
            count = sum(map(len, way.values()))
            print(f"{chapter.name:<28}{kind:<7}{len(way):>3} files {count:>4} functions")
            if names:
                print(
                    *(f"    {file}: {', '.join(sorted(way[file]))}" for file in sorted(way)),
                    sep="\n",
                )
    grader.close()


if __name__ == "__main__":
    main()
