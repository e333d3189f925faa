"""The settings of a worker: which tests to run, and where learner code runs."""

from dataclasses import dataclass
from pathlib import Path

DEVICES = ("cpu", "cuda", "auto")


@dataclass(frozen=True)
class Setup:
    """Settings of a worker.

    tests: `exercises/` or `graders/`, whose references say whether they are hidden. isolation:
    `auto` for what the course says, or `none` for no sandbox. device: `cpu`, `cuda` or `auto`.
    private: folders of this run, such as that of the submissions, in which learner code must not
    read. here: True if public cases run in this process, so that a debugger stops in learner code.
    """

    tests: Path
    isolation: str = "auto"
    device: str = "cpu"
    private: tuple[Path, ...] = ()
    here: bool = False
