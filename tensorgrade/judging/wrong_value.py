"""Describe the first wrong value: the right value for its place, and all lines that may be wrong.

Values are referred to by their places: indices in the attempt's or a reference trace.
"""

from dataclasses import replace

import torch

from ..exchange.cases import Case
from ..exchange.traces import Stage
from ..messages.divergence import (
    ComesTooEarly,
    HidesNothing,
    HidesOthers,
    HoldsOtherValue,
    KeepsOrder,
    NotLowEnough,
)
from ..messages.message import Message
from ..messages.remarks import Compared, SoftmaxInputTimesFactor, TimesFactor
from .divergence import Divergence
from .remarks import constant, remarks, rounded, sums
from .right_values import HIDDEN, close, normal
from .tensor_comparison import where_they_differ
from .trace_comparison import Comparison, called

RESHAPES = {"view", "reshape", "flatten", "unflatten"}
Stages = tuple[Stage, ...]
NEARLY_ONE = 0.01  # a factor this close to 1 has about the same size on other cases


def described(compared: Comparison, lost: int) -> Divergence:
    """Return the divergence for the first wrong value."""
    if found := found_at_once(compared, lost):
        return found
    stage, asked = compared.stages[lost], due(compared, lost)
    last = compared.stages[compared.last_of_line(lost)].value
    reached, upto = compared.reached(lost)
    for name, value in asked:
        what = None if stage.value is None else hides(stage.value.double(), value.double())
        if not isinstance(what, NotLowEnough):
            what = instead(compared.case, last, value)
        if what:
            return Divergence(stage.line, name, reached, upto, what)
    return Divergence(stage.line, asked[0][0] if asked else "", reached, upto)


def stage_of(compared: Comparison, lost: int) -> str:
    """Return the name of the right value in the place of the first wrong one; "" if unknown.

    Values are compared only if several right ones may belong there.
    """
    if found := found_at_once(compared, lost):
        return found.stage
    names = {name for name, _ in due(compared, lost)}
    return described(compared, lost).stage if len(names) > 1 else "".join(names)


def found_at_once(compared: Comparison, lost: int) -> Divergence | None:
    """Return the divergence if no right value has to be found for the place of the wrong one.

    The wrong value has a right value's name, is reordered by mistake, or is reported elsewhere.
    """
    stage = compared.stages[lost]
    reached, upto = compared.reached(lost)
    if names := compared.names(lost):
        wrong = HoldsOtherValue(compared.other_name(lost), names[0])
        return Divergence(stage.line, names[0], reached, upto, wrong)
    if stage.operation in RESHAPES and compared.is_misplaced(lost) and not stage.inside:
        return Divergence(stage.line, "", reached, upto, KeepsOrder())
    if lost in compared.trace.returned or stage.inside:
        return Divergence(stage.line, "", reached, upto)
    return None


def misnamed(compared: Comparison, lost: int) -> int | None:
    """Return the place of a right value under a wrong name from which a wrong value was computed.

    Return None if there is none.
    """
    return next((at for at in compared.ancestors(lost) if compared.other_name(at)), None)


def due(compared: Comparison, lost: int) -> list[tuple[str, torch.Tensor]]:
    """Return (name, value) of right values that may belong in the place of a wrong one.

    The most likely one comes first.
    """
    stage, value, right = compared.stages[lost], compared.stages[lost].value, compared.right
    alike = [*right.with_its_numbers(value), *right.multiples(value)] if value is not None else []
    had = {at for matches in compared.matches[:lost] for at in matches}
    found = [at for at in alike if at not in had and right.stages[at].names]
    found += [*right.called(called(stage)), *following(compared, lost)]
    names = {name for at in range(lost) for name in compared.names(at)}
    named = ((right.name(at), right.stages[at].value) for at in found)
    return [(n, value) for n, value in named if value is not None and n not in names]


def following(compared: Comparison, lost: int) -> list[int]:
    """Return the place of the solution's next named value after the inputs of a wrong value.

    That value may belong to a later step of the attempt. It must therefore have as many numbers as
    the wrong value, or as the last value of its line. The list is empty if there is none.
    """
    stages = compared.right.stages
    reached = [at for one in compared.stages[lost].inputs for at in compared.matches[one]]
    found = next_named(stages, max(reached)) if reached else None
    if found is None:
        return []
    own = [compared.stages[at].value for at in (lost, compared.last_of_line(lost))]
    sizes = {None if value is None else value.numel() for value in own}
    value = stages[found].value
    return [found] if value is None or None in sizes or value.numel() in sizes else []


def next_named(stages: Stages, place: int) -> int | None:
    """Return the place of the first named value that is computed from the one at a place."""
    made = {place}
    for at in range(place + 1, len(stages)):
        if not made.isdisjoint(stages[at].inputs):
            made.add(at)
            if stages[at].names:
                return at
    return None


def instead(case: Case, value: torch.Tensor | None, right: torch.Tensor) -> Message | None:
    """Return a message on a wrong value, compared with the right one; None without a finding."""
    if value is None or not value.is_floating_point():
        return None
    value, right = value.double(), right.double()
    if what := hides(value, right):
        return what
    if bool(value.isneginf().any()) and not bool((value.isnan() | value.isposinf()).any()):
        return None  # hidden places are right in scores, which become weights later
    # A value of another shape may be an input of the line's result, so its rows need not
    # add up to any particular number.
    off = sums(value, right) if value.shape != right.shape else None
    found = remarks(case, value, right, hidden=False, compared=Compared.ON_THE_WAY)
    first = next((one for one in found if one != off), None)
    return without_factor(first) if first else None


def without_factor(remark: Message) -> Message:
    """Return a remark without the number of its factor, which differs from case to case.

    A factor close to 1 remains, because it is close to 1 in other cases too.
    """
    match remark:
        case TimesFactor(factor=float(factor)) if abs(rounded(factor) - 1) < NEARLY_ONE:
            return replace(remark, origin=None)
        case TimesFactor() | SoftmaxInputTimesFactor():
            return replace(remark, factor=None, origin=None)
        case _:
            return remark


def hides(value: torch.Tensor, right: torch.Tensor) -> Message | None:
    """Return how hidden places (see HIDDEN) differ from the right ones; None if they are equal."""
    if value.shape != right.shape or not bool((right < HIDDEN).any()):
        return None
    yours, asked = value < HIDDEN, right < HIDDEN
    if torch.equal(yours, asked):
        return None
    missed = value[asked & ~yours]
    filled = missed.unique()
    # A single missed place may hold an ordinary score, so its number shows no wrong fill value.
    several = len(missed) > 1 or not yours.any()
    if several and len(filled) == 1:
        shown = bool((value[~asked] == filled[0]).any())
        return None if shown else NotLowEnough(float(filled[0]))
    if yours.any():
        return HidesOthers(where_they_differ(yours ^ asked))
    seen, other = value[~asked], right[~asked]  # if these differ, it may be another step's value
    return HidesNothing() if close(seen, other) or constant(seen, other) else None


def with_all_lines(
    compared: Comparison, lost: int, ends: list[int], told: Divergence
) -> Divergence:
    """Return a divergence with all lines where the mistake may be, and the values before them.

    Lines before the first wrong value count if their values are only partly right or not
    complete yet. Lines after it, up to the wrong results, count if right answers have no value
    in its place, because it may be another method.
    """
    line = told.line
    loose = [at for at in loose_before(compared, lost) if compared.stages[at].line < line]
    loose += [at for at in not_turned(compared, lost) if 0 < compared.stages[at].line < line]
    if early := stops_early(compared, lost):
        told = replace(told, what=ComesTooEarly(), stage="")
        loose = [*loose, *early]
    elif not (told.stage or told.what or lost in ends or compared.stages[lost].inside):
        after = [at for at in compared.region(ends) if at >= lost and compared.stages[at].line]
        last = max(compared.stages[at].line for at in after)
        told = replace(told, until=last if last > line else 0)
        # Values on an earlier line belong to the next iteration of a loop.
        loose += [at for at in after if compared.stages[at].line < line]
    if not loose:
        return told
    since = min(compared.stages[at].line for at in loose)
    reached, upto = compared.reached(min(*loose, lost))
    right = (reached, upto) if upto < since else ((), 0)
    return replace(told, since=since, reached=right[0], upto=right[1])


def loose_before(compared: Comparison, lost: int) -> list[int]:
    """Return the places of values before a wrong one that may be wrong too.

    They were computed from one value in a way that may be wrong, such as a reshape, a slice or a
    factor, or they cannot be judged.
    """
    found: list[int] = []
    left = [lost]
    while left:
        maker = left.pop()
        for at in compared.stages[maker].inputs:
            stage = compared.stages[at]
            start = compared.is_unknown(maker) and not compared.passes[at]
            alone = len([one for one in stage.inputs if compared.counts(one)]) == 1
            changed = alone and not compared.matches[at] and compared.counts(at)
            new = at not in found
            if new and stage.line and (changed or start or compared.is_unknown(at)):
                found.append(at)
                left.append(at)
    return found


def stops_early(compared: Comparison, lost: int) -> list[int]:
    """Return the loop's values that a wrong value was computed from, if the loop ends too early.

    It does if right answers combine later values of the loop in the same way. Return [] if right
    answers combine the same values.
    """
    told = [at for at in compared.stages[lost].inputs if compared.counts(at)]
    made = [at for at in told if is_made_in_loop(compared, at)]
    if not made or not all(compared.matches[at] for at in told):
        return []
    stages = compared.right.stages
    now = [set(compared.matches[at]) for at in told]
    later = [
        set[int]().union(*(same_size_from(stages, i) for i in p)) if at in made else p
        for at, p in zip(told, now, strict=True)
    ]
    used = [set(stage.inputs) for stage in stages]
    if any(all(p & inputs for p in now) for inputs in used):
        return []
    return made if any(all(p & inputs for p in later) for inputs in used) else []


def not_turned(compared: Comparison, lost: int) -> list[int]:
    """Return the inputs of a wrong value that right answers would reorder first.

    For example, they would transpose an input. If such an input is itself a reordered copy, the
    value before reordering is included.
    """
    told = [at for at in compared.stages[lost].inputs if compared.counts(at)]
    if len(told) < 2 or not all(compared.matches[at] for at in told):
        return []
    stages = compared.right.stages
    turned = [[turned_from(stages, i) for i in compared.matches[at]] for at in told]
    wrong: list[list[int]] = []
    for stage in stages:
        used = {*stage.inputs}
        if all(any(not used.isdisjoint(one) for one in each) for each in turned):
            wrong.append([at for at in told if used.isdisjoint(compared.matches[at])])
    found = min(wrong, key=len, default=[])
    left = list(found)
    while left:
        inputs = set(compared.stages[left.pop()].inputs).difference(found)
        made = [
            at
            for at in inputs
            if any(at in turned_from(compared.stages, i) for i in compared.stages[at].inputs)
        ]
        found += made
        left += made
    return found


def is_made_in_loop(compared: Comparison, at: int) -> bool:
    """Return True if the same line computed a value of the same shape from which this one comes."""
    stage = compared.stages[at]
    same_line = (compared.stages[one] for one in compared.ancestors(at))
    return any(
        (one.line, one.operation) == (stage.line, stage.operation)
        and one.value is not None
        and stage.value is not None
        and one.value.shape == stage.value.shape
        for one in same_line
    )


def turned_from(stages: Stages, at: int) -> set[int]:
    """Return the places of a value and of its copies with the same numbers in other places."""
    found, value = {at}, stages[at].value
    if value is None:
        return found
    numbers = normal(value).flatten().sort().values
    for i, stage in enumerate(stages):
        other = stage.value
        if other is None or other.numel() != value.numel() or len(stage.inputs) != 1:
            continue
        if stage.inputs[0] in found and close(normal(other).flatten().sort().values, numbers):
            found.add(i)
    return found


def same_size_from(stages: Stages, at: int) -> set[int]:
    """Return the places of all values of the same shape that are computed from a value."""
    made, value = {at}, stages[at].value
    for i in range(at + 1, len(stages)):
        if not made.isdisjoint(stages[i].inputs):
            made.add(i)
    shape = None if value is None else value.shape
    values = ((i, stages[i].value) for i in made - {at})
    return {i for i, other in values if other is not None and other.shape == shape}
