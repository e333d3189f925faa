"""Find the cases in which an attempt is right, and the property that they share.

This may be reported about hidden cases too. Like points, it depends on which cases are right. It
also depends on the modes, options and sizes of the cases, but not on values in their tensors.
"""

from collections.abc import Iterator
from itertools import combinations

from ..course import Tolerance
from ..exchange.cases import Case
from ..exchange.observation import Observation
from ..exchange.references import Seen
from ..messages.message import Message
from ..messages.remarks import (
    AreEqual,
    Argument,
    CalledInMode,
    IsNumber,
    IsPassed,
    RightWhere,
    SizeOf,
)
from .tensor_comparison import disagreement
from .value_comparison import ValueJudge

FEWEST = 2  # cases on each side; a single case shows no pattern


def right_and_wrong(
    seen: list[Seen], tolerances: dict[str, Tolerance]
) -> tuple[list[Case], list[Case]]:
    """Return the cases with a right result and those with a wrong one; others are left out."""
    right: list[Case] = []
    wrong: list[Case] = []
    for case, expected, observed in seen:
        has_values = case.has_right_values and (expected.tensors or expected.values)
        if has_values and case.calls:
            (right if agrees(expected, observed, tolerances) else wrong).append(case)
    return right, wrong


def agrees(expected: Observation, observed: Observation, tolerances: dict[str, Tolerance]) -> bool:
    """Return True if all results of a case are right."""
    judge = ValueJudge(expected, observed, tolerances)
    return not observed.error and not (
        any(map(judge.gap, expected.values))
        or any(
            disagreement(observed.tensors.get(name), tensor, tolerances)
            for name, tensor in expected.tensors.items()
        )
    )


def where_right(right: list[Case], wrong: list[Case]) -> Message | None:
    """Return a message on a property of all right cases and no wrong one, or the reverse.

    Return None if there is no such property, or if either side has fewer than FEWEST cases.
    """
    if min(len(right), len(wrong)) < FEWEST:
        return None
    (first, *others), bad = [set(traits(case)) for case in right], [*map(set, map(traits, wrong))]
    for trait in traits(right[0]):
        if trait in first.intersection(*others) and not any(trait in one for one in bad):
            return RightWhere(trait)
    for trait in traits(wrong[0]):
        if all(trait in one for one in bad) and trait not in first.union(*others):
            return RightWhere(trait, right=False)
    return None


def only_where_passed(right: list[Case], wrong: list[Case]) -> str:
    """Return the argument that all right cases pass and no wrong one does; "" if there is none."""
    if min(len(right), len(wrong)) < FEWEST:
        return ""
    first, *others = (passed_in(case) for case in right)
    missed = set[str]().union(*map(passed_in, wrong))
    return next(
        (name for name in first if all(name in o for o in others) and name not in missed), ""
    )


def passed_in(case: Case) -> list[str]:
    """Return the arguments that a case passes."""
    return [name for name, value in case.passed if value is not None]


Trait = CalledInMode | IsPassed | IsNumber | AreEqual


def traits(case: Case) -> Iterator[Trait]:
    """Yield the properties of a case: its mode, arguments and sizes, the simplest first."""
    modes = [step.options["training"] for step in case.steps if step.verb == "mode"]
    if len(set(modes)) == 1:
        yield CalledInMode(bool(modes[0]))
    yield from map(IsPassed, passed_in(case))
    sizes = dict(sizes_in(case))
    for what, value in sizes.items():
        if value in (0, 1) or isinstance(value, bool):
            yield IsNumber(what, str(value))
    whole = {what: value for what, value in sizes.items() if type(value) is int}
    for (one, first), (other, second) in combinations(whole.items(), 2):
        if first == second and not is_shared_batch(one, other):
            yield AreEqual(one, other)


def is_shared_batch(one: Message, other: Message) -> bool:
    """Return True for the same leading dimension of two tensors: both sizes are the batch's.

    >>> is_shared_batch(SizeOf("one", -3), SizeOf("other", -3))
    True
    """
    match one, other:
        case SizeOf(dim=first), SizeOf(dim=second):
            return first == second < -2
    return False


def sizes_in(case: Case) -> Iterator[tuple[Message, float]]:
    """Yield (meaning, number) for the options and the sizes of tensors that a case passes."""
    for name, value in case.passed:
        if isinstance(value, (int, float)):
            yield Argument(name), value
        elif isinstance(value, dict) and "tensor" in value:
            shape = case.tensors[value["tensor"]].shape
            for dim, size in enumerate(shape):
                yield SizeOf(name, dim - len(shape)), size
