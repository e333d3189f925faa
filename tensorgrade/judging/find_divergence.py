"""Find the line where an attempt's values diverge from those of right answers, on a public case.

The search goes back from a wrong result to the first value that no right answer has.
"""

from dataclasses import replace
from itertools import chain

import torch

from ..exchange.references import Seen
from ..exchange.traces import Stage, Trace
from ..messages.divergence import (
    FirstOfItsKind,
    IsLast,
    LeftAsMade,
    NothingIsDone,
    ReturnsEarlierValue,
    ReturnsMore,
    ReturnsOtherNumber,
    RoundsTo,
    ShouldComeBack,
    StartsWithOtherNumber,
    UnknownShape,
)
from .divergence import Divergence
from .remarks import same
from .right_values import is_nan, normal, tells
from .trace_comparison import Comparison
from .wrong_value import described, misnamed, with_all_lines

DIGITS = {torch.float32: "seven", torch.float16: "three", torch.bfloat16: "two"}
SAME_DIGITS = 1e-8  # the relative difference of results in float64 that counts as none


def find_divergence(seen: Seen, trace: Trace, reference: Trace) -> Divergence | None:
    """Return where an attempt diverges from right answers on a case; None if that is not known.

    seen: the case with its expected and observed results. trace: the attempt's trace.
    """
    compared = Comparison(seen, trace, reference)
    if (found := divergence_of(compared)) is None:
        return None
    # The operations that give only right values on their line.
    done = [((stage.line, stage.operation), at) for at, stage in enumerate(compared.stages)]
    wrong = {one for one, at in done if not compared.matches[at]}
    return replace(found, correct=frozenset(one for one, _ in done) - wrong)


def divergence_of(compared: Comparison) -> Divergence | None:
    """Return where the values diverge; None if that is not known."""
    if error := compared.observed.error:
        line = next(iter(compared.trace.raised), error.line)
        return before_error(compared, line) if error.verb == "call" else None
    if compared.trace.cut:  # the trace is cut off before the results
        return None
    roots = compared.wrong_results()
    if not roots:
        nothing = nothing_back(compared)
        return Divergence(compared.trace.last, what=IsLast()) if nothing else rounding(compared)
    if (bad := first_bad(compared, roots)) is not None:
        kind = "NaN" if is_nan(compared.stages[bad].value) else "infinity"
        return Divergence(
            compared.stages[bad].line, "", *compared.reached(bad), FirstOfItsKind(kind)
        )
    if holds_right_results(compared):
        return Divergence(compared.trace.last or compared.stages[roots[0]].line, what=ReturnsMore())
    if early := returned_early(compared, roots):
        return early
    left = left_unused(compared)
    unused = 0 if left is None else compared.stages[left].line
    if left is not None and (compared.stages[left].inside or not compared.stages[left].names):
        name = next(iter(compared.names(left)), "")
        return Divergence(unused, name, *compared.reached(left), NothingIsDone())
    found = divergence_before(compared, roots)
    return replace(found, unused=unused) if found and found.line != unused else found


def rounding(compared: Comparison) -> Divergence | None:
    """Return the line that converts to a coarser dtype, if a result differs only by rounding."""
    if not any(is_nearly_right(compared, name) for name in compared.expected.tensors):
        return None
    for stage in compared.stages:
        values = (compared.stages[at].value for at in stage.inputs)
        from_double = any(v is not None and v.dtype == torch.float64 for v in values)
        digits = "" if stage.value is None else DIGITS.get(stage.value.dtype, "")
        if stage.line and stage.value is not None and from_double and digits:
            dtype = str(stage.value.dtype).removeprefix("torch.")
            return Divergence(stage.line, what=RoundsTo(dtype, digits))
    return None


def first_bad(compared: Comparison, roots: list[int]) -> int | None:
    """Return the first value with NaN or plus infinity on the path to a result with NaN.

    None if right answers have such values there too.
    """
    if not any(is_nan(compared.stages[at].value) for at in roots):
        return None
    path = sorted({*roots, *chain(*map(compared.ancestors, roots))})
    bad = [at for at in path if is_nan(compared.stages[at].value, or_inf=True)]
    first = next(iter(bad), None)
    if first is None or first in roots:  # a bad result is reported already
        return None
    return first if compared.stages[first].line and not compared.matches[first] else None


def is_nearly_right(compared: Comparison, name: str) -> bool:
    """Return True if a float64 result differs from the expected one in more than SAME_DIGITS."""
    right, own = compared.expected.tensors[name], compared.observed.tensors.get(name)
    if own is None or own.shape != right.shape or right.dtype != torch.float64:
        return False
    gap = (own.double() - right).abs()
    return bool(gap.numel()) and float(gap.max()) > SAME_DIGITS * float(right.abs().max())


def divergence_before(compared: Comparison, roots: list[int]) -> Divergence | None:
    """Return the divergence at the first wrong value on the path to wrong results, or at its cause.

    roots: the places of the wrong results.
    """
    lost = compared.first_lost(roots)
    if lost is None:
        return right_elsewhere(compared, roots)
    if (other := misnamed(compared, lost)) is not None:
        return described(compared, other)
    if (start := wrong_start(compared, lost)) is not None:
        return Divergence(
            compared.stages[start].line, "", *compared.reached(start), StartsWithOtherNumber()
        )
    if (start := misfit_start(compared, lost)) is not None:
        return Divergence(compared.stages[start].line, what=UnknownShape())
    stage, value = compared.stages[lost], compared.stages[lost].value
    if compared.is_filler(lost) and not stage.inputs:
        return left_as_made(compared, lost, roots)
    empty = value is None or not tells(value) or not bool(value.isfinite().any())
    if empty and stage.inputs and all(map(compared.is_filler, stage.inputs)):
        return None  # it was computed from constants only, so an earlier step is missing
    if what := should_come_back(compared):
        return Divergence(stage.line, what=what, since=1)
    return with_all_lines(compared, lost, roots, described(compared, lost))


def wrong_start(compared: Comparison, lost: int) -> int | None:
    """Return the place of a constant input of a wrong constant, if right answers use no such one.

    None if there is none, or if the wrong value has different numbers.
    """
    value = compared.stages[lost].value
    if value is None or tells(value):
        return None
    fillers = filter(compared.is_filler, compared.stages[lost].inputs)
    return next((at for at in fillers if is_other_filler(compared, compared.stages[at])), None)


def is_other_filler(compared: Comparison, stage: Stage) -> bool:
    """Return True if a line of the file creates a constant unlike all right ones of its shape."""
    value = stage.value
    if stage.line <= 0 or value is None or value.numel() == 0:
        return False
    known = compared.right.constants.get(value.shape, set())
    return bool(known) and float(normal(value).flatten()[0]) not in known


def misfit_start(compared: Comparison, lost: int) -> int | None:
    """Return the place of a constant of a wrong shape on the path to a value of a wrong shape."""
    if not compared.is_misfit(lost):
        return None
    fillers = filter(compared.is_filler, compared.ancestors(lost))
    return next((at for at in fillers if compared.stages[at].line and compared.is_misfit(at)), None)


def left_as_made(compared: Comparison, start: int, roots: list[int]) -> Divergence:
    """Return the divergence for a constant that was not overwritten, or not everywhere."""
    line, filler = compared.stages[start].line, compared.stages[start].value
    expected = [t for name, t in compared.expected.tensors.items() if name.startswith("result")]
    pairs = list(zip(compared.trace.returned, expected, strict=False))
    wrong = [(compared.stages[at].value, t) for at, t in pairs if at in roots]
    left = filler is not None and all(
        value is not None
        and value.shape == right.shape
        and bool((value == filler.flatten()[0])[value != right].all())
        for value, right in wrong
    )
    until = max(compared.trace.last, line)
    return Divergence(line, what=LeftAsMade() if left and wrong else None, since=line, until=until)


def should_come_back(compared: Comparison) -> ShouldComeBack | None:
    """Return a message if the only expected result equals an argument.

    The message names the plain arguments of the case's last call too, each as `name=value`.
    """
    passed = compared.case.passed_tensors if len(compared.asked) == 1 else ()
    given = next((name for name, tensor in passed if same(tensor, compared.asked[0])), "")
    if not given:
        return None
    others = compared.case.steps[-1].arguments.items()
    plain = tuple(f"{name}={value}" for name, value in others if not isinstance(value, dict))
    return ShouldComeBack(given, plain)


def left_unused(compared: Comparison) -> int | None:
    """Return the place of the first right value that nothing uses; None if there is none.

    A value counts only if the attempt lacks what right answers compute from it (see `is_missing`).
    """
    left = set(compared.trace.unused)
    had = {i for at, found in enumerate(compared.matches) for i in found if at not in left}
    told = [at for at in compared.trace.unused if compared.stages[at].line]
    return next((at for at in told if is_missing(compared, compared.matches[at], had)), None)


def is_missing(compared: Comparison, matches: list[int], had: set[int]) -> bool:
    """Return True if the attempt has these right values nowhere else, and lacks what follows.

    It lacks that if the solution computes values from one of them that are all missing. matches:
    the places of the right values. had: the places that the attempt also has.
    """
    if not had.isdisjoint(matches):
        return False
    stages = compared.right.stages
    made = [{i for i, stage in enumerate(stages) if at in stage.inputs} for at in matches]
    return any(ones and ones.isdisjoint(had) for ones in made)


def right_elsewhere(compared: Comparison, roots: list[int]) -> Divergence | None:
    """Return the divergence if all values are right, but the wrong ones are returned.

    None if no line of a return is known, or if some expected result was never computed.
    """
    expected = [t for name, t in compared.expected.tensors.items() if name.startswith("result")]
    if len(compared.trace.returned) != len(expected):
        known = [at for at, stage in enumerate(compared.stages) if stage.value is not None]
        made = all(any(compared.is_right_result(at, t) for at in known) for t in expected)
        last = compared.trace.last
        return Divergence(last, what=ReturnsOtherNumber()) if made and last else None
    wrong = next((at for at in roots if not compared.matches[at]), None)
    line = compared.trace.last if wrong is None else compared.stages[wrong].line
    return Divergence(line) if line else None


def before_error(compared: Comparison, line: int | None) -> Divergence | None:
    """Return the divergence at an error, or at an earlier value that no right answer has.

    That value has right numbers in wrong places, or led to a wrong shape in the operation that
    failed. line: of the error; without one, return None.
    """
    if not line:
        return None
    lost = [at for at, passes in enumerate(compared.passes) if not passes and compared.counts(at)]
    if misplaced := [at for at in lost if compared.is_misplaced(at)]:
        return with_all_lines(compared, misplaced[0], misplaced, described(compared, misplaced[0]))
    cause = compared.first_lost([at for at in compared.trace.failed if at in lost])
    if cause is None or compared.stages[cause].line == line or not compared.is_misfit(cause):
        return Divergence(line, raised=True)
    if (start := misfit_start(compared, cause)) is not None:
        return Divergence(compared.stages[start].line, what=UnknownShape())
    return with_all_lines(compared, cause, [cause], described(compared, cause))


def holds_right_results(compared: Comparison) -> bool:
    """Return True if more was returned than asked for, and it includes all expected results."""
    known = [at for at in compared.trace.returned if compared.stages[at].value is not None]
    return len(compared.trace.returned) > len(compared.asked) > 0 and all(
        any(compared.is_right_result(at, expected) for at in known) for expected in compared.asked
    )


def nothing_back(compared: Comparison) -> bool:
    """Return True if nothing was returned although a tensor is asked for."""
    told = [one for name, one in compared.observed.values.items() if name.startswith("result")]
    other = any(one.get("type") != "NoneType" for one in told)
    return (
        bool(compared.asked)
        and not compared.trace.returned
        and not other
        and compared.trace.last > 0
    )


def returned_early(compared: Comparison, roots: list[int]) -> Divergence | None:
    """Return the divergence for a right value that is returned in place of the result, or None.

    An equal value in right answers must have exactly the same shape, including sizes of 1.
    """
    for at in roots:
        value = compared.stages[at].value
        equal = (compared.right.stages[i].value for i in compared.matches[at])
        right = value is not None and any(v is not None and v.shape == value.shape for v in equal)
        if right and (names := compared.names(at)):
            line = compared.trace.last or compared.stages[at].line
            what = ReturnsEarlierValue(names[0])
            return Divergence(line, names[0], *compared.reached(at), what)
    return None
