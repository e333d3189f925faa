"""What every worker is told: which tests, and how learner code runs for them."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .answers import answer_paths

BESIDE_TESTS = (
    "solutions",
    "source",
    "course_config.py",
    "gradebook.db",
    "submitted",
    "autograded",
)


@dataclass(frozen=True)
class Setup:
    """Which tests, and where learner code runs for them.

    tests: `exercises/` or `graders/`, whose references say whether they are hidden. isolation:
    `auto` or `none`. device: `cpu`, `cuda` or `auto`.
    """

    tests: Path
    isolation: str = "auto"
    device: str = "cpu"

    def private(self) -> Iterator[Path]:
        """Yield what of a course no learner may see: what has a name, and every other answer."""
        root = self.tests.resolve().parent
        named = [self.tests, *(root / name for name in BESIDE_TESTS)]
        yield from named
        yield from (path for path in answer_paths(root) if path not in named)
