"""The decorator with which a project audits attention in its own tests."""

import pytest

from tensorgrade import audit


def attention_without_scale(q, k, v):
    """Return wrong attention."""
    return (q @ k.mT).softmax(-1) @ v


def test_the_decorator_fails_with_the_report():
    @audit.attention
    def returns_wrong_attention():
        return attention_without_scale

    with pytest.raises(AssertionError, match="not divided by sqrt"):
        returns_wrong_attention()
