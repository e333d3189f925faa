"""The settings of a worker: which tests to run, and where learner code runs."""

from dataclasses import dataclass
from pathlib import Path

from ..course import CourseError

DEVICES = ("cpu", "cuda", "auto")


@dataclass(frozen=True)
class Setup:
    """Settings of a worker. Raises CourseError for an unknown device.

    tests: `exercises/` or `graders/`, whose references say whether they are hidden. isolation:
    `auto` for what the course says, or `none` for no sandbox. device: one of DEVICES. private:
    folders of this run, such as that of the submissions, in which learner code must not read. here:
    True if public cases run in this process, so that a debugger stops in learner code.
    """

    tests: Path
    isolation: str = "auto"
    device: str = "cpu"
    private: tuple[Path, ...] = ()
    here: bool = False

    def __post_init__(self) -> None:
        if self.device not in DEVICES:
            raise CourseError(f"--device must be one of {', '.join(DEVICES)}, not {self.device}")
