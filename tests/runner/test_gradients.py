"""Gradients as torch gives them."""

import pytest
import torch

from tensorgrade.runner.steps import gradients


def both(results, leaves, seeds) -> list[tuple]:
    """The gradients by ours and by torch's own way."""
    theirs = torch.autograd.grad(
        results(), leaves, seeds, allow_unused=True, materialize_grads=False
    )
    return list(zip(gradients(results(), seeds, leaves), theirs, strict=True))


def test_they_are_torchs_bit_by_bit():
    torch.manual_seed(0)
    x = torch.randn(3, 4, requires_grad=True)
    unused = torch.ones(2, requires_grad=True)
    seeds = torch.randn(3, 4), torch.randn(3)
    for ours, theirs in both(lambda: (x.exp(), x.sum(-1)), [x, unused], seeds):
        assert (ours is None and theirs is None) or torch.equal(ours, theirs)


def test_a_shape_that_differs_is_said_in_torchs_words():
    x, seeds = torch.ones(2, 3, requires_grad=True), (torch.ones(3),)
    with pytest.raises(RuntimeError) as ours:
        gradients((x * 2,), seeds, [x])
    with pytest.raises(RuntimeError) as theirs:
        torch.autograd.grad((x * 2,), [x], seeds)
    assert str(ours.value) == str(theirs.value)
