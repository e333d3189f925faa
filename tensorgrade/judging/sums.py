"""What the sums of rows and columns tell about a result whose rows should be shares of 1."""

import torch

CLOSE = 1e-3


def sums(actual: torch.Tensor, expected: torch.Tensor) -> str:
    """A sentence, or nothing. Of the expected values only this is used: do their rows sum to 1?

    >>> even = torch.full((2, 4), 0.25)
    >>> sums(torch.full((2, 4), 0.5), even)
    'its columns sum to 1, its rows do not'
    """
    if expected.ndim == 0 or not sums_to_one(expected, -1) or bool((expected < 0).any()):
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
    found = actual.double().sum(dim=-1)
    least, most = float(found.min()), float(found.max())
    if actual.ndim <= 1:
        return f"its entries sum to {least:.4g}, not to 1"
    if most - least < CLOSE:
        return f"every row sums to {least:.4g}, not to 1"
    return f"its rows do not sum to 1, but to something between {least:.4g} and {most:.4g}"
