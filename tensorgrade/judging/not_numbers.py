"""Where NaN and infinity stand in a result, and what that says about their origin."""

import torch


def not_numbers(actual: torch.Tensor, expected: torch.Tensor) -> str:
    """A sentence about NaN, or about infinities where there should be none; or nothing.

    >>> not_numbers(torch.tensor([1.0, torch.inf]), torch.zeros(2))
    'it holds infinities: an exponential overflowed, or something was divided by 0'
    """
    if not actual.is_floating_point():
        return ""
    if bool(actual.isnan().any()):
        return origin_of_nan(actual.isnan())
    if bool(actual.isinf().any()) and not bool(expected.isinf().any()):
        return "it holds infinities: an exponential overflowed, or something was divided by 0"
    return ""


def origin_of_nan(nan: torch.Tensor) -> str:
    """What the places of NaN (a mask) say."""
    if bool(nan.all()):
        return "everything is NaN: a single one spreads to all that it is added to or multiplied by"
    if nan.ndim > 1 and torch.equal(nan.any(dim=-1), nan.all(dim=-1)):
        rows = nan.any(dim=-1)
        which = "the first row" if only_first(rows) else "whole rows"
        return f"NaN fills {which}: 0 divided by 0, or a softmax over nothing but -inf"
    return "NaN stands at single places: 0 times infinity, infinity minus infinity, or 0 divided by 0"


def only_first(rows: torch.Tensor) -> bool:
    """Whether of the rows (last dimension of this mask) just the first is hit, everywhere."""
    return bool(rows[..., 0].all()) and not bool(rows[..., 1:].any())
