"""Grade one file in a minimal process: no sandbox, no pytest, no names of mistakes.

    python benchmarks/lean.py CHAPTER FILE

This is the cost of an instructor's own short script. It imports torch, runs the same hidden cases
in its own process, and calls the same tests as plain functions. It prints the points.
"""

import sys
from pathlib import Path

import torch

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tensorgrade.attempts.in_process import InProcess  # noqa: E402
from tensorgrade.attempts.maker import AttemptMaker  # noqa: E402
from tensorgrade.attempts.setup import Setup  # noqa: E402
from tensorgrade.grader_files import import_from  # noqa: E402
from tensorgrade.judging.diagnosis import Wrong  # noqa: E402
from tensorgrade.sources.submission import read_source  # noqa: E402


def main(chapter: str, path: Path) -> None:
    torch.set_num_threads(1)
    maker = AttemptMaker(Setup(ROOT / "graders"))
    maker.backend = InProcess
    attempt = maker.attempt_from_source(chapter, read_source(path, 1 << 20))
    attempt.run()
    print(sum(points(attempt, chapter, name) for name in attempt.exercises))


def points(attempt, chapter: str, exercise: str) -> float:
    """Return the points from the tests of an exercise."""
    tests = vars(import_from(ROOT / "graders", f"{chapter}.{exercise}")).items()
    return sum(passed(test, attempt) for name, test in tests if name.startswith("test_"))


def passed(test, attempt) -> float:
    (mark,) = (mark for mark in test.pytestmark if mark.name == "exercise")
    if mark.kwargs.get("learners_only"):
        return 0
    try:
        test(attempt)
    except Wrong:
        return 0
    return mark.kwargs["points"]


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
