"""Results that are correct except for dimensions of size 1, which `squeeze` removes."""

from dataclasses import replace

import torch

from ..exchange.observation import Observation
from ..exchange.references import Seen
from ..runner.steps import MISMATCH
from .signatures import Signature, imprint


def sizes(tensor: torch.Tensor) -> list[int]:
    """Return a tensor's shape without its dimensions of size 1."""
    return [size for size in tensor.shape if size != 1]


def is_squeezed(actual: torch.Tensor, expected: torch.Tensor) -> bool:
    """Return True if a tensor only lacks dimensions of size 1 and its shape is otherwise right.

    >>> is_squeezed(torch.ones(4, 3), torch.ones(1, 4, 3))
    True
    """
    return actual.dim() < expected.dim() and sizes(actual) == sizes(expected)


def only_squeezed(seen: list[Seen], own: dict[str, Signature]) -> bool:
    """Return True if some results lack dimensions of size 1 and everything else is right.

    own: the course's signatures.
    """
    whole = [Seen(case, right, unsqueezed(right, observed)) for case, right, observed in seen]
    if all(was.observed is now.observed for was, now in zip(seen, whole, strict=True)):
        return False
    return all(
        imprint(case, right, observed, own).matches(imprint(case, right, right, own))
        for case, right, observed in whole
    )


def unsqueezed(expected: Observation, observed: Observation) -> Observation:
    """Return the observation with the lost dimensions restored, if there are any.

    Its gradients could not be computed if the result had another shape, so they count as right.
    """
    tensors, asked = observed.tensors, expected.tensors
    lost = {n: t for n, t in tensors.items() if n in asked and is_squeezed(t, asked[n])}
    if not lost:
        return observed
    whole = tensors | {name: t.reshape(asked[name].shape) for name, t in lost.items()}
    if not (observed.error and observed.error.text.startswith(MISMATCH)):
        return replace(observed, tensors=whole)
    gradients = {name: t for name, t in asked.items() if name.startswith("gradient.")}
    return replace(observed, tensors=gradients | whole, error=None)
