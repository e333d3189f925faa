"""Decide the points of an exercise: by its checks and its known mistakes.

A check passes or fails as a whole, so one mistake can fail most of them. If known mistakes explain
every failure, their deduction replaces the points of the checks (docs/explanation/points.md).

In find-the-bug exercises, checks that the given code passes already earn no points.
"""

import logging
import math
from dataclasses import replace

from ..course import CourseError
from ..exchange.references import Seen
from ..judging.diagnosis import Diagnosis, Finding, Kind
from ..recognition.fingerprints import Names, returns_only_inputs
from .attempt import MOST_CHANGED, Answer
from .recognized import (
    changes_values,
    is_beside,
    is_only_squeezed,
    mistake_sets,
    mistakes,
    print_of,
)
from .results import CheckResult, Judged, Rule, State

ASKS_LITTLE = "The repair is small: the given code is fixed, not rewritten."
LEAST, MOST = 0.1, 0.5  # bounds of the share of an exercise that one known mistake costs
SQUEEZED = 0.25  # share that lost dimensions of size 1 cost, if everything else is right
SMALL = 0.25  # share of a find-the-bug exercise that a small repair earns


def scored(judged: Judged) -> Judged:
    """Return an exercise with the points that each of its checks earns.

    If this fails, which is a fault of the engine, each check earns its own points. For given code
    none earns anything, because the given code may pass it already.
    """
    answer, checks = judged.answer, judged.checks
    try:
        if answer.given_code:
            checks = repaired(answer, checks)
        elif judged.state != State.DONE:
            checks = with_forbidden_deduction(with_deduction(judged))
    except CourseError:
        raise  # the course is at fault, for all learners
    except Exception:
        logging.exception("%s: its checks could not be scored", answer.name)
        checks = without_points(checks) if answer.given_code else checks
    return replace(judged, checks=checks)


def sums(checks: list[CheckResult]) -> tuple[float, float]:
    """Return the points that the checks of an exercise earn, and the points that they are worth."""
    return sum(check.earned for check in checks), sum(check.points for check in checks)


def repaired(answer: Answer, checks: list[CheckResult]) -> list[CheckResult]:
    """Return the checks on given code with the points that each earns.

    A check earns points if the given code fails it and the learner's code passes it. A check that
    the given code passes earns nothing, but costs its points if the learner's code fails it. If all
    checks pass, each earns the same share of its points, and a small repair earns the rest.
    """
    _, most = sums(checks)
    if all(check.passed for check in checks):
        share = 0.0 if answer.is_as_given else 1 - SMALL
        done = [with_points(check, share * check.points, Rule.REPAIR) for check in checks]
        return [*done, small_repair_check(answer, SMALL * most)]
    if answer.is_as_given:
        return without_points(checks)
    # Above 0 for checks that the learner fixed, below 0 for checks that the learner broke.
    gains = [check.points * (check.passed - check.given) for check in checks]
    untouched = sum(check.points for check in checks if not check.given)
    share = (1 - SMALL) * most / untouched if untouched and sum(gains) > 0 else 0.0
    # + 0.0 turns -0.0 into 0.0.
    return [
        with_points(check, one * share + 0.0, Rule.REPAIR)
        for check, one in zip(checks, gains, strict=True)
    ]


def with_points(check: CheckResult, points: float, rule: Rule) -> CheckResult:
    """Return a check that earns these points instead of its own. rule: the reason."""
    return replace(check, earned_points=points, rule=rule)


def without_points(checks: list[CheckResult]) -> list[CheckResult]:
    """Return the checks with 0 points each: the given code is unchanged or cannot be judged."""
    return [with_points(check, 0.0, Rule.REPAIR) for check in checks]


def small_repair_check(answer: Answer, worth: float) -> CheckResult:
    """Return the check that a repair is small. A process that runs no code counts the changes."""
    if not answer.is_rewritten:
        return CheckResult(answer.name, 0.0, True, ASKS_LITTLE, earned_points=worth, of_size=True)
    changed = answer.attempt.facts.changes.get(answer.name)
    said = "it is right, but it could not be compared with the given code"
    if changed is not None:
        said = (
            f"it is right, but it is rewritten: {changed} names, numbers and calls differ from the "
            f"given code, and at most {MOST_CHANGED} may. Go back to the given code and fix only "
            "its mistake"
        )
    finding = Finding(ASKS_LITTLE, Diagnosis(Kind.FACT, said))
    return CheckResult(answer.name, 0.0, False, ASKS_LITTLE, finding, 0.0, of_size=True)


def with_deduction(judged: Judged) -> list[CheckResult]:
    """Return the checks with a deduction, if known mistakes or lost dimensions explain the values.

    If several sets of mistakes explain them, the cheapest one counts. Checks that fail by another
    fact lose their points besides.
    """
    answer, checks = judged.answer, judged.checks
    if judged.excused_by or judged.state != State.WRONG:
        return checks
    if not mistakes(answer) and is_only_squeezed(answer):
        earned, most = sums([check for check in checks if not is_beside(answer, check, ())])
        cost = min(SQUEEZED, 1 - earned / most) if most else 0.0
        return shared_out(answer, checks, (), cost, Rule.LOST_DIMENSIONS)
    deducted = [
        shared_out(answer, checks, names, deduction(judged, names), Rule.MISTAKE)
        for names in mistake_sets(answer)
    ]
    return max(deducted, key=lambda scored: sums(scored)[0], default=marked(answer, checks))


def shared_out(
    answer: Answer, checks: list[CheckResult], names: Names, cost: float, rule: Rule
) -> list[CheckResult]:
    """Return the checks if these mistakes cost a share of the exercise.

    A check that fails beside them costs its points. All others earn the same share of theirs.
    """
    told = marked(answer, checks, names)
    beside = {check.asks for check in told if is_beside(answer, check, names)}
    worth = sum(check.points for check in checks)
    rest = sum(check.points for check in checks if check.asks not in beside)
    share = max(0.0, (1 - cost) * worth - (worth - rest)) / (rest or 1.0)
    return [
        with_points(check, 0.0 if check.asks in beside else check.points * share, rule)
        for check in told
    ]


def marked(answer: Answer, checks: list[CheckResult], names: Names = ()) -> list[CheckResult]:
    """Return the checks; those that fail by a fact beside something dearer are told after it."""
    beside = [check for check in checks if is_beside(answer, check, names)]
    failed = sum(check.points for check in checks if not check.passed)
    if 2 * sum(check.points for check in beside) >= failed:
        return checks
    return [replace(one, beside=True) if one in beside else one for one in checks]


def deduction(judged: Judged, names: Names) -> float:
    """Return the share of an exercise that these mistakes cost together.

    Each of several mistakes in values costs its share of the points that the others leave; known
    facts beside them are added. Mistakes inherited from an earlier exercise are deducted only
    there.
    """
    answer, own = judged.answer, (name for name in names if name not in judged.inherited)
    shares = {name: deduction_for(answer, name) for name in own}
    left = math.prod(1 - share for name, share in shares.items() if changes_values(answer, name))
    facts = sum(share for name, share in shares.items() if not changes_values(answer, name))
    return min(1.0, 1 - left + facts)


def deduction_for(answer: Answer, mistake: str) -> float:
    """Return the deduction for one mistake: the course's, or else what its checks take alone.

    At most MOST, and for a mistake in values at least LEAST. One costs everything if the answer
    returns its input unchanged, because that computes nothing, or if no object of the class could
    be created, because then nothing else ran. The course's own deduction comes first.
    """
    prices = answer.attempt.side.fingerprints.prices.get(answer.name, {})
    if mistake in prices:
        return prices[mistake]
    if returns_only_inputs(answer.claimed) or never_made(answer.claimed):
        return 1.0
    least = LEAST if changes_values(answer, mistake) else 0.0
    return min(MOST, max(least, print_of(answer, mistake).share))


def never_made(seen: list[Seen]) -> bool:
    """Return True if every case ends in an error when the object is created."""
    errors = [one.observed.error for one in seen]
    return all(error is not None and error.verb == "construct" for error in errors)


def with_forbidden_deduction(checks: list[CheckResult]) -> list[CheckResult]:
    """Return the checks with fewer points if a diagnosis has a `share` of the exercise to lose."""
    earned, most = sums(checks)
    lost = max((check.finding.diagnosis.share for check in checks if check.finding), default=0.0)
    left = (1 - lost) * most
    if earned <= left:
        return checks
    return [with_points(check, check.earned * left / earned, Rule.FORBIDDEN) for check in checks]
