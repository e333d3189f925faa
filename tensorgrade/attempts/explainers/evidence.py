"""The input and the output of explainers."""

from dataclasses import dataclass

from ...judging.diagnosis import Finding
from ...judging.divergence import Divergence
from ...messages.message import Message, Sentences
from ...runner.edits import Edit
from ..attempt import ExerciseAttempt
from ..public_side import names_to_report
from ..recognized import mistakes
from ..redaction import line_of_timeout
from ..repair import repair
from ..results import CheckResult, Topic, first_failure
from ..verdict import Certainty, Status


@dataclass(frozen=True)
class Explanation:
    """The reason for an exercise's status.

    line: of the fault in the submitted file, if known; in a notebook, counted within its cell.
    stage: the name of the first wrong value, if known. sure: the certainty, if it can be stated.
    """

    message: Message
    line: int | None = None
    stage: str | None = None
    sure: Certainty | None = None


@dataclass(frozen=True)
class Evidence:
    """The facts about one exercise of one submission.

    checks: the results of the checks, redacted if these are on hidden cases.
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

    @property
    def repair(self) -> Edit | None:
        """A small edit that makes everything right, if no known mistake explains the results."""
        ran = self.status in (Status.PARTIAL, Status.FAILED, Status.ERROR)
        return repair(self.part) if ran and not self.mistakes and not self.part.excused_by else None

    def seen(self) -> Message:
        """Return the finding of the failed check, and the learner's own names if they differ."""
        assert self.first and self.first.finding, "asked only if a check failed"
        names = None if self.first.about == Topic.NAMES else names_to_report(self.part).sentence
        return Sentences((self.first.finding.message, names))

    def place(self) -> tuple[int | None, str | None]:
        """Return (line, stage) of the fault; each is None if it is not known.

        A fault that the text shows comes first, then the first wrong value, then the error's line.
        """
        if self.status in (Status.KILLED, Status.NOT_ATTEMPTED) or not self.finding:
            return None, None
        if self.finding.fact_line:
            return self.place_of(Divergence(self.finding.fact_line))
        if found := self.finding.find_divergence():
            return self.place_of(found)
        diagnosis = self.finding.diagnosis
        error = diagnosis.error
        line = diagnosis.line or (self.part.line_of(error) if error else None)
        return self.place_of(Divergence(line) if line else None)

    def place_of(self, found: Divergence | None) -> tuple[int | None, str | None]:
        """Return the line of a divergence (in a notebook, within its cell) and its stage."""
        if found is None:
            return None, None
        return self.part.attempt.source.line_in_cell(found.line), found.stage or None

    def line_of_timeout(self) -> int | None:
        """Return the line at which the time ran out; None if it is unknown or may not be shown."""
        errors = (seen.observed.error for seen in self.part.seen)
        worth = [check.points for check in self.checks]
        told = line_of_timeout(self.part, worth, next(filter(None, errors), None))
        at = told.line if told else None
        return at and self.part.attempt.source.line_in_cell(at)

    def certainty(self, line: int | None) -> Certainty:
        """Return how certain an explanation with this line is."""
        if self.mistakes:
            return Certainty.NAMED
        return Certainty.OBSERVED if line is None else Certainty.PLACED
