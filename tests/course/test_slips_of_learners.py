"""Slips that learners make: the true sentence in a self-check's note, and the line in the row."""

import re

import pytest

from tensorgrade.attempts.results import first_failure
from tensorgrade.attempts.verdict import Certainty
from tensorgrade.author.proofs.made_attempts import MadeAttempts
from tensorgrade.testing.collected import CollectedTests
from tensorgrade.views.note import Note

from ..sampling import first_of_each

CH1, CH2, CH3 = "ch1_simplified_attention", "ch2_self_attention", "ch3_causal_attention"
CH4, CH5, CH6 = "ch4_multi_head_attention", "ch5_beyond_one_sentence", "ch6_small_gpt"
PAIRS = "torch.stack((angles.sin(), angles.cos()), dim=-1).reshape(num_tokens, d)"
FULL = "torch.full_like(attn_scores, -torch.inf)"
SOFTMAX = "torch.softmax(attn_scores / d_k**0.5, dim=-1)"

SLIPS = [
    # (chapter, exercise, text, replacement, what the note must say, words of the row's line)
    (
        CH1,
        "attention_scores",
        "inputs @ query",
        "inputs * query",
        "The products are not added up",
        "inputs * query",
    ),
    (
        CH1,
        "softmax_naive",
        "torch.exp(x)",
        "2.718 ** x",
        "it agrees with the expected result to about 4 digits",
        "2.718 ** x",
    ),
    (
        CH1,
        "softmax",
        "dim: int = -1",
        "dim: int = 0",
        "Without a `dim`, the softmax runs over the first dimension;",
        "shifted = ",
    ),
    (
        CH1,
        "softmax",
        "x.amax(dim=dim, keepdim=True)",
        "x.max(dim=dim, keepdim=True)",
        "take `.values`",
        "x.max(",
    ),
    (
        CH1,
        "context_vector",
        "attn_weights @ inputs",
        "(attn_weights * inputs).sum(dim=0)",
        "`attn_weights` has shape (6,) and `inputs` has shape (6, 3)",
        "(attn_weights * inputs)",
    ),
    (
        CH1,
        "context_vector",
        "return attn_weights @ inputs",
        "out = torch.zeros(6)\n    for i in range(6):\n"
        "        out = out + attn_weights[i] * inputs[i]\n    return out",
        "`out` has shape (6,), `attn_weights` has shape (6,) and `inputs` has shape (6, 3)",
        "out = out + ",
    ),
    (
        CH1,
        "simplified_self_attention",
        "return context_vecs, attn_weights",
        "return attn_weights, context_vecs",
        "The two results are in the wrong order",
        "return attn_weights, context_vecs",
    ),
    (
        CH2,
        "attention_weights",
        "keys.transpose(-2, -1)",
        "keys.transpose(0, 1)",
        "on that line, `queries` has shape (2, 4, 6) and `keys` has shape (2, 5, 6)",
        "keys.transpose(0, 1)",
    ),
    (
        CH2,
        "attention_weights",
        "/ d_k**0.5",
        "/ d_k**1/2",
        "wrong on line {}: this is where the scaled scores should be computed",
        "/ d_k**1/2",
    ),
    (
        CH2,
        "scaled_dot_product_attention",
        "return attn_weights @ values",
        "return values.mT @ attn_weights.mT",
        "Then they become wrong on line {}.",
        "values.mT @ attn_weights.mT",
    ),
    (
        CH2,
        "SelfAttention_v1",
        "super().__init__()\n",
        "pass\n",
        "call `super().__init__()` first",
        "self.W_query = nn.Parameter",
    ),
    (
        CH2,
        "SelfAttention_v2",
        "self.W_value(x)",
        "self.W_values(x)",
        "did you mean `W_value`?",
        "self.W_values(x)",
    ),
    (
        CH2,
        "SelfAttention_v2",
        "return attn_weights @ values",
        "attn_weights @ values",
        "Line {} has no effect: the result of",
        "        attn_weights @ values",
    ),
    (
        CH2,
        "copy_v2_into_v1",
        "with torch.no_grad():",
        "if True:",
        "write into a parameter inside `with torch.no_grad():`",
        "v1.W_query.copy_",
    ),
    (
        CH3,
        "causal_attention_weights",
        "attn_scores.masked_fill(future, -torch.inf)",
        f"attn_scores + torch.triu({FULL})",
        "NaN fills the first row, as after a softmax over nothing but -inf",
        "attn_scores + torch.triu(",
    ),
    (
        CH3,
        "CausalAttention",
        "qkv_bias: bool = False",
        "qkv_bias: bool = True",
        "It is right whenever `qkv_bias` is passed in, and wrong otherwise.",
        "qkv_bias: bool = True",
    ),
    (
        CH3,
        "CausalAttention",
        "self.mask[:num_tokens, :num_tokens]",
        "self.mask[:, :num_tokens]",
        "Then they become wrong on line {}: this is where the masked scores should be computed.",
        "self.mask[:, :num_tokens]",
    ),
    (
        CH3,
        "CausalAttention",
        "self.dropout = nn.Dropout(dropout)",
        "self.dropout = dropout",
        "a plain number is called there as if it were a function",
        "self.dropout(attn_weights)",
    ),
    (
        CH3,
        "CausalAttention",
        SOFTMAX,
        SOFTMAX.replace("-1", "1"),
        "columns sum to 1 and rows do not",
        "dim=1)",
    ),
    (
        CH4,
        "split_heads",
        "d_out // num_heads",
        "d_out / num_heads",
        "a size has to be an integer: use `//`",
        "x.reshape(",
    ),
    (
        CH4,
        "MultiHeadAttention",
        "if d_out % num_heads != 0:",
        "if d_out % num_heads == 0:",
        "must be divisible by num_heads",
        'raise ValueError(f"d_out',
    ),
    (
        CH4,
        "split_heads",
        ".transpose(1, 2)",
        ".transpose(0, 1)",
        "It is right, except that its dimensions 0, 1 and 2 are swapped",
        ".transpose(0, 1)",
    ),
    (
        CH5,
        "LatentAttention",
        "self.W_value_up(latent)",
        "self.W_value_up(self.W_down(latent))",
        "on that line, `latent` has shape (1, 6, 2)",
        "self.W_down(latent)",
    ),
    (
        CH5,
        "sinusoidal_positions",
        PAIRS,
        "torch.cat((angles.sin(), angles.cos()), dim=-1)",
        "only columns `[:, 0]` and `[:, 5]` are right",
        "torch.cat((",
    ),
    (
        CH6,
        "LayerNorm",
        "mean = x.mean(dim=-1, keepdim=True)",
        "mean = x.mean(dim=0, keepdim=True)",
        "wrong on line {}: this is where the mean should be computed",
        "mean = x.mean(dim=0",
    ),
    (
        CH6,
        "LayerNorm",
        "self.scale * normed",
        "self.scale[:1] * normed",
        "Only column `[:, 0]` is right.",
        "self.scale[:1]",
    ),
    (
        CH6,
        "FeedForward",
        "nn.GELU()",
        "nn.GELU",
        "are the parentheses missing after its name?",
        "nn.GELU, nn.Linear",
    ),
    (
        CH6,
        "TransformerBlock",
        "self.feed_forward(self.norm2(x))",
        "self.norm2(self.feed_forward(x))",
        "Your values become wrong between line",
        "x = x + self.dropout(self.norm2",
    ),
    (
        CH6,
        "train_step",
        "cross_entropy(model(inputs), targets)",
        "nn.functional.cross_entropy(model(inputs), targets)",
        "takes dimension 1 of the first argument as the classes",
        "nn.functional.cross_entropy(",
    ),
    (
        CH6,
        "trained_loss",
        "    model.train(training)\n",
        "",
        "Line {} changes `model` itself",
        "    model.eval()",
    ),
]


@pytest.fixture(scope="module")
def note(project):
    """A function: a self-check's note on an exercise of a text, in one line."""
    made, collected = MadeAttempts(project, project.exercises), CollectedTests(project.exercises)

    def note(chapter: str, exercise: str, text: str) -> str:
        first = first_failure(collected.results(made.attempt(chapter, text), exercise))
        return " ".join(str(Note(first.finding)).split())

    yield note


@pytest.mark.slow
@pytest.mark.parametrize(
    "chapter, exercise, old, new, said, words", first_of_each(SLIPS, lambda slip: slip[0])
)
def test_a_slip_gets_a_true_sentence_and_its_line(
    project, note, judged, chapter, exercise, old, new, said, words
):
    source = project.solution(chapter).read_text(encoding="utf-8")
    start = definition(source, exercise)
    assert old in source[start:]
    text = source[:start] + source[start:].replace(old, new, 1)
    line = text.count("\n", 0, text.index(words, start)) + 1
    told = note(chapter, exercise, text)
    assert said.format(line) in told or said.format(line).replace("Line", "line") in told
    verdict = judged(chapter, exercise, text)
    # If an edit that fixes it is found in time, its line is the line of the mistake.
    edited = text.count("\n", 0, source.index(old, start)) + 1
    lines = {line, edited} if verdict.sure == Certainty.REPAIRED else {line}
    assert "returns the numbers by token and head" not in told  # of a value with another shape
    if verdict.mistakes == ["default_is_dim_zero"]:  # Known gap: the row has no line.
        lines = {None}
    assert verdict.line in lines and verdict.points < verdict.max_points, verdict


def definition(source: str, name: str) -> int:
    """Return the line of a function or class in a text."""
    found = re.search(rf"^(?:def|class) {name}\(", source, re.M)
    assert found is not None
    return found.start()
