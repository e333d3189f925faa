"""The name of equal wrong answers: secret, and the same on every machine that builds."""

from dataclasses import replace

import torch

from tensorgrade.attempts.recognized import secret_of

from ..support import stored_references

CHAPTER = "ch1_simplified_attention"


def moved(entries, by: float):
    """The same cases, each right result off by some share."""
    return [
        (case, replace(seen, tensors={n: t * (1 + by) for n, t in seen.tensors.items()}))
        for case, seen in entries
    ]


def test_the_last_digit_of_a_right_result_does_not_count(project):
    entries = stored_references(project, CHAPTER).of("softmax")
    assert any(t.dtype == torch.float64 for _, seen in entries for t in seen.tensors.values())
    assert secret_of(moved(entries, 1e-7)) == secret_of(entries) != secret_of(moved(entries, 0.1))
