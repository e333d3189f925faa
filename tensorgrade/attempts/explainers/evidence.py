"""The input and the output of explainers."""

from dataclasses import dataclass

from ...judging.diagnosis import Finding
from ...messages.message import Message
from ..attempt import ExerciseAttempt
from ..recognized import mistakes
from ..results import CheckResult, first_failure
from ..verdict import Status


@dataclass(frozen=True)
class Explanation:
    """The reason for an exercise's status.

    line: of the fault in the submitted file, if known; in a notebook, counted within its cell.
    """

    message: Message
    line: int | None = None


@dataclass(frozen=True)
class Evidence:
    """The facts about one exercise of one submission.

    checks: the results of the checks, as a learner may see them.
    """

    part: ExerciseAttempt
    status: Status
    checks: list[CheckResult]

    @property
    def first(self) -> CheckResult | None:
        """The failed check to report, if any."""
        return first_failure(self.checks)

    @property
    def finding(self) -> Finding | None:
        """The finding of that check; None if no check failed, or if the check itself is broken."""
        return self.first.finding if self.first else None

    @property
    def mistakes(self) -> tuple[str, ...]:
        """The recognized mistakes."""
        return mistakes(self.part)

    def seen(self) -> Message:
        """Return the finding of the failed check."""
        assert self.first and self.first.finding, "asked only if a check failed"
        return self.first.finding.message

    def line(self) -> int | None:
        """Return the line of the fault; None if it is not known.

        A fault that the text shows comes first, then the first wrong value, then the error's line.
        """
        if self.status in (Status.KILLED, Status.NOT_ATTEMPTED) or not self.finding:
            return None
        if self.finding.fact_line:
            return self.in_cell(self.finding.fact_line)
        if (found := self.finding.find_where()) and found.line:
            return self.in_cell(found.line)
        diagnosis = self.finding.diagnosis
        error = diagnosis.error
        return self.in_cell(diagnosis.line or (self.part.line_of(error) if error else None))

    def in_cell(self, line: int | None) -> int | None:
        """Return a line of the file; in a notebook, within its cell."""
        return line and self.part.attempt.source.line_in_cell(line)
