"""Explain the verdict on an exercise: one message, and the line of the fault.

Each explainer returns an explanation, or None if it has nothing to say. The first answer counts.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from ..exchange.observation import Outcome
from ..exchange.text import LONGEST_MESSAGE, sentence, sentences, whole
from ..judging.diagnosis import Finding
from ..judging.errors import ended
from .attempt import ExerciseAttempt
from .lab import OUT_OF_TIME
from .recognized import mistakes
from .results import CheckResult, first_failure
from .verdict import Status
from .where import where_mistakes_are

SHORTEST = 90  # the fewest characters that a long place to look at leaves to the problem


@dataclass(frozen=True)
class Explanation:
    """The reason for an exercise's status, in sentences.

    id: the name of what it says. line: of the fault in the submitted file, if known; in a notebook,
    counted within its cell.
    """

    message: str
    id: str
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

    def seen(self, line: int | None = None, then: str = "") -> Explanation:
        """Return the finding of the failed check.

        then: sentences on a place to look at, for which the finding leaves room.
        """
        assert self.first and self.first.finding, "asked only if a check failed"
        finding, said = self.first.finding, self.first.finding.message
        if then:
            said = f"{whole(said, max(SHORTEST, LONGEST_MESSAGE - len(then) - 1))} {then}"
        problem = "known_mistake" if finding.mistakes else finding.diagnosis.name
        return Explanation(said, problem, self.in_cell(line))

    def line(self) -> int | None:
        """Return the line of the fault; None if it is not known.

        A fault that the text shows comes first, then the first wrong value, then the error's line.
        """
        if self.status in (Status.KILLED, Status.NOT_ATTEMPTED) or not self.finding:
            return None
        if self.finding.fact_line:
            return self.finding.fact_line
        if (found := self.finding.find_where()) and found.line:
            return found.line
        error = self.finding.diagnosis.error
        return self.finding.diagnosis.line or (self.part.line_of(error) if error else None)

    def in_cell(self, line: int | None) -> int | None:
        """Return a line of the file; in a notebook, within its cell."""
        return line and self.part.attempt.source.line_in_cell(line)


def explain(evidence: Evidence) -> Explanation:
    """Return the answer of the first explainer that has one."""
    answers = (explainer(evidence) for explainer in EXPLAINERS)
    return next(answer for answer in answers if answer is not None)


def right(evidence: Evidence) -> Explanation | None:
    """Say that the exercise is right, and name a called earlier exercise that is not."""
    if evidence.status != Status.PASSED:
        return None
    earlier = evidence.part.noted if evidence.part.excused_by else None
    return Explanation(f"Right; {earlier.said}." if earlier else "Right.", "right")


def ended_early(evidence: Evidence) -> Explanation | None:
    """Say how a run ended without all results, and on which line the time ran out."""
    part, status = evidence.part, evidence.status
    if status not in (Status.KILLED, Status.TIMEOUT):
        return None
    if any(seen.observed is OUT_OF_TIME for seen in part.seen):
        seconds = part.attempt.course.limits.handin_seconds
        said = (
            f"The time limit of {seconds:g} seconds for the whole chapter was reached before this "
            "exercise was finished. Which call takes so long?"
        )
        return Explanation(said, "over_time")
    end = next(seen.observed for seen in part.seen if seen.observed.status == Outcome(status))
    line = end.error.line if end.error and status == Status.TIMEOUT else None
    message = sentence(ended(end.status, end.error, part.attempt.place))
    return Explanation(message, str(status), evidence.in_cell(line))


def not_checked(evidence: Evidence) -> Explanation | None:
    """Say why nothing was checked: the file could not be read, or a check is broken itself."""
    if evidence.part.attempt.loaded.status == Outcome.UNREADABLE:
        return Explanation(sentence(evidence.part.attempt.loaded.reason), "error")
    if evidence.finding is None:
        return Explanation("It could not be checked.", "not_checked")
    return None


def earlier_exercise(evidence: Evidence) -> Explanation | None:
    """Name the wrong earlier exercise. There is no line, because this exercise itself is right."""
    return evidence.seen() if evidence.part.excused_by else None


def known_mistake(evidence: Evidence) -> Explanation | None:
    """Name the known mistakes that the results match."""
    if not mistakes(evidence.part):
        return None
    found = where_mistakes_are(evidence.part)
    return evidence.seen(found.line if found else line_that_failed(evidence))


def line_that_failed(evidence: Evidence) -> int | None:
    """Return the line of a fault in the text, a change in place or an error in `__init__`."""
    finding = evidence.finding
    if finding is None:
        return None
    diagnosis = finding.diagnosis
    if diagnosis.error and diagnosis.error.verb == "construct":
        return evidence.part.line_of(diagnosis.error)
    return diagnosis.line if diagnosis.id == "changes_input" else finding.fact_line


def not_started(evidence: Evidence) -> Explanation | None:
    """Say that the exercise is not written yet, or name the exercise that it waits for."""
    if evidence.status != Status.NOT_ATTEMPTED:
        return None
    diagnosis = evidence.finding.diagnosis if evidence.finding else None
    still = diagnosis and diagnosis.id == "still_raises"
    return evidence.seen(diagnosis.line if diagnosis and still else None)


def first_wrong_value(evidence: Evidence) -> Explanation:
    """Report the finding and, if it is known, where values first differ from right ones.

    If the finding has a fault that the text shows, wrong values are only its consequence.
    """
    finding = evidence.finding
    found = finding.find_where() if finding and not finding.fact_line else None
    then = sentences(found.said if found else "", other_version(evidence.part, evidence.status))
    return evidence.seen(evidence.line(), then)


def other_version(part: ExerciseAttempt, status: Status) -> str:
    """Return a clause if the exercise fails and the file defines, for example, `NAME_v2` too."""
    names = (name for _, _, names in part.attempt.definitions for name in names)
    is_version = re.compile(rf"{re.escape(part.name)}_?v?\d+").fullmatch
    others = [name for name in names if is_version(name) and name not in part.attempt.exercises]
    if status not in (Status.FAILED, Status.ERROR) or not others:
        return ""
    return f"the file also defines `{others[-1]}`, but only `{part.name}` is graded"


EXPLAINERS: tuple[Callable[[Evidence], Explanation | None], ...] = (
    right,
    ended_early,
    not_checked,
    earlier_exercise,
    known_mistake,
    not_started,
    first_wrong_value,
)
