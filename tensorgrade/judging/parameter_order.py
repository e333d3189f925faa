"""Find the order in which a learner's parameters receive the arguments: by position, if possible.

Cases always run by position first. Other orders are tried only if that cannot be right (a case
raises, or a shape is wrong) and the learner's names differ from the stub's. Each is tried in a
fresh process. Orders are compared by the names and kinds of arguments and the shapes of results.
Values are used only once: if the results by position match a known mistake, no other order is
tried.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, permutations, product, takewhile
from typing import Protocol

from ..exchange.cases import Case
from ..exchange.observation import Loaded, Observation, Outcome
from ..exchange.references import References, Seen
from ..recognition.fingerprints import Fingerprints, imprints_of, recognize, right_imprints
from ..runner.binding import BY_NAME, POSITIONAL, Parameters, in_order
from ..runner.names import likeness
from .course_checks import CourseChecks

MOST = 24  # orders that are tried
MOST_LEFT = 6  # parameters without an informative name, for which all orders are tried
SIMILAR = 0.5  # names that are less similar than this do not count as a match
# Words in names of numbers that do not say what the number counts or measures.
GENERIC = re.compile(r"(?<![A-Za-z])(n|nr|no|num|number|count|size|len|length|dim|of)(?![A-Za-z])")
FITS = 4  # the score of a case whose result may be right
ENDED = (Outcome.TIMEOUT, Outcome.KILLED)


@dataclass(frozen=True)
class Order:
    """A mapping from the stub's parameters to the learner's.

    asked: the stub's names. own: the learner's names. assigned: the learner's name for each of the
    stub's. places: the mapping by position. by_shape: True if no name supports this mapping, so
    only shapes can confirm it. needed: True if an argument would have no parameter when passed by
    position.
    """

    asked: tuple[str, ...]
    own: tuple[str, ...]
    assigned: Mapping[str, str]
    places: Mapping[str, str] = field(default_factory=dict)
    by_shape: bool = False
    needed: bool = False

    @property
    def sentence(self) -> str:
        """Return how the learner's order differs from the stub's, in a clause.

        >>> Order(("x", "d", "n"), ("x", "n", "d"), {"x": "x", "d": "d", "n": "n"}).sentence
        'the given order is `d, n`; yours is `n, d`'
        """
        wanted = [name for name in self.asked if name in self.assigned]
        meant = {own: name for name, own in self.assigned.items()}
        found = [meant.get(name, "") for name in self.own]
        first = shared(wanted, found)
        if first == len(wanted):
            return self.by_name_only
        last = min(shared(wanted[::-1], found[::-1]), len(wanted) - first - 1)
        theirs = wanted[first : len(wanted) - last]
        yours = self.own[first : len(self.own) - last]
        return f"the given order is `{', '.join(theirs)}`; yours is `{', '.join(yours)}`"

    @property
    def by_name_only(self) -> str:
        """Return the stub's names for parameters that can be passed by name only."""
        pairs = [(own, a) for a, own in self.assigned.items() if self.places.get(a) != own]
        told = ", ".join(f"`{own}` is called `{asked}` in the given code" for own, asked in pairs)
        return f"{told}, and it can be passed by name only"


class OrderedAttempt(Protocol):
    """An attempt whose cases can be run with arguments in another order.

    stubs: the stub's parameter names for each callable. orders: the order of each callable that
    differs from the stub. decided: the callables whose order is settled.
    """

    own: CourseChecks
    references: References
    stubs: dict[str, list[str]]
    orders: dict[str, Order]
    decided: set[str]

    @property
    def fingerprints(self) -> Fingerprints: ...

    @property
    def loaded(self) -> Loaded: ...

    def assign(self, orders: dict[str, Order]) -> None:
        """Call the learner's code with these orders from now on."""

    def run_all_cases(self, name: str) -> list[Seen]:
        """Return the results of every case of an exercise."""


def in_best_order(attempt: OrderedAttempt, exercise: str, claimed: list[Seen]) -> list[Seen]:
    """Return the results of the cases in the most plausible order; record it in `attempt.orders`.

    claimed: the results by position.
    """
    if not may_be_out_of_order(claimed):
        attempt.decided.update(c for c in attempt.stubs if c.partition(".")[0] == exercise)
        return claimed
    parts = undecided(attempt, exercise)
    attempt.decided.update(parts)
    tries = list(islice(orders_to_try(attempt, parts, claimed), MOST))
    if not tries or is_known_mistake(attempt, exercise, claimed):
        return claimed
    best = claimed
    for called, order in tries:
        orders = attempt.orders | {called: order}
        attempt.assign(orders)
        seen = attempt.run_all_cases(exercise)
        if is_better(order, seen, best):
            best, attempt.orders = seen, orders
        if all_fit(best) or any(one.observed.status in ENDED for one in seen):
            break
    attempt.assign(attempt.orders)
    return best


def undecided(attempt: OrderedAttempt, exercise: str) -> list[str]:
    """Return the callables of an exercise's cases whose order no earlier exercise has settled.

    Empty for a find-the-bug exercise: the given code has the stub's parameters.
    """
    if exercise in attempt.references.bugs:
        return []
    asked = {exercise, *attempt.references.asked_by_name(exercise)}
    return [c for c in attempt.stubs if c.partition(".")[0] in asked and c not in attempt.decided]


def may_be_out_of_order(claimed: list[Seen]) -> bool:
    """Return True if a result cannot be right and the code is not merely unfinished."""
    errors = [one.observed.error for one in claimed if not one.expected.error]
    return (
        not all_fit(claimed)
        and not all(error and (error.missing or error.is_unwritten) for error in errors)
        and not any(one.observed.status in ENDED for one in claimed)
    )


def orders_to_try(
    attempt: OrderedAttempt, parts: list[str], claimed: list[Seen]
) -> Iterator[tuple[str, Order]]:
    """Yield callables, each with an order to try."""
    own = attempt.loaded.own_parameters
    kinds = kinds_of(one.case for one in claimed)
    for called in parts:
        asked = attempt.stubs[called]
        for order in other_orders(asked, own.get(called, {}), kinds.get(called, {})):
            yield called, order


def is_known_mistake(attempt: OrderedAttempt, exercise: str, claimed: list[Seen]) -> bool:
    """Return True if the values by position, not only the errors, match a known mistake."""
    own = attempt.own.signatures
    imprints, right = imprints_of(claimed, own), right_imprints(claimed, own)
    tells = any(not one.is_error and not one.matches(right[c]) for c, one in imprints.items())
    return tells and bool(recognize(exercise, claimed, attempt.fingerprints, own))


def is_better(order: Order, seen: list[Seen], best: list[Seen]) -> bool:
    """Return True if an order's results are more plausible than the best so far.

    If only shapes support the order, all cases must fit.
    """
    if order.by_shape:
        return all_fit(seen)
    return total_score(seen) > total_score(best) or (
        order.needed and total_score(seen) == total_score(best)
    )


def shared(left: Sequence[str], right: Sequence[str]) -> int:
    """Return the length of the common beginning of two lists of names."""
    same = takewhile(lambda pair: pair[0] == pair[1], zip(left, right, strict=False))
    return sum(1 for _ in same)


def other_orders(
    asked: Sequence[str], own: Parameters, kinds: Mapping[str, str]
) -> Iterator[Order]:
    """Yield the orders to try if positions cannot be right, the most plausible first.

    A parameter with one of the stub's names, or a similar name, gets the argument of that name. For
    the others, the stub's order is tried first, and then every other order that shapes can
    distinguish.

    >>> import inspect
    >>> own = inspect.signature(lambda n_cols, page_size, n_row: 0).parameters
    >>> kinds = dict.fromkeys(["length", "d", "rows"], "number")
    >>> [order.assigned for order in other_orders(["length", "d", "rows"], own, kinds)]
    [{'rows': 'n_row', 'length': 'page_size', 'd': 'n_cols'}]
    """
    names = tuple(name for name, one in own.items() if one.kind in (*POSITIONAL, BY_NAME))
    told = {name: name for name in asked if name in names}
    told |= similar(
        [name for name in asked if name not in told],
        [name for name in names if name not in told],
    )
    by_place = in_order(asked, own)
    needed = not by_place.keys() >= kinds.keys()
    for at, filled in enumerate(fillings(asked, names, told, kinds)):
        if told | filled != by_place:
            yield Order(tuple(asked), names, told | filled, by_place, at > 0, needed)


def fillings(
    asked: Sequence[str], names: Sequence[str], told: Mapping[str, str], kinds: Mapping[str, str]
) -> Iterator[dict[str, str]]:
    """Yield assignments of the parameters whose names do not match, the stub's order first.

    told: the parameters that are matched by name. kinds: by parameter, the kind of its argument.

    Shapes can show that a number is swapped with another number or with something else. If two
    tensors are swapped, only their values could show it, so such orders are left out.
    """
    left = [name for name in asked if name not in told]
    over = [name for name in names if name not in told.values()]
    yield dict(zip(left, over, strict=False))
    if max(len(left), len(over)) > MOST_LEFT:
        return
    many, few = (over, left) if len(left) <= len(over) else (left, over)
    for some in islice(permutations(many, len(few)), 1, None):
        pairs = zip(left, some, strict=True) if few is left else zip(some, over, strict=True)
        if keeps_in_order(filled := dict(pairs), asked, names, kinds):
            yield filled


def keeps_in_order(
    filled: Mapping[str, str], asked: Sequence[str], names: Sequence[str], kinds: Mapping[str, str]
) -> bool:
    """Return True if parameters of one kind keep the stub's order; numbers may swap."""
    places: dict[str, list[int]] = {}
    for name in asked:
        if name in filled and (kind := kinds.get(name, "number")) != "number":
            places.setdefault(kind, []).append(names.index(filled[name]))
    return all(found == sorted(found) for found in places.values())


def similar(asked: Sequence[str], own: Sequence[str]) -> dict[str, str]:
    """Return the pairs of similar names, the most similar first, each name once.

    Generic words do not count, unless a name consists of nothing else.

    >>> similar(["num_rows"], ["num_pages", "n_row"])
    {'num_rows': 'n_row'}
    """
    scores = []
    for (at, name), (place, there) in product(enumerate(asked), enumerate(own)):
        telling, other = (GENERIC.sub("", one).strip("_") for one in (name, there))
        score = likeness(telling or name, other) if other else likeness(name, there)
        scores.append((-score, abs(at - place), name, there))
    found: dict[str, str] = {}
    for score, _, name, there in sorted(scores):
        if -score >= SIMILAR and name not in found and there not in found.values():
            found[name] = there
    return found


def kinds_of(cases: Iterable[Case]) -> dict[str, dict[str, str]]:
    """Return the kinds of the arguments in cases (tensor, number), by callable and name."""
    kinds: dict[str, dict[str, str]] = {}
    for case in cases:
        for called, arguments in calls_in(case):
            told = {name: kind_of(value) for name, value in arguments.items() if value is not None}
            kinds.setdefault(called, {}).update(told)
    return kinds


def calls_in(case: Case) -> Iterator[tuple[str, dict]]:
    """Yield each callable that a case uses, such as `f` or `Layer.forward`, with its arguments."""
    made: dict[str, str] = {}
    for step in case.steps:
        if step.verb == "duplicate":
            made[step.result] = made[step.on]
        elif step.verb == "construct":
            made[step.result] = "" if step.options.get("given") else step.name
            yield made[step.result], step.arguments
        elif step.verb in ("call", "move"):
            method = f"{made.get(step.on, '')}.{step.path or 'forward'}"
            yield step.name or method, step.arguments


def kind_of(value: object) -> str:
    """Return the kind of an argument, as a step spells it, such as `tensor` or `number`."""
    if isinstance(value, dict):
        return next(iter(value), "dict")
    return "number" if isinstance(value, bool | int | float) else type(value).__name__


def total_score(seen: Iterable[Seen]) -> int:
    """Return a score for all cases, which grows as more of them may be right."""
    return sum(case_score(one.expected, one.observed) for one in seen)


def all_fit(seen: Iterable[Seen]) -> bool:
    """Return True if the results of all cases may be right, judged by their shapes."""
    return all(case_score(one.expected, one.observed) == FITS for one in seen)


def case_score(expected: Observation, observed: Observation) -> int:
    """Return a score for a case, from 0 to FITS, one point for each stage that it reaches.

    The stages: an object is created, its weights match, the calls end without an error, and all
    results have the right shapes.

    A case that must end in an error always gets the best score, because it shows nothing.
    """
    if expected.error:
        return FITS
    if observed.status != Outcome.ANSWERED:
        return 0
    if observed.error and observed.error.verb == "construct":
        return 0
    told = observed.facts.get("load", {})
    if any(told.get(what) for what in ("missing", "misshapen", "unexpected")):
        return 1
    if observed.error:
        return 2
    got, asked = observed.tensors, expected.tensors
    fits = all(name in got and got[name].shape == asked[name].shape for name in asked)
    return FITS if fits else 3
