"""Which of a learner's parameters takes which argument: by position, if that can be right.

Cases are always run by position first. Only if that cannot be right (it is an error, or a shape is
another one), and the learner's names are not the stub's, other orders are tried, each in a fresh
process. What is chosen depends on names and shapes; expected values are never looked at.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

from ..exchange.observation import CaughtError, Outcome
from ..exchange.references import Seen
from ..judging.order import MOST, Order, all_fit, fitness, kinds_of, other_orders
from ..recognition.fingerprints import imprints_of, recognise, right_imprints

if TYPE_CHECKING:
    from .attempt import Attempt

ENDED = (Outcome.TIMEOUT, Outcome.KILLED)


def in_best_order(attempt: Attempt, exercise: str, claimed: list[Seen]) -> list[Seen]:
    """Return what the cases give in the most plausible order; `attempt.orders` notes that.

    claimed: what they give by position.
    """
    parts = undecided(attempt, exercise)
    attempt.decided.update(parts)
    if not parts or not may_be_out_of_order(claimed):
        return claimed
    tries = list(islice(orders_to_try(attempt, parts, claimed), MOST))
    if not tries or is_known_mistake(attempt, exercise, claimed):
        return claimed
    best, kept = claimed, dict(attempt.orders)
    for called, order in tries:
        seen = seen_with(attempt, exercise, kept | {called: order})
        if is_better(order, seen, best):
            best, attempt.orders = seen, kept | {called: order}
        if all_fit(best) or any(one.observed.status in ENDED for one in seen):
            break
    assign(attempt, attempt.orders)
    return best


def undecided(attempt: Attempt, exercise: str) -> list[str]:
    """Return what an exercise's cases call, and no exercise before it has decided on.

    Nothing of a find-the-bug exercise: the given code has the parameters of the stub.
    """
    if exercise in attempt.references.bugs:
        return []
    asked = {exercise, *attempt.references.asked_by_name(exercise)}
    calls = attempt.chapter.parameters
    return [c for c in calls if c.partition(".")[0] in asked and c not in attempt.decided]


def may_be_out_of_order(claimed: list[Seen]) -> bool:
    """Return True if something cannot be right, and more than that it is not written yet."""
    errors = [one.observed.error for one in claimed if not one.expected.error]
    return (
        not all_fit(claimed)
        and not all(error and is_plain(error) for error in errors)
        and not any(one.observed.status in ENDED for one in claimed)
    )


def orders_to_try(
    attempt: Attempt, parts: list[str], claimed: list[Seen]
) -> Iterator[tuple[str, Order]]:
    """Return what may be called in another order, and that order."""
    own = attempt.backend.own_parameters()
    kinds = kinds_of(one.case for one in claimed)
    for called in parts:
        asked = attempt.chapter.parameters[called]
        for order in other_orders(asked, own.get(called, {}), kinds.get(called, {})):
            yield called, order


def is_known_mistake(attempt: Attempt, exercise: str, claimed: list[Seen]) -> bool:
    """Return True if what comes by position is a known mistake's, and more than its errors."""
    own = attempt.own.signatures
    imprints, right = imprints_of(claimed, own), right_imprints(claimed, own)
    tells = any(not one.is_error and not one.matches(right[c]) for c, one in imprints.items())
    return tells and bool(recognise(exercise, claimed, attempt.fingerprints, own))


def is_better(order: Order, seen: list[Seen], best: list[Seen]) -> bool:
    """Return True if an order is more plausible; one that no name speaks for has to fit all."""
    if order.by_shape:
        return all_fit(seen)
    return fitness(seen) > fitness(best) or (order.needed and fitness(seen) == fitness(best))


def seen_with(attempt: Attempt, exercise: str, orders: dict[str, Order]) -> list[Seen]:
    """Return what an exercise's cases give with arguments passed in these orders."""
    assign(attempt, orders)
    return attempt.claimed_on(exercise)


def assign(attempt: Attempt, orders: dict[str, Order]) -> None:
    """Have the learner's code called in these orders from now on."""
    attempt.backend.assign({called: dict(one.assigned) for called, one in orders.items()})


def is_plain(error: CaughtError) -> bool:
    """Return True if an error says no more than that something is missing, or not written yet."""
    return bool(error.missing) or error.is_unwritten
