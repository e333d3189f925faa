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
from ..recognition.fingerprints import returns_only_inputs
from .attempt import Attempt, ExerciseAttempt
from .checking import check_results
from .given_code import MOST_CHANGED, is_as_given, is_rewritten
from .naming import run
from .recognized import buffer_beside, is_only_squeezed, mistake_sets, mistakes
from .results import CheckResult, Rule, State, Topic, state_of

ASKS_LITTLE = "The repair is small: the given code is fixed, not rewritten."
LEAST, MOST = 0.1, 0.5  # bounds of the share of an exercise that one known mistake costs
SQUEEZED = 0.25  # share that lost dimensions of size 1 cost, if everything else is right
SMALL = 0.25  # share of a find-the-bug exercise that a small repair earns


def scored(part: ExerciseAttempt, checks: list[CheckResult]) -> list[CheckResult]:
    """Return the checks on an exercise with the points that each earns.

    If this fails, which is a fault of the engine, each check earns its own points. For given code
    none earns anything, because the given code may pass it already.
    """
    if not part.seen:
        return checks
    try:
        if part.given_code:
            return repaired(part, checks)
        if all(check.passed for check in checks):
            return checks
        return with_forbidden_deduction(with_deduction(part, checks))
    except CourseError:
        raise  # the course is at fault, for all learners
    except Exception:
        logging.exception("%s: its checks could not be scored", part.name)
        return without_points(checks) if part.given_code else checks


def sums(checks: list[CheckResult]) -> tuple[float, float]:
    """Return the points that the checks of an exercise earn, and the points that they are worth."""
    return sum(check.earned for check in checks), sum(check.points for check in checks)


def repaired(part: ExerciseAttempt, checks: list[CheckResult]) -> list[CheckResult]:
    """Return the checks on given code with the points that each earns.

    A check earns points if the given code fails it and the learner's code passes it. A check that
    the given code passes earns nothing, but costs its points if the learner's code fails it. If all
    checks pass, each earns the same share of its points, and a small repair earns the rest.
    """
    _, most = sums(checks)
    if all(check.passed for check in checks):
        share = 0.0 if is_as_given(part) else 1 - SMALL
        done = [with_points(check, share * check.points, Rule.REPAIR) for check in checks]
        return [*done, small_repair_check(part, SMALL * most)]
    if is_as_given(part):
        return without_points(checks)
    # Above 0 for checks that the learner fixed, below 0 for checks that the learner broke.
    gains = [check.points * (check.passed - check.given()) for check in checks]
    untouched = sum(check.points for check in checks if not check.given())
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


def small_repair_check(part: ExerciseAttempt, worth: float) -> CheckResult:
    """Return the check that a repair is small. A process that runs no code counts the changes."""
    if not is_rewritten(part):
        about = Topic.REPAIR_SIZE
        return CheckResult(part.name, 0.0, True, ASKS_LITTLE, earned_points=worth, about=about)
    changed = part.attempt.facts.changes.get(part.name)
    said = "it is right, but it could not be compared with the given code"
    if changed is not None:
        said = (
            f"it is right, but it is rewritten: {changed} names, numbers and calls differ from the "
            f"given code, and at most {MOST_CHANGED} may. Go back to the given code and fix only "
            "its mistake"
        )
    finding = Finding(ASKS_LITTLE, Diagnosis(Kind.FACT, said))
    about = Topic.REPAIR_SIZE
    return CheckResult(part.name, 0.0, False, ASKS_LITTLE, finding, 0.0, about=about)


def with_deduction(part: ExerciseAttempt, checks: list[CheckResult]) -> list[CheckResult]:
    """Return the checks with a deduction, if known mistakes or lost dimensions explain everything.

    If several sets of mistakes explain it, the cheapest one counts. Each check earns the same
    share, except those that failed on cases which fingerprints ignore. They lose all their points,
    but do not raise the deduction.
    """
    if part.excused_by or state_of(checks) != State.WRONG:
        return checks
    earned, most = sums([check for check in checks if is_explained(part, check)])
    if not most:  # asked first, because fingerprints take a while to read
        return checks
    taken = 1 - earned / most
    if not mistakes(part) and is_only_squeezed(part):
        cost, rule = min(taken, SQUEEZED), Rule.LOST_DIMENSIONS
    elif sets := mistake_sets(part):
        cost, rule = min(deduction(part, names, taken) for names in sets), Rule.MISTAKE
    else:
        return checks
    return [
        with_points(check, check.points * (1 - cost) if is_explained(part, check) else 0.0, rule)
        for check in checks
    ]


def is_explained(part: ExerciseAttempt, check: CheckResult) -> bool:
    """Return True if a check passed, or failed on a case that fingerprints do not ignore.

    A buffer that is missing beside a known mistake is not explained by it.
    """
    if check.passed or check.finding is None:
        return check.passed
    if check.finding.diagnosis.id == "no_buffer" and buffer_beside(part):
        return False
    failed = check.finding.diagnosis.case
    return all(s.case.signature != "ignored" for s in part.seen if s.case.name == failed)


def deduction(part: ExerciseAttempt, names: tuple[str, ...], cost: float) -> float:
    """Return the share of an exercise that these mistakes cost together.

    cost: the share of the points that the failed checks would cost.

    Each of several mistakes costs its share of the points that the others leave. Together they
    therefore never cost more than the sum of their deductions, and never less than one of them.
    Mistakes inherited from an earlier exercise are deducted only there.
    """
    shares = list(deductions(part, names, cost).values())
    return shares[0] if len(shares) == 1 else 1 - math.prod(1 - share for share in shares)


def deductions(part: ExerciseAttempt, names: tuple[str, ...], cost: float) -> dict[str, float]:
    """Return the share that each of these mistakes costs alone, without inherited ones."""
    own = [name for name in names if name not in part.inherited]
    if len(own) == 1:
        return {own[0]: deduction_for(part, own[0], cost)}
    alone = {name: share_of_mistake(part, name) for name in own}
    return {
        name: deduction_for(part, name, cost if share is None else share)
        for name, share in alone.items()
    }


def share_of_mistake(part: ExerciseAttempt, mistake: str) -> float | None:
    """Return the share of an exercise that its checks deduct for one known mistake alone.

    None if there is no solution to make the mistake from.
    """
    attempt, pairs = part.attempt, part.attempt.pairs()
    if pairs is None:
        return None
    known, key = attempt.own.known, (attempt.chapter.name, part.name, mistake)
    if key not in known:
        program = pairs.made(part.name, (mistake,))
        made = Attempt(pairs.lab, program, attempt.course, attempt.references, own=attempt.own)
        run(made, [part.name])
        pairs.lab.close()
        alone = made.exercises[part.name]
        checks = check_results(made, part.name)[part.name]
        earned, most = sums([check for check in checks if is_explained(alone, check)])
        known[key] = 1 - earned / most if most else 0.0
    return float(known[key])


def deduction_for(part: ExerciseAttempt, mistake: str, cost: float) -> float:
    """Return the deduction for one mistake: the course's, or else the checks' within bounds.

    The mistake costs everything if the answer returns its input unchanged, because that computes
    nothing, or if no object of the class could be created, because then nothing else ran. The
    course's own deduction comes first.
    """
    if (own := course_deduction(part, mistake)) is not None:
        return own
    if returns_only_inputs(part.claimed) or never_made(part.claimed):
        return 1.0
    return min(MOST, max(LEAST, cost))


def course_deduction(part: ExerciseAttempt, mistake: str) -> float | None:
    """Return the deduction that the course sets for a mistake, if it does."""
    return part.attempt.fingerprints.prices.get(part.name, {}).get(mistake)


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
