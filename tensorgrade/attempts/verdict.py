"""The verdict on one exercise of one learner: a row of `results.jsonl`."""

from dataclasses import asdict, dataclass, field
from enum import StrEnum

from ..exchange.text import LONGEST_MESSAGE, printable, whole

MOST_MISTAKES = 20


class Status(StrEnum):
    """The status of an exercise. If several apply, `status_of` in pipeline.py decides."""

    KILLED = "killed"
    TIMEOUT = "timeout"
    ERROR = "error"
    NOT_ATTEMPTED = "not_attempted"
    PASSED = "passed"
    PARTIAL = "partial"
    FAILED = "failed"


# The reasons in rows of files that were not graded, by name.
NOTHING_SUBMITTED, NO_FILE, UNREADABLE = "nothing_submitted", "no_chapter_file", "file_unreadable"
WORKER_ENDED, GRADING_FAILED = "worker_ended", "grading_failed"
# The graders failed on these files. Each reason has its message; the next run grades them again.
GRADERS_FAILED = {
    WORKER_ENDED: "grading this file ended the grading process itself; your instructor has to look "
    "at it",
    GRADING_FAILED: "grading this file failed, which is not your fault; your instructor has to "
    "look at it",
}
# Statuses of exercises that could not be graded as usual, whatever the cause.
TROUBLE = (Status.ERROR, Status.TIMEOUT, Status.KILLED)


@dataclass
class Verdict:
    """The verdict on one exercise of one learner: points, status, known mistakes and one sentence.

    line: the place of the fault in the submitted file (for a notebook, in its cell). group: a name
    shared by unrecognized wrong answers with the same results. message_id: the reason why a file
    was not graded. code: the learner's text, if there is a group; rows do not contain it.

    All texts have a limited size, because learner code controls some of them.
    """

    student: str
    chapter: str
    exercise: str
    points: float
    max_points: float
    status: Status
    mistakes: list[str] = field(default_factory=list)
    message: str = ""
    isolation: str = "none"
    line: int | None = None
    group: str = ""
    code: str = field(default="", repr=False)
    message_id: str = ""

    def __post_init__(self) -> None:
        self.message = whole(printable(self.message, 2 * LONGEST_MESSAGE))
        self.code = printable(self.code, len(self.code))
        self.mistakes = self.mistakes[:MOST_MISTAKES]

    def row(self) -> dict:
        """Return the record in the form of `results.jsonl`."""
        row = asdict(self)
        del row["code"]
        return row
