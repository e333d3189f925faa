"""The verdict on one exercise of one learner: a row of `results.jsonl`."""

from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from ..exchange.text import LONGEST_MESSAGE, printable, short

MOST_MISTAKES = 20
# In rows: characters of a text in a message's parameters, and entries of a list in them.
LONGEST_PARAMETER, MOST_PARAMETERS = 120, 12


class Status(StrEnum):
    """The status of an exercise. If several apply, `status_of` in pipeline.py decides."""

    KILLED = "killed"
    TIMEOUT = "timeout"
    ERROR = "error"
    NOT_ATTEMPTED = "not_attempted"
    PASSED = "passed"
    PARTIAL = "partial"
    FAILED = "failed"


# Statuses of exercises that could not be graded as usual, whatever the cause.
TROUBLE = (Status.ERROR, Status.TIMEOUT, Status.KILLED)


class Certainty(StrEnum):
    """The certainty of an explanation, from the highest to the lowest."""

    NAMED = "named"  # a known mistake gives the same results
    REPAIRED = "repaired"  # a small edit of that line makes everything right
    PLACED = "placed"  # values diverge from right answers there, or it raises there
    OBSERVED = "observed"  # only that the answer is wrong


def small(value: Any) -> Any:
    """Return a message's parameter, printable and of limited size.

    >>> small({"text": "red \\x1b[31m", "lines": [1, 2]})
    {'text': 'red ?[31m', 'lines': [1, 2]}
    """
    match value:
        case str():
            return printable(value, LONGEST_PARAMETER)
        case list():
            return [small(part) for part in value[:MOST_PARAMETERS]]
        case dict():
            return {name: small(part) for name, part in value.items()}
        case _:
            return value


@dataclass
class Verdict:
    """The verdict on one exercise of one learner: points, status, known mistakes and one sentence.

    message_id and params: the main message and its parameters. line: the place of the fault in the
    submitted file (for a notebook, in its cell). stage: the name of the first wrong value. sure:
    the certainty of the message. group: a name shared by unrecognized wrong answers with the same
    results. code: the learner's text, if there is a group; rows do not contain it.

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
    stage: str | None = None
    sure: Certainty | None = None
    group: str = ""
    code: str = field(default="", repr=False)
    message_id: str = ""
    params: dict = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.message = short(printable(self.message, 2 * LONGEST_MESSAGE))
        self.code = printable(self.code, len(self.code))
        self.mistakes = self.mistakes[:MOST_MISTAKES]
        self.params = {name: small(value) for name, value in self.params.items()}

    def row(self) -> dict:
        """Return the record in the form of `results.jsonl`."""
        row = asdict(self)
        del row["code"]
        return row
