"""On which of an exercise's cases an attempt is right, and what tells them from the others.

Said of hidden cases too: it rests on what is right and wrong, which points tell as well, and on
what the cases ask for. No value goes into it.
"""

from collections.abc import Iterator
from itertools import combinations

from ..course import Tolerance
from ..exchange.cases import Case
from ..exchange.observation import Observation
from ..exchange.references import Seen
from ..runner.verbs import Mode
from .agreement import disagreement
from .value_agreement import ValueJudge

FEWEST = 2  # cases on each side; of one alone nothing can be told


def right_and_wrong(
    seen: list[Seen], tolerances: dict[str, Tolerance]
) -> tuple[list[Case], list[Case]]:
    """The cases whose results have one right value: those that came out right, and the others."""
    right: list[Case] = []
    wrong: list[Case] = []
    for case, expected, observed in seen:
        if case.signature == "values" and says_values(expected) and is_called(case):
            (right if agrees(expected, observed, tolerances) else wrong).append(case)
    return right, wrong


def says_values(expected: Observation) -> bool:
    """Whether a case comes to values that could be right or wrong."""
    return bool(expected.tensors or expected.values)


def agrees(expected: Observation, observed: Observation, tolerances: dict[str, Tolerance]) -> bool:
    """Whether all results of a case are right."""
    judge = ValueJudge(expected, observed, tolerances)
    return not observed.error and not (
        any(map(judge.gap, expected.values))
        or any(
            disagreement(observed.tensors.get(name), tensor, tolerances)
            for name, tensor in expected.tensors.items()
        )
    )


def is_called(case: Case) -> bool:
    """Whether a case calls anything."""
    return bool(case.calls)


def where_right(right: list[Case], wrong: list[Case]) -> str:
    """A sentence on what all right cases have and no wrong one, or the reverse; or nothing."""
    if min(len(right), len(wrong)) < FEWEST:
        return ""
    (first, *others), bad = [set(traits(case)) for case in right], [*map(set, map(traits, wrong))]
    for trait in traits(right[0]):
        if trait in first.intersection(*others) and not any(trait in one for one in bad):
            return f"it is right where {trait}, and wrong in all other cases"
    for trait in traits(wrong[0]):
        if all(trait in one for one in bad) and trait not in first.union(*others):
            return f"it is wrong where {trait}, and right in all other cases"
    return ""


def only_where_passed(right: list[Case], wrong: list[Case]) -> str:
    """The argument that all right cases pass and no wrong one does; or nothing."""
    if min(len(right), len(wrong)) < FEWEST:
        return ""
    first, *others = (passed_in(case) for case in right)
    missed = set[str]().union(*map(passed_in, wrong))
    return next(
        (name for name in first if all(name in o for o in others) and name not in missed), ""
    )


def passed_in(case: Case) -> list[str]:
    """The arguments that a case passes."""
    return [name for name, value in case.passed if value is not None]


def traits(case: Case) -> Iterator[str]:
    """What can be said of the sizes and options that a case asks for, the plainest first."""
    modes = [step.training for step in case.steps if isinstance(step, Mode)]
    if len(set(modes)) == 1:
        yield "it is called in training" if modes[0] else "it is called in evaluation"
    yield from (f"`{name}` is passed in" for name in passed_in(case))
    sizes = dict(sizes_in(case))
    for name, value in sizes.items():
        if value in (0, 1) or isinstance(value, bool):
            yield f"{name} is {value}"
    whole = {name: value for name, value in sizes.items() if type(value) is int}
    for (one, first), (other, second) in combinations(whole.items(), 2):
        if first == second:
            yield f"{one} and {other} are equal"


def sizes_in(case: Case) -> Iterator[tuple[str, float]]:
    """(what it is, number) for the options and the sizes of tensors that a case passes."""
    for name, value in case.passed:
        if isinstance(value, (int, float)):
            yield f"`{name}`", value
        elif isinstance(value, dict) and "tensor" in value:
            shape = case.tensors[value["tensor"]].shape
            for dim, size in enumerate(shape):
                yield f"the size of dimension {dim - len(shape)} of `{name}`", size
