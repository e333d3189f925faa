"""Remarks on a wrong result if no known mistake matches: facts, never guesses."""

from itertools import permutations

import torch

from ..exchange.cases import Case
from ..exchange.text import listed

CLOSE = 1e-3  # the largest difference of a sum from 1 that counts as none
STEADY = 1e-4  # the largest relative difference of factors that counts as none
ORIGINS = "infinity - infinity and the root of a negative number give NaN too"


def remarks(case: Case, actual: torch.Tensor | None, expected: torch.Tensor) -> tuple[str, ...]:
    """Return remarks on a result that differs from the expected one."""
    if actual is None:
        return ()
    of_numbers = not_numbers(actual, expected) or few_digits(actual, expected)
    if of_numbers := of_numbers or nearly_right(actual, expected):
        return (of_numbers,)
    found = (
        sums(actual, expected),
        returned_argument(case, actual),
        ratio(actual, expected),
        reordered(case, actual, expected),
    )
    return tuple(filter(None, found))


def not_numbers(actual: torch.Tensor, expected: torch.Tensor) -> str:
    """Return a remark about NaN, or about infinities that should not be there; or ""."""
    if not actual.is_floating_point():
        return ""
    if bool(actual.isnan().any()):
        return origin_of_nan(actual.isnan())
    if bool(actual.isinf().any()) and not bool(expected.isinf().any()):
        return (
            "some entries are infinite: an exponential overflowed, or a division or a logarithm "
            "met 0"
        )
    return ""


# The number of decimal digits that a dtype can represent.
FEW_DIGITS = {torch.float16: "three", torch.bfloat16: "two"}


def few_digits(actual: torch.Tensor, expected: torch.Tensor) -> str:
    """Return a remark about a dtype that is too coarse or that holds only integers; or "".

    >>> few_digits(torch.ones(2).half(), torch.ones(2))
    'its dtype is torch.float16, which keeps only about three digits'
    """
    if actual.dtype in FEW_DIGITS and expected.dtype not in FEW_DIGITS:
        digits = FEW_DIGITS[actual.dtype]
        return f"its dtype is {actual.dtype}, which keeps only about {digits} digits"
    if expected.is_floating_point() and not actual.is_floating_point():
        return f"its dtype is {actual.dtype}, which keeps only integers"
    return ""


FEWEST_DIGITS = 3  # equal digits; with fewer, the formula is probably wrong


def nearly_right(actual: torch.Tensor, expected: torch.Tensor) -> str:
    """Return a remark if a result agrees with the expected one to several digits; else "".

    >>> nearly_right(torch.tensor([1.0, 2.0]), torch.tensor([1.00001, 2.0]))[:54]
    'it agrees with the expected result to about 5 digits. '
    """
    if actual.shape != expected.shape or not expected.is_floating_point():
        return ""
    right = expected.double()
    size, gap = right.abs().max(), (actual.double() - right).abs().max()
    if not gap.isfinite() or not 0 < gap < size * 10.0**-FEWEST_DIGITS:
        return ""
    digits = int(-(gap / size).log10() + 0.5)
    return (
        f"it agrees with the expected result to about {digits} digits. Is something rounded on "
        "the way, or is a small constant different?"
    )


def origin_of_nan(nan: torch.Tensor) -> str:
    """Return a remark on the origin of NaN, judged by its places (a mask)."""
    if bool(nan.all()):
        return (
            "every entry is NaN, which comes from 0 / 0, infinity - infinity, infinity / infinity, "
            "0 * infinity or the root of a negative number, and spreads through sums and products"
        )
    if nan.ndim > 1 and torch.equal(nan.any(dim=-1), nan.all(dim=-1)):
        rows = nan.any(dim=-1)
        first = bool(rows[..., 0].all()) and not bool(rows[..., 1:].any())
        which = "the first row" if first else "whole rows"
        how = "as after a softmax over nothing but -inf, or after 0 / 0"
        return f"NaN fills {which}, {how}; {ORIGINS}"
    return f"some entries are NaN, as after 0 / 0, 0 * infinity or infinity / infinity; {ORIGINS}"


def sums(actual: torch.Tensor, expected: torch.Tensor) -> str:
    """Return a remark about rows that do not sum to 1, or "".

    The expected values are used only to decide if they are weights: no value is negative, all rows
    sum to 1, and not all values are 0 or 1. For other expected values, return "".

    >>> even = torch.full((2, 4), 0.25)
    >>> sums(torch.full((2, 4), 0.5), even)
    'its columns sum to 1, and its rows do not'
    """
    if expected.ndim == 0 or not sums_to_one(expected, -1) or bool((expected < 0).any()):
        return ""
    if bool(((expected == 0) | (expected == 1)).all()):  # not weights, but a mask or one-hot rows
        return ""
    if sums_to_one(actual, -1):
        return "it has negative entries" if bool((actual < 0).any()) else ""
    return what_sums_to_one(actual) or sizes_of_sums(actual)


def sums_to_one(tensor: torch.Tensor, dim: int) -> bool:
    """Return True if all sums along a dimension are 1."""
    return bool(((tensor.double().sum(dim=dim) - 1).abs() < CLOSE).all())


def what_sums_to_one(actual: torch.Tensor) -> str:
    """Return a remark if columns or all entries sum to 1 instead of the rows, or "".

    If all rows but one are 0, the entries sum to 1 only by chance.

    >>> what_sums_to_one(torch.tensor([[0.0, 0.0], [0.4, 0.6]]))
    ''
    """
    if actual.ndim > 1 and sums_to_one(actual, -2):
        return "its columns sum to 1, and its rows do not"
    rows = actual.double().sum(dim=-1)
    if actual.ndim > 1 and abs(float(rows.sum()) - 1) < CLOSE < float((rows - 1).abs().min()):
        return "all its entries together sum to 1; each row should sum to 1"
    return ""


def sizes_of_sums(actual: torch.Tensor) -> str:
    """Return a remark on the size of the sums."""
    totals = actual.double().sum(dim=-1)
    least, most = float(totals.min()), float(totals.max())
    if most - least < CLOSE:
        rows = "every row sums" if actual.ndim > 1 else "its entries sum"
        return f"{rows} to {least:.4g} instead of 1"
    return f"its rows should sum to 1; their sums are between {least:.4g} and {most:.4g}"


def returned_argument(case: Case, actual: torch.Tensor) -> str:
    """Return a remark that names the argument that was returned unchanged, or ""."""
    alike = [(name, t) for name, t in case.passed_tensors if t.shape == actual.shape]
    names = (name for name, t in alike if torch.equal(t.double(), actual.double()))
    return next((f"it is `{name}`, unchanged" for name in names if actual.numel() > 1), "")


def ratio(actual: torch.Tensor, expected: torch.Tensor) -> str:
    """Return a remark on a constant factor between a result and the expected one, or ""."""
    if actual.shape != expected.shape or not actual.is_floating_point():
        return ""
    factor = constant(actual.double(), expected.double())
    if factor is None or f"{factor:.4g}" == "1":
        return ""
    why = ": the sign is the wrong way round" if abs(factor + 1) < STEADY else ""
    return f"it is the expected result times {factor:.4g}{why}"


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


def reordered(case: Case, actual: torch.Tensor, expected: torch.Tensor) -> str:
    """Return a remark on how the expected values would have to move to give these; or "".

    If an input equals its transpose, transposed results are not reported.
    """
    if actual.numel() != expected.numel() or actual.numel() < 2:
        return ""
    actual, expected = actual.double(), expected.double()
    if actual.shape == expected.shape and torch.allclose(actual, expected, atol=1e-5):
        return ""
    how = "" if has_symmetric_input(case) else swapped(actual, expected)
    return how or ("" if has_equal_numbers(case) else scattered(actual, expected))


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


def swapped(actual: torch.Tensor, expected: torch.Tensor) -> str:
    """Return a remark on swapped dimensions, or ""."""
    if actual.ndim != expected.ndim or actual.ndim > 4:
        return ""
    for order in list(permutations(range(actual.ndim)))[1:]:
        turned = expected.permute(order)
        if turned.shape == actual.shape and torch.allclose(turned, actual, atol=1e-5):
            moved = listed(dim for dim, place in enumerate(order) if dim != place)
            return f"it is right, except that its dimensions {moved} are swapped"
    return ""


def scattered(actual: torch.Tensor, expected: torch.Tensor) -> str:
    """Return a remark on right numbers in other places, or ""."""
    ours, right = (one.flatten().sort().values for one in (actual, expected))
    return (
        "it has the right numbers in the wrong places"
        if torch.allclose(ours, right, atol=1e-5)
        else ""
    )
