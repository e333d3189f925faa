"""How the checks on an exercise ended, and what that means for its learner."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from ..judging.diagnosis import LEAST_TELLING, Finding, telling


class About(StrEnum):
    """What a check judges."""

    ANSWER = "answer"
    NAMES = "names"  # the learner's names and order of parameters
    REPAIR_SIZE = "size of the repair"  # in a find-the-bug exercise


@dataclass
class CheckResult:
    """How one check of an exercise ended.

    asks: the check's own line. finding: everything to say if it failed; None for an error of the
    check itself. kept: the points that it earns, if these are neither all of its points nor none.
    given: tells if the code of a find-the-bug exercise passes it unchanged; asked only if points
    depend on it, since that code must run for it.
    """

    exercise: str
    points: float
    passed: bool
    asks: str = ""
    finding: Finding | None = None
    kept: float | None = None
    given: Callable[[], bool] = bool
    about: About = About.ANSWER

    @property
    def earned(self) -> float:
        """The points that it adds to its exercise."""
        return (self.points if self.passed else 0.0) if self.kept is None else self.kept

    @property
    def is_to_do(self) -> bool:
        """True if it failed only because the exercise is not written."""
        return self.finding is not None and self.finding.is_to_do


class State(StrEnum):
    """How far a learner is with an exercise."""

    DONE = "done"
    WRONG = "wrong"
    TO_DO = "to do"


def state_of(results: list[CheckResult]) -> State:
    """Return how far an exercise is: `to do` if every failed check is."""
    failed = [result for result in results if not result.passed]
    if not failed:
        return State.DONE
    return State.TO_DO if all(result.is_to_do for result in failed) else State.WRONG


def first_failure(results: list[CheckResult]) -> CheckResult | None:
    """Return the check to look at first: the most telling one that found something wrong.

    If there is none, one that is to do.
    """
    failed = [result for result in results if not result.passed]
    wrong = [result for result in failed if not result.is_to_do]
    return min(wrong, key=how_telling, default=next(iter(failed), None))


def how_telling(result: CheckResult) -> int:
    """Return a sort key for failed checks, the most telling first; names come last.

    A known mistake says what is wrong itself, whichever check it fails.
    """
    if result.about == About.NAMES:
        return LEAST_TELLING
    little = telling(result.finding.diagnosis) if result.finding else 0
    named = result.finding is not None and bool(result.finding.mistakes)
    return 0 if named and little < LEAST_TELLING else little


def is_wrong(results: list[CheckResult]) -> bool:
    """Return True unless everything that failed is to do, or something a right answer may lack.

    A right answer may differ in names, and a repair may change more than needed.
    """
    failed = [result for result in results if not result.passed]
    right = failed and all(result.about != About.ANSWER for result in failed)
    first = first_failure(results)
    return not right and not (first and first.is_to_do)
