"""What every worker is told: which tests, and how learner code runs for them."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Setup:
    """Which tests, and where learner code runs for them.

    tests: `exercises/` or `graders/`, whose references say whether they are hidden. isolation:
    `auto` or `none`. device: `cpu`, `cuda` or `auto`.
    """

    tests: Path
    isolation: str = "auto"
    device: str = "cpu"
