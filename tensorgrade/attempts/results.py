"""The results of the checks on an exercise, and the learner's progress that they show."""

from dataclasses import dataclass
from enum import Enum, StrEnum, auto

from ..judging.diagnosis import Earlier, Finding
from .attempt import Answer


class Rule(Enum):
    """The reason why a check does not earn exactly its own points (docs/explanation/points.md)."""

    MISTAKE = auto()  # known mistakes have their own deduction
    SIZES_OF_ONE = auto()  # dimensions of size 1 are lost or added, all else is right
    FORBIDDEN = auto()  # something that the exercise rules out costs a share of it
    EARLIER = auto()  # only an earlier exercise is wrong
    REPAIR = auto()  # given code: only what was fixed counts


@dataclass(frozen=True)
class CheckResult:
    """The result of one check.

    asks: the check's description. finding: everything to say if it failed; None if it passed, or
    for an error of the check itself. earned_points: None means all of its points if it passed,
    otherwise none. rule: the reason for other points. given: True if the unchanged given code of a
    find-the-bug exercise passes the check. of_size: True for the check on the size of
    a repair. beside: True for a failure by a fact beside a dearer mistake.
    """

    points: float
    passed: bool
    asks: str = ""
    finding: Finding | None = None
    earned_points: float | None = None
    rule: Rule | None = None
    given: bool = False
    of_size: bool = False
    beside: bool = False

    @property
    def earned(self) -> float:
        """The points that the check adds to its exercise."""
        if self.earned_points is not None:
            return self.earned_points
        return self.points if self.passed else 0.0

    @property
    def is_to_do(self) -> bool:
        """True if the check failed only because the exercise is not written."""
        return self.finding is not None and self.finding.is_to_do


Results = dict[str, list[CheckResult]]  # by exercise


class State(StrEnum):
    """A learner's progress with an exercise."""

    DONE = "done"
    WRONG = "wrong"
    TO_DO = "to do"


def state_of(results: list[CheckResult]) -> State:
    """Return a learner's progress: `to do` if checks fail only because nothing is written."""
    failed = [result for result in results if not result.passed]
    if not failed:
        return State.DONE
    return State.TO_DO if all(result.is_to_do for result in failed) else State.WRONG


@dataclass(frozen=True)
class Judged:
    """An answer with the results of its checks.

    earlier: a wrong earlier exercise that it calls. excused_by: the name of the one that is the
    only cause of its errors. inherited: the mistakes of earlier ones, which cost nothing here.
    """

    answer: Answer
    checks: list[CheckResult]
    earlier: Earlier | None = None
    excused_by: str = ""
    inherited: frozenset[str] = frozenset()

    @property
    def state(self) -> State:
        """The learner's progress with the exercise."""
        return state_of(self.checks)


def sums(checks: list[CheckResult]) -> tuple[float, float]:
    """Return the points that the checks of an exercise earn, and the points that they are worth."""
    return sum(check.earned for check in checks), sum(check.points for check in checks)


def first_failure(results: list[CheckResult]) -> CheckResult | None:
    """Return the failed check to report: the most informative one that found something wrong.

    Facts beside a dearer mistake come last. If checks failed only because the exercise is not
    written, return the first of them. Return None if all passed.
    """
    failed = [result for result in results if not result.passed]
    wrong = [result for result in failed if not result.is_to_do]

    def key(one: CheckResult) -> tuple[bool, int]:
        return one.beside, one.finding.telling if one.finding else 0

    return min(wrong, key=key, default=next(iter(failed), None))


def is_wrong(results: list[CheckResult]) -> bool:
    """Return True unless the exercise is unwritten, or only its repair is too large.

    Callers ask only about exercises without full points.
    """
    failed = [result for result in results if not result.passed]
    right = failed and all(result.of_size for result in failed)
    first = first_failure(results)
    return not right and not (first and first.is_to_do)
