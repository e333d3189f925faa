"""The state and the points of an exercise, in the same words in every view."""

import re
from dataclasses import dataclass
from functools import cached_property

from ..attempts.results import CheckResult, Rule, State, first_failure, state_of, sums
from ..course import Exercise
from .note import Note
from .words import in_tenths, plural

NOT_WRITTEN = re.compile(r"^[ \t]+raise NotImplementedError\b", re.M)
MARKS = {State.DONE: "✓", State.WRONG: "✗", State.TO_DO: "○"}


@dataclass(frozen=True)
class Checked:
    """An exercise with the results of its checks.

    path, line: its place, as for a note. code: the learner's own definition.
    """

    exercise: Exercise
    results: list[CheckResult]
    path: str = ""
    line: int | None = None
    code: str = ""

    @property
    def place(self) -> str:
        """The place such as `exercises/ch1_x.py:12`; without a line if the name is not found."""
        return f"{self.path}:{self.line}" if self.line else self.path

    @property
    def state(self) -> State:
        """The state of the exercise."""
        return state_of(self.results)

    @property
    def mark(self) -> str:
        """The mark for the state; a circle if the exercise waits for an earlier one."""
        return MARKS[State.TO_DO if self.waits_for else self.state]

    @property
    def standing(self) -> str:
        """The state in words: `done`, `wrong` and so on."""
        return f"right, but waits for `{self.waits_for}`" if self.waits_for else str(self.state)

    @property
    def waits_for(self) -> str:
        """The earlier exercise that is the only reason for failed checks, or ""."""
        return next((one.finding.blames for one in self.results if one.finding), "")

    @cached_property
    def note(self) -> Note | None:
        """The note on the first failure; None if all checks passed."""
        first = first_failure(self.results)
        return Note(first.finding, self.path, self.line) if first else None

    @property
    def line_to_edit(self) -> int:
        """The line to open: the wrong one, the one to replace, or the first of the exercise."""
        if self.note and self.state == State.WRONG:
            return self.note.line or 1
        to_write = NOT_WRITTEN.search(self.code)
        return (self.line or 1) + self.code.count("\n", 0, to_write.end() if to_write else 0)

    @property
    def points(self) -> float:
        """The points that the checks earn."""
        return earned(self.results)

    @property
    def sums(self) -> str:
        """The points, such as `2.5 of 5 points`."""
        return f"{in_tenths(self.points)} of {self.exercise.points:g} points"

    @property
    def came_about(self) -> str:
        """A line on how the points came about."""
        return how_earned(self.results, self.exercise.points)


def earned(*exercises: list[CheckResult]) -> float:
    """Return the points that the checks of exercises earn, without errors of rounding."""
    return round(sum(sums(checks)[0] for checks in exercises), 6)


# Why points differ from those of the passed checks.
REASONS = {
    Rule.MISTAKE: "known mistake",
    Rule.FORBIDDEN: "a forbidden call",
    Rule.SIZES_OF_ONE: "dimensions of size 1 lost or added",
    Rule.EARLIER: "only an earlier exercise is wrong",
    Rule.REPAIR: "checks that the given code passes earn nothing",
}


def how_earned(checks: list[CheckResult], most: float) -> str:
    """Return how the points of an exercise came about. most: the exercise's points.

    For example: `2 of 4 checks passed; known mistake: −2.5`.

    >>> how_earned([CheckResult(2, passed=True)], most=2)
    '1 of 1 check passed'
    """
    answers = [check for check in checks if not check.of_size]
    failed = [check for check in answers if not check.passed]
    costs = most - float(in_tenths(earned(answers)))  # so that the printed numbers add up
    lost = f": −{in_tenths(costs)}" if costs else ""
    told = [f"{len(answers) - len(failed)} of {plural(len(answers), 'check')} passed"]
    if failed and (reason := reason_in(answers)):
        told.append(f"{reason}{lost}")
    if any(check.of_size and not check.passed for check in checks):
        told.append(f"more changed than needed{lost}")
    return "; ".join(told)


def reason_in(answers: list[CheckResult]) -> str:
    """Return the reason if failed checks do not cost exactly their own points; else "".

    It names the forbidden call and its line, if they are known.
    """
    rules = {check.rule for check in answers}
    rule = next((one for one in REASONS if one in rules), None)
    for finding in (check.finding for check in answers if rule == Rule.FORBIDDEN):
        if finding and finding.diagnosis.call and finding.diagnosis.line:
            place = finding.place(finding.diagnosis.line)
            return f"a forbidden call ({finding.diagnosis.call}, {place})"
    return REASONS[rule] if rule else ""
