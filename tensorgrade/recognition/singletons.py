"""Results that are right but for dimensions of size 1, which `squeeze` takes away."""

from dataclasses import replace

import torch

from ..exchange.observation import Observation
from ..exchange.references import Seen
from ..runner.case_runner import MISMATCH
from .signatures import Signature, imprint


def sizes(tensor: torch.Tensor) -> list[int]:
    """A tensor's shape without its dimensions of size 1."""
    return [size for size in tensor.shape if size != 1]


def is_squeezed(actual: torch.Tensor, expected: torch.Tensor) -> bool:
    """Whether a tensor has lost dimensions of size 1, and its shape is right in all else.

    >>> is_squeezed(torch.ones(4, 3), torch.ones(1, 4, 3))
    True
    """
    return actual.dim() < expected.dim() and sizes(actual) == sizes(expected)


def only_squeezed(seen: list[Seen], own: dict[str, Signature]) -> bool:
    """Whether some results have lost dimensions of size 1, and nothing else is wrong in any case.

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
    """The same with the lost dimensions given back, if there are any.

    Its gradients could not be asked for where the result had another shape: they count as right.
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
