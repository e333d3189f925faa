"""Remarks on a wrong result if no known mistake matches: facts, never guesses."""

from collections.abc import Iterator
from itertools import permutations

import torch

from ..exchange.cases import Case
from ..messages.message import Message
from ..messages.remarks import (
    Argument,
    CoarseDtype,
    ColumnsSumToOne,
    Compared,
    EverythingNaN,
    EverythingSumsToOne,
    HoldsInfinities,
    IntegerDtype,
    IsArgument,
    LooksLike,
    NaNAtSinglePlaces,
    NaNInRows,
    NearlyRight,
    NegativeEntries,
    NumberOfSlices,
    NumbersInOtherPlaces,
    Reshaped,
    SignTurned,
    Slices,
    Sum,
    SumOfEntries,
    SumOfEveryRow,
    SumsOfRows,
    SwappedDimensions,
    TimesFactor,
)

CLOSE = 1e-3  # the largest difference of a sum from 1 that counts as none
STEADY = 1e-4  # the largest relative difference of factors that counts as none


def remarks(
    case: Case,
    actual: torch.Tensor | None,
    expected: torch.Tensor,
    hidden: bool,
    compared: Compared = Compared.RESULT,
) -> tuple[Message, ...]:
    """Return remarks on a value that differs from the expected one.

    On hidden cases, they use only the learner's own values and what the exercise's text says of any
    right result. On public cases, they also use the expected values. compared: the kind of value.
    """
    if actual is None:
        return ()
    of_numbers = not_numbers(actual, expected) or few_digits(actual, expected)
    if of_numbers := of_numbers or (None if hidden else nearly_right(actual, expected)):
        return (of_numbers,)
    found = [sums(actual, expected), returned_argument(case, actual)]
    if not hidden:
        found += [ratios(case, actual, expected, compared), reordered(actual, expected, case)]
    return tuple(filter(None, found))


def not_numbers(actual: torch.Tensor, expected: torch.Tensor) -> Message | None:
    """Return a remark about NaN, or about infinities that should not be there; or None.

    >>> not_numbers(torch.tensor([1.0, torch.inf]), torch.zeros(2))
    HoldsInfinities()
    """
    if not actual.is_floating_point():
        return None
    if bool(actual.isnan().any()):
        return origin_of_nan(actual.isnan())
    if bool(actual.isinf().any()) and not bool(expected.isinf().any()):
        return HoldsInfinities()
    return None


# The number of decimal digits that a dtype can represent.
FEW_DIGITS = {torch.float16: "three", torch.bfloat16: "two"}


def few_digits(actual: torch.Tensor, expected: torch.Tensor) -> Message | None:
    """Return a remark about a dtype that is too coarse or that holds only integers; or None.

    >>> few_digits(torch.ones(2).half(), torch.ones(2))
    CoarseDtype(dtype='torch.float16', digits='three')
    """
    if actual.dtype in FEW_DIGITS and expected.dtype not in FEW_DIGITS:
        return CoarseDtype(str(actual.dtype), FEW_DIGITS[actual.dtype])
    if expected.is_floating_point() and not actual.is_floating_point():
        return IntegerDtype(str(actual.dtype))
    return None


FEWEST_DIGITS = 3  # equal digits; with fewer, the formula is probably wrong


def nearly_right(actual: torch.Tensor, expected: torch.Tensor) -> NearlyRight | None:
    """Return a remark if a result agrees with the expected one to several digits; else None.

    >>> nearly_right(torch.tensor([1.0, 2.0]), torch.tensor([1.00001, 2.0]))
    NearlyRight(digits=5)
    """
    if actual.shape != expected.shape or not expected.is_floating_point():
        return None
    right = expected.double()
    size, gap = right.abs().max(), (actual.double() - right).abs().max()
    if not gap.isfinite() or not 0 < gap < size * 10.0**-FEWEST_DIGITS:
        return None
    return NearlyRight(int(-(gap / size).log10() + 0.5))


def origin_of_nan(nan: torch.Tensor) -> Message:
    """Return a remark on the origin of NaN, judged by its places (a mask)."""
    if bool(nan.all()):
        return EverythingNaN()
    if nan.ndim > 1 and torch.equal(nan.any(dim=-1), nan.all(dim=-1)):
        return NaNInRows(only_first(nan.any(dim=-1)))
    return NaNAtSinglePlaces()


def only_first(rows: torch.Tensor) -> bool:
    """Return True if a mask of rows (its last dimension) is True only for the first row."""
    return bool(rows[..., 0].all()) and not bool(rows[..., 1:].any())


def sums(actual: torch.Tensor, expected: torch.Tensor) -> Message | None:
    """Return a remark about rows that do not sum to 1, or None.

    The expected values are used only to decide if they are weights: no value is negative, all rows
    sum to 1, and not all values are 0 or 1. For other expected values, return None.

    >>> even = torch.full((2, 4), 0.25)
    >>> sums(torch.full((2, 4), 0.5), even)
    ColumnsSumToOne()
    """
    if expected.ndim == 0 or not sums_to_one(expected, -1) or bool((expected < 0).any()):
        return None
    if bool(((expected == 0) | (expected == 1)).all()):  # not weights, but a mask or one-hot rows
        return None
    if sums_to_one(actual, -1):
        return NegativeEntries() if bool((actual < 0).any()) else None
    return what_sums_to_one(actual) or sizes_of_sums(actual)


def sums_to_one(tensor: torch.Tensor, dim: int) -> bool:
    """Return True if all sums along a dimension are 1."""
    return bool(((tensor.double().sum(dim=dim) - 1).abs() < CLOSE).all())


def what_sums_to_one(actual: torch.Tensor) -> Message | None:
    """Return a remark if columns or all entries sum to 1 instead of the rows, or None.

    If all rows but one are 0, the entries sum to 1 only by chance.

    >>> what_sums_to_one(torch.tensor([[0.0, 0.0], [0.4, 0.6]]))
    """
    if actual.ndim > 1 and sums_to_one(actual, -2):
        return ColumnsSumToOne()
    rows = actual.double().sum(dim=-1)
    if actual.ndim > 1 and abs(float(rows.sum()) - 1) < CLOSE < float((rows - 1).abs().min()):
        return EverythingSumsToOne()
    return None


def sizes_of_sums(actual: torch.Tensor) -> Message:
    """Return a remark on the size of the sums."""
    totals = actual.double().sum(dim=-1)
    least, most = float(totals.min()), float(totals.max())
    if actual.ndim <= 1:
        return SumOfEntries(Sum(least))
    if most - least < CLOSE:
        return SumOfEveryRow(Sum(least))
    return SumsOfRows(Sum(least), Sum(most))


def returned_argument(case: Case, actual: torch.Tensor) -> Message | None:
    """Return a remark that names the argument that was returned unchanged, or None."""
    for name, tensor in case.passed_tensors:
        if same(actual, tensor):
            return IsArgument(name)
    return None


def same(left: torch.Tensor, right: torch.Tensor) -> bool:
    """Return True if shapes and values are equal, in any dtype; False for a single number."""
    return (
        left.numel() > 1
        and left.shape == right.shape
        and torch.equal(left.double(), right.double())
    )


def ratios(
    case: Case,
    actual: torch.Tensor,
    expected: torch.Tensor,
    compared: Compared = Compared.RESULT,
) -> Message | None:
    """Return a remark on a constant factor between two tensors, or None."""
    if actual.shape != expected.shape or not actual.is_floating_point():
        return None
    factor = constant(actual.double(), expected.double())
    if factor is not None:
        found = TimesFactor(compared, factor, origin(factor, case))
        return None if rounded(factor) == 1 else found
    return None


def rounded(factor: float) -> float:
    """Return a factor with the four digits that messages show.

    >>> rounded(0.99996), rounded(1.0016)
    (1.0, 1.002)
    """
    return float(f"{factor:.4g}")


def constant(actual: torch.Tensor, expected: torch.Tensor) -> float | None:
    """Return the constant factor between two tensors; None if it varies, or for one number.

    >>> constant(torch.tensor([2.0, 0, 4]), torch.tensor([1.0, 0, 2]))
    2.0
    """
    filled = expected != 0
    if filled.sum() < 2 or not torch.equal(filled, actual != 0) or not actual.isfinite().all():
        return None
    factors = actual[filled] / expected[filled]
    middle = float(factors.median())
    return middle if float((factors - middle).abs().max()) < STEADY * abs(middle) else None


def origin(factor: float, case: Case) -> Message | None:
    """Return an expression in the numbers of a case for a factor, such as 1/sqrt(4); or None.

    None too if two expressions in the same number give the factor, such as 0.5 and 1 - 0.5.
    """
    if abs(factor + 1) < STEADY:
        return SignTurned()
    for number, meaning in numbers(case):
        found = [
            form for form, value in forms(number).items() if abs(factor - value) < STEADY * value
        ]
        if found:
            return LooksLike(number, meaning, found[0]) if len(found) == 1 else None
    return None


def forms(number: float) -> dict[str, float]:
    """Return by spelling a number (spelled ""), its root and their reciprocals.

    For a number below 1, also 1 minus the number, and its reciprocal.

    >>> list(forms(4))
    ['', '1/4', 'sqrt(4)', '1/sqrt(4)']
    """
    n, root = f"{number:g}", number**0.5
    values = {"": number, f"1/{n}": 1 / number, f"sqrt({n})": root, f"1/sqrt({n})": 1 / root}
    if number < 1:
        values |= {f"1 - {n}": 1 - number, f"1/(1 - {n})": 1 / (1 - number)}
    return values


def numbers(case: Case) -> Iterator[tuple[float, Message]]:
    """Yield (number, its meaning) for the numbers passed in, then for the sizes of the tensors."""
    passed = case.passed
    for name, value in passed:
        if (
            isinstance(value, (int, float))
            and not isinstance(value, bool)
            and value > 0
            and value != 1
        ):
            yield value, Argument(name)
    for name, value in passed:
        if isinstance(value, dict) and "tensor" in value:
            shape = case.tensors[value["tensor"]].shape
            for dim in reversed(range(len(shape))):
                if shape[dim] > 1:
                    yield shape[dim], NumberOfSlices(Slices(dim, len(shape)), name)


def reordered(
    actual: torch.Tensor, expected: torch.Tensor, case: Case | None = None
) -> Message | None:
    """Return a remark on how the expected values would have to move to give these; or None.

    case: if its inputs are equal to their transpose, transposed results are not reported.

    >>> reordered(torch.tensor([[3.0, 4], [1, 2]]), torch.tensor([[1.0, 2], [3, 4]]))
    NumbersInOtherPlaces()
    """
    if actual.numel() != expected.numel() or actual.numel() < 2:
        return None
    actual, expected = actual.double(), expected.double()
    if actual.shape == expected.shape and torch.allclose(actual, expected, atol=1e-5):
        return None
    how = None if case and has_symmetric_input(case) else swapped(actual, expected)
    how = how or reshaped(actual, expected)
    if how or (case and has_equal_numbers(case)):
        return how
    return scattered(actual, expected)


def has_symmetric_input(case: Case) -> bool:
    """Return True if a tensor of the case, argument or weight, is equal to its transpose."""
    return any(
        t.ndim > 1 and t.shape[-1] == t.shape[-2] > 1 and torch.equal(t, t.mT)
        for t in case.tensors.values()
    )


def has_equal_numbers(case: Case) -> bool:
    """Return True if an argument is a constant tensor, such as one of ones.

    Then results may have the right numbers in another order by chance.
    """
    floats = (t for _, t in case.passed_tensors if t.is_floating_point() and t.numel() > 1)
    return any(bool((t == t.flatten()[0]).all()) for t in floats)


def swapped(actual: torch.Tensor, expected: torch.Tensor) -> Message | None:
    """Return a remark on swapped dimensions, or None."""
    if actual.ndim != expected.ndim or actual.ndim > 4:
        return None
    for order in list(permutations(range(actual.ndim)))[1:]:
        turned = expected.permute(order)
        if turned.shape == actual.shape and torch.allclose(turned, actual, atol=1e-5):
            return SwappedDimensions(tuple(d for d, place in enumerate(order) if d != place))
    return None


def reshaped(actual: torch.Tensor, expected: torch.Tensor) -> Message | None:
    """Return a remark on right numbers in the right order but another shape; or None."""
    same_numbers = torch.allclose(actual.flatten(), expected.flatten(), atol=1e-5)
    if actual.shape == expected.shape or not same_numbers:
        return None
    return Reshaped(tuple(expected.shape))


def scattered(actual: torch.Tensor, expected: torch.Tensor) -> Message | None:
    """Return a remark on right numbers in other places, or None."""
    same = torch.allclose(
        actual.flatten().sort().values, expected.flatten().sort().values, atol=1e-5
    )
    return NumbersInOtherPlaces() if same else None
