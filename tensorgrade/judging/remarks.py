"""What can be said about a wrong result where no known mistake matches: facts, never a guess."""

from collections.abc import Iterator
from itertools import permutations

import torch

from ..exchange.cases import Case, spoken_shape
from .agreement import FROM_0, dimension_name, listed, plural_of

CLOSE = 1e-3
STEADY = 1e-4


def remarks(
    case: Case, actual: torch.Tensor | None, expected: torch.Tensor, hidden: bool
) -> tuple[str, ...]:
    """Sentences about a result that disagrees.

    On hidden cases they rest on the learner's own values and on what the exercise's text says of
    any right result; only on public ones on the expected values too.
    """
    if actual is None:
        return ()
    sentences = [not_numbers(actual, expected) or few_digits(actual, expected)]
    if not sentences[0]:
        sentences += [sums(actual, expected), echoes(case, actual)]
        if not hidden:
            sentences += [ratios(case, actual, expected), reordered(actual, expected, case)]
    return tuple(filter(None, sentences))


def not_numbers(actual: torch.Tensor, expected: torch.Tensor) -> str:
    """A sentence about NaN, or about infinities where there should be none; or nothing.

    >>> not_numbers(torch.tensor([1.0, torch.inf]), torch.zeros(2))
    'it holds infinities: an exponential overflowed, or a division or a logarithm met 0'
    """
    if not actual.is_floating_point():
        return ""
    if bool(actual.isnan().any()):
        return origin_of_nan(actual.isnan())
    if bool(actual.isinf().any()) and not bool(expected.isinf().any()):
        return INFINITIES if expected.is_floating_point() else NO_NUMBERS_ASKED
    return ""


INFINITIES = "it holds infinities: an exponential overflowed, or a division or a logarithm met 0"
NO_NUMBERS_ASKED = "it holds infinities where no numbers are asked for, but True or False"
# How many digits a dtype keeps.
FEW_DIGITS = {torch.float16: "three", torch.bfloat16: "two"}


def few_digits(actual: torch.Tensor, expected: torch.Tensor) -> str:
    """A sentence about a dtype that is too coarse, or that holds whole numbers only; or nothing.

    >>> few_digits(torch.ones(2).half(), torch.ones(2))
    'it is torch.float16, which keeps three digits'
    """
    if actual.dtype in FEW_DIGITS and expected.dtype not in FEW_DIGITS:
        return f"it is {actual.dtype}, which keeps {FEW_DIGITS[actual.dtype]} digits"
    if expected.is_floating_point() and not actual.is_floating_point():
        return f"it is {actual.dtype}, which keeps no fractions"
    return ""


def origin_of_nan(nan: torch.Tensor) -> str:
    """What the places of NaN (a mask) say."""
    if bool(nan.all()):
        return (
            "everything is NaN: 0 divided by 0 gives it, and so do 0 times infinity, infinity "
            "minus or divided by infinity, and roots of what is negative; a single one spreads to "
            "all that it is added to or multiplied by"
        )
    if nan.ndim > 1 and torch.equal(nan.any(dim=-1), nan.all(dim=-1)):
        rows = nan.any(dim=-1)
        which = "the first row" if only_first(rows) else "whole rows"
        return (
            f"NaN fills {which}, as a softmax over nothing but -inf gives it; so do 0 divided by "
            "0, infinity minus or divided by infinity, and roots of what is negative"
        )
    return (
        "NaN stands at single places, as 0 times infinity gives it; so do 0 divided by 0, infinity "
        "minus or divided by infinity, and roots of what is negative"
    )


def only_first(rows: torch.Tensor) -> bool:
    """Whether of the rows (last dimension of this mask) just the first is hit, everywhere."""
    return bool(rows[..., 0].all()) and not bool(rows[..., 1:].any())


def sums(actual: torch.Tensor, expected: torch.Tensor) -> str:
    """A sentence, or nothing. Of the expected values only this is used: do their rows sum to 1?

    >>> even = torch.full((2, 4), 0.25)
    >>> sums(torch.full((2, 4), 0.5), even)
    'its columns sum to 1, its rows do not'
    """
    if expected.ndim == 0 or not sums_to_one(expected, -1) or bool((expected < 0).any()):
        return ""
    if bool(((expected == 0) | (expected == 1)).all()):  # other things come out as 0 and 1, too
        return ""
    if sums_to_one(actual, -1):
        return "it has negative entries" if bool((actual < 0).any()) else ""
    return what_sums_to_one(actual) or sizes_of_sums(actual)


def sums_to_one(tensor: torch.Tensor, dim: int) -> bool:
    """Whether all sums along a dimension are 1."""
    return bool(((tensor.double().sum(dim=dim) - 1).abs() < CLOSE).all())


def what_sums_to_one(actual: torch.Tensor) -> str:
    """What sums to 1 where the rows do not."""
    if actual.ndim > 1 and sums_to_one(actual, -2):
        return "its columns sum to 1, its rows do not"
    if actual.ndim > 1 and abs(float(actual.double().sum()) - 1) < CLOSE:
        return "all its entries together sum to 1; each row should"
    return ""


def sizes_of_sums(actual: torch.Tensor) -> str:
    """How large the sums are instead."""
    totals = actual.double().sum(dim=-1)
    least, most = float(totals.min()), float(totals.max())
    low, high = map(spoken_sum, (least, most))
    if actual.ndim <= 1:
        return f"its entries sum to {low}, not to 1"
    if most - least < CLOSE:
        return f"every row sums to {low}, not to 1"
    return f"its rows do not sum to 1, but to something between {low} and {high}"


def spoken_sum(total: float) -> str:
    """A sum that is not 1.

    >>> spoken_sum(1.004), spoken_sum(1.00004)
    ('1.004', 'nearly 1')
    """
    text = f"{total:.4g}"
    return "nearly 1" if text == "1" else text


def echoes(case: Case, actual: torch.Tensor) -> str:
    """A sentence that names the input, or nothing."""
    for step in case.steps:
        for name, value in step.get("arguments", {}).items():
            passed = isinstance(value, dict) and "tensor" in value
            if passed and same(actual, case.tensors[value["tensor"]]):
                return f"it is `{name}`, just as it was passed in"
    return ""


def same(left: torch.Tensor, right: torch.Tensor) -> bool:
    """Equal in shape and value, whatever the dtype; a single number says nothing."""
    return (
        left.numel() > 1
        and left.shape == right.shape
        and torch.equal(left.double(), right.double())
    )


def ratios(case: Case, actual: torch.Tensor, expected: torch.Tensor) -> str:
    """A sentence, or nothing."""
    if actual.shape != expected.shape or not actual.is_floating_point():
        return ""
    factor = constant(actual.double(), expected.double())
    if factor is not None:
        what = f"it is the expected result times {factor:.4g}{origin(factor, case)}"
        return "" if is_spoken_as_one(factor) else what
    factor = sharpness(actual.double(), expected.double())
    if factor is not None and not is_spoken_as_one(factor):
        return (
            f"it looks as if what goes into the softmax were {factor:.4g} times as large as it "
            f"should be{origin(factor, case)}"
        )
    return ""


def is_spoken_as_one(factor: float) -> bool:
    """Whether nothing is left of a factor in the digits that are told of it."""
    return f"{factor:.4g}" == "1"


def constant(actual: torch.Tensor, expected: torch.Tensor) -> float | None:
    """The one factor between two tensors, if there is one (and more than a single number to tell).

    >>> constant(torch.tensor([2.0, 0, 4]), torch.tensor([1.0, 0, 2]))
    2.0
    """
    filled = expected != 0
    if filled.sum() < 2 or not torch.equal(filled, actual != 0) or not actual.isfinite().all():
        return None
    factors = actual[filled] / expected[filled]
    middle = float(factors.median())
    return middle if float((factors - middle).abs().max()) < STEADY * abs(middle) else None


def sharpness(actual: torch.Tensor, expected: torch.Tensor) -> float | None:
    """For rows of weights: by what factor the logarithms' spread differs, if by one everywhere."""
    if actual.ndim == 0 or not (sums_to_one(actual, -1) and sums_to_one(expected, -1)):
        return None
    filled = expected > 0
    if not torch.equal(filled, actual > 0):
        return None
    return constant(spread(actual, filled), spread(expected, filled))


def spread(weights: torch.Tensor, filled: torch.Tensor) -> torch.Tensor:
    """Logarithms less their row's mean; 0 where there is no weight, or all alike."""
    logs = weights.where(filled, torch.ones_like(weights)).log()
    mean = logs.sum(dim=-1, keepdim=True) / filled.sum(dim=-1, keepdim=True)
    centred = (logs - mean).where(filled, torch.zeros_like(logs))
    return centred.where(centred.abs() > 1e-9, torch.zeros_like(centred))


def origin(factor: float, case: Case) -> str:
    """What a factor looks like among the numbers of a case: `, which is 1/sqrt(4); 4 is `size``."""
    if abs(factor + 1) < STEADY:
        return ": its sign is turned around"
    for number, meaning in numbers(case):
        for form, value in forms(number).items():
            if abs(factor - value) < STEADY * value:
                own = "" if form == f"{number:g}" else f"{form}; {number:g} is "
                return f", which is {own}{meaning}"
    return ""


def forms(number: float) -> dict[str, float]:
    """A number, its root, and what it is to divide by them."""
    n, root = f"{number:g}", number**0.5
    values = {n: number, f"1/{n}": 1 / number, f"sqrt({n})": root, f"1/sqrt({n})": 1 / root}
    if number < 1:
        values |= {f"1 - {n}": 1 - number, f"1/(1 - {n})": 1 / (1 - number)}
    return values


def numbers(case: Case) -> Iterator[tuple[float, str]]:
    """(number, what it is) for the numbers passed in, then for the sizes of the tensors."""
    passed = [item for step in case.steps for item in step.get("arguments", {}).items()]
    for name, value in passed:
        if (
            isinstance(value, (int, float))
            and not isinstance(value, bool)
            and value > 0
            and value != 1
        ):
            yield value, f"`{name}`"
    for name, value in passed:
        if isinstance(value, dict) and "tensor" in value:
            shape = case.tensors[value["tensor"]].shape
            for dim in reversed(range(len(shape))):
                if shape[dim] > 1:
                    yield shape[dim], f"the number of {counted(dim, len(shape))} of `{name}`"


def counted(dim: int, rank: int) -> str:
    """`rows`, `columns`, …"""
    return plural_of(dimension_name(dim, rank))


def reordered(actual: torch.Tensor, expected: torch.Tensor, case: Case | None = None) -> str:
    """A sentence on how the expected values would have to be moved to give these; or nothing.

    case: where its inputs are the same when they are turned, turned results say nothing.

    >>> reordered(torch.tensor([[3.0, 4], [1, 2]]), torch.tensor([[1.0, 2], [3, 4]]))
    'it has the right rows in another order: 1 and 0 (counted from 0)'
    """
    if actual.numel() != expected.numel() or actual.numel() < 2:
        return ""
    actual, expected = actual.double(), expected.double()
    if actual.shape == expected.shape and torch.allclose(actual, expected, atol=1e-5):
        return ""
    how = "" if case and has_symmetric_input(case) else swapped(actual, expected)
    how = how or reshaped(actual, expected)
    if not how and actual.shape == expected.shape:
        how = shuffled(actual, expected)
    return how or scattered(actual, expected)


def has_symmetric_input(case: Case) -> bool:
    """Whether rows and columns of something that was passed in are the same."""
    return any(
        t.ndim > 1 and t.shape[-1] == t.shape[-2] > 1 and torch.equal(t, t.mT)
        for t in case.tensors.values()
    )


def swapped(actual: torch.Tensor, expected: torch.Tensor) -> str:
    """Whether dimensions have changed places."""
    if actual.ndim != expected.ndim or actual.ndim > 4:
        return ""
    for order in list(permutations(range(actual.ndim)))[1:]:
        turned = expected.permute(order)
        if turned.shape == actual.shape and torch.allclose(turned, actual, atol=1e-5):
            moved = [d for d, place in enumerate(order) if d != place]
            return f"it is right but for its dimensions {listed(moved)}, which have changed places"
    return ""


def reshaped(actual: torch.Tensor, expected: torch.Tensor) -> str:
    """Whether the numbers are right, in order, in another shape."""
    if actual.shape == expected.shape or not torch.allclose(
        actual.flatten(), expected.flatten(), atol=1e-5
    ):
        return ""
    shape = spoken_shape(expected.shape)
    return f"its numbers are right and in order; the shape should be {shape}"


def shuffled(actual: torch.Tensor, expected: torch.Tensor) -> str:
    """Whether the slices along one dimension are right but in another order."""
    for dim in range(actual.ndim):
        order = order_of(actual.movedim(dim, 0), expected.movedim(dim, 0))
        if order and order != sorted(order):
            name = dimension_name(dim, actual.ndim).removesuffix(", index")
            told = f"{listed(order)}{FROM_0}"
            return f"it has the right {plural_of(name)} in another order: {told}"
    return ""


def order_of(actual: torch.Tensor, expected: torch.Tensor) -> list[int] | None:
    """Which expected slice stands at each place; None where one is no expected slice."""
    order: list[int] = []
    for part in actual:
        alike = [i for i, other in enumerate(expected) if torch.allclose(part, other, atol=1e-5)]
        if len(alike) != 1 or alike[0] in order:
            return None
        order += alike
    return order


def scattered(actual: torch.Tensor, expected: torch.Tensor) -> str:
    """Whether the same numbers are there, in whatever places."""
    same = torch.allclose(
        actual.flatten().sort().values, expected.flatten().sort().values, atol=1e-5
    )
    return "its numbers are right but stand in other places" if same else ""
