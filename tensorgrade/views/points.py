"""The state and the points of an exercise, in the same words in every view."""

from dataclasses import dataclass
from functools import cached_property

from ..attempts.results import CheckResult, Rule, State, first_failure, state_of
from ..course import Exercise
from .note import Note
from .words import in_tenths, plural

MARKS = {State.DONE: "✓", State.WRONG: "✗", State.TO_DO: "○"}


@dataclass(frozen=True)
class Checked:
    """An exercise with the results of its checks. path, line: its place, as for a note."""

    exercise: Exercise
    results: list[CheckResult]
    path: str = ""
    line: int | None = None

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
        found = [one.finding for one in self.results if one.finding and one.rule == Rule.EARLIER]
        names = (one.earlier.name if one.earlier else one.blames for one in found)
        return next(filter(None, names), "")

    @cached_property
    def note(self) -> Note | None:
        """The note on the first failure; None if all checks passed."""
        first = first_failure(self.results)
        return Note(first.finding, self.path, self.line) if first else None

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


def earned(checks: list[CheckResult]) -> float:
    """Return the points that the checks earn."""
    return round(sum(check.earned for check in checks), 6)


def how_earned(checks: list[CheckResult], most: float) -> str:
    """Return how the points of an exercise came about. most: the exercise's points.

    For example: `2 of 4 checks passed; known mistake: −2.5`.

    >>> how_earned([CheckResult("scale", 2, passed=True)], most=2)
    '1 of 1 check passed'
    """
    answers = [check for check in checks if not check.of_size]
    passed = sum(check.passed for check in answers)
    parts = [f"{passed} of {plural(len(answers), 'check')} passed"]
    if passed < len(answers) and (reason := forbidden_call(answers) or other_rule(answers)):
        costs = most - earned(answers)
        parts.append(f"{reason}: {lost(costs)}" if costs else reason)
    if any(check.of_size and not check.passed for check in checks):
        parts.append(f"more changed than needed: {lost(most - earned(answers))}")
    return "; ".join(parts)


# Why points differ from those of the passed checks. A mistake is counted, so it is not listed.
RULES = {
    Rule.LOST_DIMENSIONS: "dimensions of size 1 lost",
    Rule.FORBIDDEN: "a forbidden call",
    Rule.EARLIER: "only an earlier exercise is wrong",
    Rule.REPAIR: "checks that the given code passes earn nothing",
}


def other_rule(answers: list[CheckResult]) -> str:
    """Return the reason if failed checks do not cost exactly their own points; else ""."""
    rules = {check.rule for check in answers if check.rule}
    if Rule.MISTAKE in rules:
        found = [check.finding.mistakes for check in answers if check.finding]
        return "known mistakes" if any(len(names) > 1 for names in found) else "known mistake"
    return next((words for rule, words in RULES.items() if rule in rules), "")


def forbidden_call(answers: list[CheckResult]) -> str:
    """Return the forbidden call that costs points and its line, if both are known; else ""."""
    found = [one.finding for one in answers if one.finding and one.rule == Rule.FORBIDDEN]
    first = next((one for one in found if one.diagnosis.call and one.line), None)
    if first is None or first.line is None:
        return ""
    return f"a forbidden call ({first.diagnosis.call}, {first.place(first.line)})"


def lost(points: float) -> str:
    """Return points that are lost, such as `−2.5`.

    >>> lost(2.5), lost(0.0)
    ('−2.5', '−0')
    """
    return f"−{in_tenths(points)}"
