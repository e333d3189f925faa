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
from ..messages.details import RewrittenCode
from ..recognition.fingerprints import hands_back
from .attempt import ExerciseAttempt
from .given_code import MOST_CHANGED, is_as_given, is_rewritten
from .public_side import own_names
from .recognized import is_only_squeezed, mistakes
from .results import About, CheckResult, State, state_of

ASKS_LITTLE = "Little is changed: it is mended, not written anew."
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
        if part.given_code:
            return mended(part, checks)
        return with_names(own_names(part), by_shares(at_its_price(part, checks)))
    except CourseError:
        raise  # the course is at fault, for everybody
    except Exception:
        logging.exception("%s: what its checks earn could not be settled", part.name)
        return [replace(check, kept=0.0) for check in checks] if part.given_code else checks


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
        share = 0.0 if is_as_given(part) else 1 - SMALL
        done = [replace(check, kept=share * check.points) for check in checks]
        return [*done, little(part, SMALL * most)]
    if is_as_given(part):
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
    if not is_rewritten(part):
        about = About.REPAIR_SIZE
        return CheckResult(part.name, 0.0, True, ASKS_LITTLE, kept=worth, about=about)
    said = RewrittenCode(part.attempt.changed.get(part.name), MOST_CHANGED)
    finding = Finding(ASKS_LITTLE, Diagnosis(Kind.FACT, said))
    about = About.REPAIR_SIZE
    return CheckResult(part.name, 0.0, False, ASKS_LITTLE, finding, 0.0, about=about)


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
    if mistakes(part):
        cost = price(part, 1 - earned / most)
    elif is_only_squeezed(part):
        cost = min(1 - earned / most, SQUEEZED)
    else:
        return checks
    return [
        replace(check, kept=check.points * (1 - cost) if is_explained(part, check) else 0.0)
        for check in checks
    ]


def is_explained(part: ExerciseAttempt, check: CheckResult) -> bool:
    """Return True if a check passed, or failed on a case by which mistakes are told apart."""
    if check.passed or check.finding is None:
        return check.passed
    failed = check.finding.diagnosis.case
    return all(s.case.signature != "ignored" for s in part.seen if s.case.name == failed)


def price(part: ExerciseAttempt, cost: float) -> float:
    """The share of an exercise that its mistakes cost. cost: the share that its checks take.

    Several mistakes cost what each costs alone, and never more than the checks take. What an
    earlier exercise brings in is paid for there.
    """
    own = [name for name in mistakes(part) if name not in part.inherited]
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
    result = CheckResult(checks[0].exercise, 0.0, False, ASKS, finding, -cost, about=About.NAMES)
    return [*checks, result]
