"""What an exercise earns: by its checks, by what a known mistake costs, by the names in it.

A check passes or fails as a whole, so one slip can fail most of them. Where all that is wrong is
known, it costs what it is worth instead (docs/explanation/points.md).

Where learners mend code that they are given, what is right in that code is none of their work.
"""

import logging
from dataclasses import replace

from ..course import CourseError
from ..exchange.references import Seen
from ..judging.diagnosis import Diagnosis, Finding, Kind
from ..judging.names import ASKS, Names
from ..recognition.fingerprints import hands_back
from .attempt import MOST_CHANGED, ExerciseAttempt
from .verdict import ASKS_LITTLE, CheckResult, State, is_explained, state_of

LEAST, MOST = 0.1, 0.5  # of an exercise, for one known mistake
SQUEEZED = 0.25  # of an exercise, where dimensions of size 1 are lost and all else is right
SMALL = 0.25  # of an exercise with a bug, for a repair that changes little


def settled(part: ExerciseAttempt, checks: list[CheckResult]) -> list[CheckResult]:
    """The checks on an exercise with what each of them earns; names that differ come last.

    Where that cannot be found out, which is a fault of ours, each earns what it is worth by itself;
    but nothing of code that was given, since what that passes is none of the learner's work.
    """
    if not part.seen:
        return checks
    try:
        if part.bug:
            return mended(part, checks)
        return with_names(part.names, by_shares(at_its_price(part, checks)))
    except CourseError:
        raise  # the course is at fault, for everybody
    except Exception:
        logging.exception("%s: what its checks earn could not be settled", part.name)
        return [replace(check, kept=0.0) for check in checks] if part.bug else checks


def sums(checks: list[CheckResult]) -> tuple[float, float]:
    """What the checks of an exercise earn, and what they are worth."""
    return sum(check.earned for check in checks), sum(check.points for check in checks)


def mended(part: ExerciseAttempt, checks: list[CheckResult]) -> list[CheckResult]:
    """The checks on code that was given: what that fails earns points, what it passes is kept.

    A check that it passes earns nothing, and costs its points where it is failed now. Where all is
    right, all have earned the same share, and the rest is for having changed little.
    """
    _, most = sums(checks)
    if all(check.passed for check in checks):
        share = 0.0 if part.is_as_given else 1 - SMALL
        done = [replace(check, kept=share * check.points) for check in checks]
        return [*done, little(part, SMALL * most)]
    if part.is_as_given:
        return [replace(check, kept=0.0) for check in checks]
    gains = [gain(check) for check in checks]
    untouched = sum(check.points for check in checks if not check.given())
    share = (1 - SMALL) * most / untouched if untouched and sum(gains) > 0 else 0.0
    # What is lost of no share is 0, and not -0.
    return [
        replace(check, kept=one * share + 0.0) for check, one in zip(checks, gains, strict=True)
    ]


def gain(check: CheckResult) -> float:
    """What a check adds: by having been mended, or, below 0, by having been broken."""
    if check.passed:
        return 0.0 if check.given() else check.points
    return -check.points if check.given() else 0.0


def little(part: ExerciseAttempt, worth: float) -> CheckResult:
    """The check that a repair is small, counted on the syntax tree by a process that only reads."""
    if not part.is_rewritten:
        return CheckResult(part.name, 0.0, True, ASKS_LITTLE, kept=worth)
    changed = part.attempt.changed.get(part.name)
    counted = (
        f"{changed} parts of the code (names, numbers, calls), where {MOST_CHANGED} are plenty"
    )
    if changed is None:  # it is no definition by now, or too long to be looked through
        counted = "it could not be compared with the code that was given"
    said = f"it is right, and more was changed than the mistake asks for: {counted}"
    finding = Finding(ASKS_LITTLE, Diagnosis(Kind.FACT, said))
    return CheckResult(part.name, 0.0, False, ASKS_LITTLE, finding, 0.0)


def at_its_price(part: ExerciseAttempt, checks: list[CheckResult]) -> list[CheckResult]:
    """The same where known mistakes, or lost dimensions, explain all that was seen.

    Each check earns the same share, but for those that failed where fingerprints do not look:
    these are lost besides, and make no mistake dearer.
    """
    if part.excused_by or state_of(checks) != State.WRONG:
        return checks
    earned, most = sums([check for check in checks if is_explained(part, check)])
    if not most:  # asked first: fingerprints take a while to be read
        return checks
    if part.mistakes:
        cost = price(part, 1 - earned / most)
    elif part.is_only_squeezed:
        cost = min(1 - earned / most, SQUEEZED)
    else:
        return checks
    return [
        replace(check, kept=check.points * (1 - cost) if is_explained(part, check) else 0.0)
        for check in checks
    ]


def price(part: ExerciseAttempt, cost: float) -> float:
    """The share of an exercise that its mistakes cost. cost: the share that its checks take.

    Several mistakes cost what each costs alone, and never more than the checks take. What an
    earlier exercise brings in is paid for there.
    """
    own = [name for name in part.mistakes if name not in part.inherited]
    if len(own) == 1:
        return price_of(part, own[0], cost)
    alone = {name: part.attempt.share_alone(part.name, name) for name in own}
    prices = [
        price_of(part, name, cost if share is None else share) for name, share in alone.items()
    ]
    return min(sum(prices), max((cost, *prices)))


def share_taken(part: ExerciseAttempt, checks: list[CheckResult]) -> float:
    """Return the share of an exercise that its checks take, where mistakes are told apart."""
    earned, most = sums([check for check in checks if is_explained(part, check)])
    return 1 - earned / most if most else 0.0


def price_of(part: ExerciseAttempt, mistake: str, cost: float) -> float:
    """What one mistake costs: what the course says, or else what the checks take, within bounds.

    Who hands back what was passed in has made no mistake on the way: it costs everything. So does
    a class of which no object can be made, since nothing else was tried.
    """
    known = part.attempt.own.prices
    nothing = hands_back(part.claimed) or never_made(part.claimed)
    bounded = 1.0 if nothing else min(MOST, max(LEAST, cost))
    return known.get(f"{part.name}.{mistake}", known.get(mistake, bounded))


def never_made(seen: list[Seen]) -> bool:
    """Return True if every case ends in an error when the object is made."""
    errors = [one.observed.error for one in seen]
    return all(error is not None and error.verb == "construct" for error in errors)


def by_shares(checks: list[CheckResult]) -> list[CheckResult]:
    """The same, where a check has failed on which a share of the exercise depends."""
    earned, most = sums(checks)
    lost = max((check.finding.diagnosis.share for check in checks if check.finding), default=0.0)
    left = (1 - lost) * most
    if earned <= left:
        return checks
    return [replace(check, kept=check.earned * left / earned) for check in checks]


def with_names(names: Names, checks: list[CheckResult]) -> list[CheckResult]:
    """The same and, where names differ that are not the learner's to choose, what that costs."""
    earned, most = sums(checks)
    if not names.differ:
        return checks
    cost = min(earned, names.cost(most))
    finding = names.finding(cost, all(check.passed for check in checks))
    return [*checks, CheckResult(checks[0].exercise, 0.0, False, ASKS, finding, -cost)]
