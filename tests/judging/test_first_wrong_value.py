"""A wrong answer that has no name gets the line on which its values become wrong.

Learners' own checks show it. The texts are the solution, or one in other words, with an edit.
"""

from pathlib import Path

import pytest

from ..support import ROOT, some

SCORES = """
import torch

def scaled_dot_product_attention(queries, keys, values):
    d_k = keys.shape[-1]
    turned = keys.transpose(-2, -1)
    scores = queries @ turned
    scaled = scores / d_k ** 0.5
    weights = torch.softmax(scaled, dim=-1)
    return weights @ values
"""
NORM = """
import torch
from torch import nn

class LayerNorm(nn.Module):
    def __init__(self, d, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.scale, self.shift = nn.Parameter(torch.ones(d)), nn.Parameter(torch.zeros(d))

    def forward(self, x):
        mean = x.mean(-1, keepdim=True)
        variance = x.var(-1, keepdim=True, unbiased=False)
        normed = (x - mean) / torch.sqrt(variance + self.eps)
        return self.scale * normed + self.shift
"""
TEXTS = {
    ("ch2_self_attention", "scaled_dot_product_attention"): SCORES,
    ("ch6_small_gpt", "LayerNorm"): NORM,
}
ATTENTION, NORMED = TEXTS
SOFTMAX = ("ch1_simplified_attention", "softmax")
HEADS = ("ch4_multi_head_attention", "MultiHeadAttention")
ROTATE = ("ch5_beyond_one_sentence", "rotate")
ONLINE = ("ch5_beyond_one_sentence", "online_softmax_attention")
CROSS = ("ch5_beyond_one_sentence", "CrossAttention")

# Right ones in other words: sums, in place, scaled by roots, by hand.
UNUSUAL = [
    [("scores / d_k ** 0.5", "scores * d_k ** -0.5")],
    [("queries @ turned", "(queries.unsqueeze(-2) * keys.unsqueeze(-3)).sum(-1)")],
    [("queries @ turned", "queries / d_k ** 0.25 @ turned / d_k ** 0.25"), ("/ d_k ** 0.5", "/ 1")],
    [("scores / d_k ** 0.5", "scores.div_(d_k ** 0.5)")],
]
BY_HAND = [("torch.softmax(scaled, dim=-1)", "scaled.exp() / scaled.exp().sum(-1).unsqueeze(-1)")]
MIXED = ("return weights @ values", "return weights @ (values + keys[..., :1])")
ROTATED = "return torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1)"
TWICE = "cos, sin = torch.cat((cos, cos), dim=-1), torch.cat((sin, sin), dim=-1)\n"
TWICE += "    return x * cos + torch.cat((-second, first), dim=-1) * sin"

KEYS = "keys.reshape(b, m, self.num_heads, self.head_dim)"
WEIGHTS = "torch.softmax(scaled, dim=-1)"
RETURNED = "return weights @ values"
OUT = "return context / total"
# Where, the edits, code on the line that is shown ("" if none is), and words of the message.
WRONG = [
    *[(ATTENTION, [*edits, MIXED], MIXED[1], "Up to line 9") for edits in [*UNUSUAL, BY_HAND]],
    (ATTENTION, [(RETURNED, "return weights")], "return weights", "attention weights"),
    (ATTENTION, [(RETURNED, "weights @ values")], "weights @ values", "is None"),
    (ATTENTION, [("queries @ turned", "queries @ keys.T.T.T @ 3")], "@ 3", "line 7"),
    # Python raises an error on a later line than the wrong one.
    (ATTENTION, [(WEIGHTS, "torch.softmax(scaled.repeat(1, 3), dim=-1)")], "repeat", "on line 9"),
    (ATTENTION, [(WEIGHTS, "scaled.flatten().softmax(0)")], "flatten", "on line 9"),
    (ATTENTION, [(RETURNED, "return weights @ values[:-1]")], "values[:-1]", "line 10"),
    # A value that nothing uses, beside the mistake or instead of it.
    (ATTENTION, [(RETURNED, "print(end='')\n    return 2 * weights @ values")], "2 * weights", ""),
    (ATTENTION, [("scaled = scores", "scores"), ("scaled,", "scores,")], "scores / d_k", "effect"),
    # What is right before it has names.
    (NORMED, [("-1, keepdim=True, unbiased=False", "")], "variance = x", "become wrong on"),
    (NORMED, [("(x - mean)", "(x + mean)")], "normed = ", "mean, variance. Then"),
    # A line that turns a right value wrongly is not called right.
    (HEADS, [("self.num_heads, self.head_dim)", "self.head_dim, self.num_heads)")], "", "Up to"),
    (CROSS, [(f"{KEYS}.transpose(1, 2)", KEYS)], "keys.transpose", "must match"),
    (ROTATE, [(ROTATED, TWICE), ("x * cos +", "x +")], "x + torch.cat", "Up to"),
    # Loops: no round at all, and what comes after the last round.
    (ONLINE, [("range(0, len(keys), block_size)", "range(0)")], "", "NaN"),
    (ONLINE, [(OUT, "return context / total**2")], "total**2", "wrong on line"),
]


def edited(place: tuple[str, str], edits: list[tuple[str, str]]) -> str:
    """Return a right text with its exercise changed."""
    chapter, exercise = place
    solution = Path(ROOT, "solutions", f"{chapter}.py").read_text(encoding="utf-8")
    text = TEXTS.get(place, solution)
    at = text.index(f"{'class' if exercise[0].isupper() else 'def'} {exercise}(")
    head, own = text[:at], text[at:]
    for old, new in edits:
        assert old in own, old
        own = own.replace(old, new)
    return head + own


@pytest.mark.parametrize("place, edits, code, words", some(WRONG, 12))
def test_a_wrong_answer_is_placed_on_its_line(judge, place, edits, code, words):
    text = edited(place, edits)
    found = judge(*place, text, public=True)
    assert found.points < found.max_points and words in found.message, found
    if code:
        assert found.line and code in text.splitlines()[found.line - 1], found


def test_an_input_that_changes_is_shown_with_the_line_that_changes_it(judge):
    edits = [("shifted = x - x.amax", "x -= x.amax"), ("torch.exp(shifted)", "torch.exp(x)")]
    text = edited(SOFTMAX, edits)
    found = judge(*SOFTMAX, text)
    assert 0 < found.points < found.max_points and "input" in found.message, found
    assert "x -= x.amax" in text.splitlines()[found.line - 1]
