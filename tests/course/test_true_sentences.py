"""Messages on wrong programs name the place or the problem, and contain nothing false."""

import re
import time
from dataclasses import replace

import pytest

from tensorgrade.attempts.findings import finding_on
from tensorgrade.attempts.results import first_failure
from tensorgrade.author.proofs.course_errors import wrong_sentences
from tensorgrade.author.proofs.made_attempts import MadeAttempts
from tensorgrade.exchange.observation import CaughtError, Outcome
from tensorgrade.judging.diagnosis import Diagnosis, Kind, Wrong
from tensorgrade.learner.notebook.checking import run_cases
from tensorgrade.messages.message import Plain, render, sentence
from tensorgrade.runner.errors import OutOfTime, may_be_ended
from tensorgrade.testing.collected import CollectedTests
from tensorgrade.testing.interrupting import Interrupter
from tensorgrade.views.note import Note
from tensorgrade.views.summary import in_short, left_out

from ..sampling import first_of_each

CH1, CH2 = "ch1_simplified_attention", "ch2_self_attention"
CH3, CH4 = "ch3_causal_attention", "ch4_multi_head_attention"
CH6 = "ch6_small_gpt"
IMPORTS = "import torch\nfrom torch import nn\n"
V1 = """
class SelfAttention_v1(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.W_query = nn.Parameter(torch.rand(d_in, d_out))
        self.W_key = nn.Parameter(torch.rand(d_in, d_out))
        self.W_value = nn.Parameter(torch.rand(d_in, d_out))

    def forward(self, x):
        queries, keys, values = x @ self.W_query, x @ self.W_key, x @ self.W_value
        attn_scores = queries @ keys.T
        return torch.softmax(attn_scores / keys.shape[-1] ** 0.5, dim=-1) @ values
"""
CAUSAL = """
class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.ones(context_length, context_length).triu(1).bool())

    def forward(self, x):
        b, n, _ = x.shape
        queries, keys, values = self.W_query(x), self.W_key(x), self.W_value(x)
        attn_scores = queries @ keys.transpose(1, 2)
        attn_scores = attn_scores.masked_fill(self.mask[:n, :n], -torch.inf)
        w = torch.softmax(attn_scores / keys.shape[-1] ** 0.5, dim=-1)
        w = self.dropout(w)
        return w @ values
"""
MULTI = """
class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads:
            raise ValueError(f"{num_heads} heads do not share {d_out} features")
        self.num_heads, self.head_dim = num_heads, d_out // num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.ones(context_length, context_length).triu(1).bool())

    def forward(self, x):
        b, n, _ = x.shape
        queries, keys, values = self.W_query(x), self.W_key(x), self.W_value(x)
        queries = queries.view(b, n, self.num_heads, self.head_dim).transpose(1, 2)
        keys = keys.view(b, n, self.num_heads, self.head_dim).transpose(1, 2)
        values = values.view(b, n, self.num_heads, self.head_dim).transpose(1, 2)
        attn_scores = queries @ keys.transpose(2, 3)
        attn_scores = attn_scores.masked_fill(self.mask[:n, :n], -torch.inf)
        w = torch.softmax(attn_scores / keys.shape[-1] ** 0.5, dim=-1)
        w = self.dropout(w)
        return self.out_proj((w @ values).transpose(1, 2).reshape(b, n, -1))
"""
RIGHT = {"SelfAttention_v1": V1, "CausalAttention": CAUSAL, "MultiHeadAttention": MULTI}
CHAPTER = {"SelfAttention_v1": CH2, "CausalAttention": CH3, "MultiHeadAttention": CH4}
FUTURE = "changes results of earlier ones: they see the future"
KEEPS = "self.keys = keys = keys + getattr(self, 'keys', 0)\n        "
GLOBAL = "W_query = torch.rand(3, 2)\n"


@pytest.fixture(scope="module")
def told(judged, project):
    """A function: what is said of an exercise's code, on hidden cases and in the self-check."""
    made, collected = MadeAttempts(project, project.exercises), CollectedTests(project.exercises)

    def told(chapter: str, exercise: str, code: str) -> tuple[str, str]:
        text = IMPORTS + code
        hidden = judged(chapter, exercise, text)
        first = first_failure(collected.results(made.attempt(chapter, text), exercise))
        return hidden.message, "Right." if first is None else sentence(first.finding.message)

    yield told


@pytest.mark.slow
@pytest.mark.parametrize("exercise", RIGHT)
def test_the_modules_that_are_edited_below_are_right(told, exercise):
    assert told(CHAPTER[exercise], exercise, RIGHT[exercise]) == ("Right.", "Right.")


EDITED = [
    # (exercise, text, replacement, what must be said, what must not)
    (
        "CausalAttention",
        "self.mask[:n, :n]",
        "self.mask[:context_length, :context_length]",
        "it is an argument of `__init__` only: store it there as `self.context_length`",
        "meant?",
    ),
    (
        "MultiHeadAttention",
        "queries.view(b, n, self.num_heads",
        "queries.view(b, n, num_heads",
        "`self.num_heads` exists: is `self.` missing?",
        "meant?",
    ),
    (
        "CausalAttention",
        'register_buffer("mask"',
        "register_buffer(mask",
        'the name has to be in quotes there: `"mask"`',
        "is `self.` missing",
    ),
    (
        "CausalAttention",
        "self.dropout(w)",
        "dropout(w)",
        "`self.dropout` exists: is `self.` missing?",
        "meant?",
    ),
    (
        "SelfAttention_v1",
        "(nn.Module)",
        "",
        "`SelfAttention_v1` is not an nn.Module: write `class SelfAttention_v1(nn.Module):`",
        "line",
    ),
    (
        "CausalAttention",
        "(nn.Module)",
        "",
        "`CausalAttention` is not an nn.Module: write `class CausalAttention(nn.Module):`",
        "misspelt",
    ),
    (
        "SelfAttention_v1",
        "x @ self.W_query",
        "x @ W_query",
        "it reads `W_query`, which is defined outside of `SelfAttention_v1`: is `self.` missing?",
        "public checks",
    ),
    (
        "SelfAttention_v1",
        "        self.W_query =",
        "        W_query =",
        "`__init__` makes it a local variable: is `self.` missing there?",
        "outside",
    ),
    (
        "CausalAttention",
        "b, n, _ = x.shape",
        "n = x.shape[0]",
        "`n` is 2",
        "outside",
    ),
    (
        "CausalAttention",
        "def forward(self, x)",
        "def forward(x)",
        "is `self` missing from its parameters?",
        "meant?",
    ),
    (
        "CausalAttention",
        "= self.W_query(x)",
        "= self.W_qurey(x)",
        "did you mean `W_query`?",
        "self.`",
    ),
    (
        "CausalAttention",
        "self.W_query(x), self.W_key(x)",
        "self.W_query(x), self.W_qeury(x)",
        "did you mean `W_query`?",
        "missing",
    ),
    ("CausalAttention", "triu(1)", "triu(3)", FUTURE, "right shape"),
    (
        "SelfAttention_v1",
        "self.W_key = nn.Parameter(torch.rand(d_in, d_out))",
        "self.W_key = torch.rand(d_in, d_out, requires_grad=True)",
        "`W_key` is a plain tensor, not an nn.Parameter",
        "differentiable",
    ),
    (
        "SelfAttention_v1",
        "x @ self.W_key, x",
        "x @ self.W_key.data, x",
        "`W_key` is missing: no chain of differentiable operations connects that tensor to the "
        "result; "
        "`data` on line 12 lets no gradient through.",
        "plain tensor",
    ),
    (
        "SelfAttention_v1",
        "x @ self.W_key, x",
        "torch.tensor(x @ self.W_key), x",
        "`torch.tensor` on line 12 lets no gradient through.",
        "plain tensor",
    ),
    (
        "SelfAttention_v1",
        "attn_scores = queries",
        "input(); attn_scores = queries",
        "`input()` cannot be answered here",
        "`-s`",
    ),
    (
        "CausalAttention",
        "return w @ values",
        "w @ values",
        "None: does your function end in a `return` with a value?",
        "`plain`",
    ),
    (
        "SelfAttention_v1",
        "x @ self.W_query,",
        "self.W_query(x),",
        "a parameter is a tensor, not a function",
        "no module",
    ),
    (
        "CausalAttention",
        "self.W_query(x), self.W_key(x)",
        "x @ self.W_query, self.W_key(x)",
        "an nn.Linear is called like a function",
        "missing",
    ),
    (
        "CausalAttention",
        "self.mask[:n, :n]",
        "self.hidden[:n, :n]",
        "nothing before that line sets `self.hidden`",
        "meant?",
    ),
    (
        "CausalAttention",
        ".triu(1).bool()",
        ".triu(1)",
        "the mask has to hold True and False, but this one holds numbers",
        "misspelt",
    ),
    (
        "CausalAttention",
        "keys.shape[-1] ** 0.5",
        "math.sqrt(keys.shape[-1])",
        "is `import math` missing at the top of the file?",
        "self.",
    ),
    (
        "CausalAttention",
        "keys.shape[-1] ** 0.5",
        "torch.sqrt(keys.shape[-1])",
        "that is a plain number; compute with it in Python",
        "self.",
    ),
    (
        "MultiHeadAttention",
        "n, self.num_heads, self.head_dim",
        "n, self.head_dim, self.num_heads",
        "",
        "not attention weights",
    ),
    (
        "CausalAttention",
        "keys.shape[-1] ** 0.5",
        "(keys.shape[-1] ** 0.5 if n > 6 else 9)",
        "right shape but not the right values",
        "`plain`",
    ),
    (
        "CausalAttention",
        "attn_scores = queries @",
        f"{KEEPS}attn_scores = queries @",
        "this call is right. Is something kept from an earlier call?",
        "future",
    ),
    (
        "MultiHeadAttention",
        "attn_scores = queries @",
        f"{KEEPS}attn_scores = queries @",
        "this call is right. Is something kept from an earlier call?",
        "future",
    ),
    (
        # It fails if x is not contiguous in memory; there are calls on both.
        "CausalAttention",
        "b, n, _ = x.shape",
        "b, n, _ = x.shape; x = x.view(-1).view(x.shape)",
        "`reshape` copies it if necessary",
        "by itself",
    ),
    (
        # Texts after the second are lost, whatever was called before.
        "CausalAttention",
        "b, n, _ = x.shape",
        "x = x[:2]; b, n, _ = x.shape",
        "shape",
        "by itself",
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    "exercise, old, new, said, unsaid", first_of_each(EDITED, lambda case: case[0])
)
def test_what_is_said_of_an_edited_module(told, exercise, old, new, said, unsaid):
    assert old in RIGHT[exercise]
    outside = GLOBAL if "W_query" in new else ""
    for message in told(CHAPTER[exercise], exercise, outside + RIGHT[exercise].replace(old, new)):
        assert said in message and unsaid not in message


NAMED = [
    ("CausalAttention", "self.dropout(w)", "self.dropout(w) / (1 - self.dropout.p)"),
    ("MultiHeadAttention", "self.dropout(w)", "self.dropout(w) / (1 - self.dropout.p)"),
    ("CausalAttention", "keys.transpose(1, 2)", "keys.transpose(0, 1)"),
    ("MultiHeadAttention", "keys.transpose(2, 3)", "keys.transpose(1, 2)"),
    ("CausalAttention", "** 0.5", "** 2"),
    ("MultiHeadAttention", "** 0.5", "** 0.05"),
]
SENTENCES = {
    "self.dropout(w)": "scaled up in addition to nn.Dropout, and in evaluation too",
    "keys.transpose(1, 2)": "the batch is swapped with another dimension",
    "keys.transpose(2, 3)": "heads and tokens of the keys are swapped",
    "** 2": "divided by the square of d_k",
    "** 0.05": "The exponent of d_k is 0.05",
}


@pytest.mark.slow
@pytest.mark.parametrize("exercise, old, new", NAMED)
def test_a_mistake_seen_in_real_code_has_a_name(told, exercise, old, new):
    assert old in RIGHT[exercise]
    said = SENTENCES.get(old) or SENTENCES[new]
    for message in told(CHAPTER[exercise], exercise, RIGHT[exercise].replace(old, new)):
        assert said in message


@pytest.mark.slow
def test_a_size_taken_from_the_batch_is_not_called_a_wrong_head_dim(told):
    code = MULTI.replace("b, n, _ = x.shape", "b, n = x.shape[0], x.shape[0]")
    for message in told(CH4, "MultiHeadAttention", code):
        assert "head_dim is computed" not in message and "`n` is 2" in message


BLOCK = """
class TransformerBlock(nn.Module):
    def __init__(self, d, context_length, dropout, num_heads):
        super().__init__()
        self.norm1, self.norm2, self.feed_forward = LayerNorm(d), LayerNorm(d), FeedForward(d)
        self.attention = MultiHeadAttention(d, d, context_length, dropout, num_heads)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        x = x + self.dropout(self.attention(self.norm1(x)))
        return x + self.dropout(self.feed_forward(self.norm2(x)))

class FeedForward(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))

    def forward(self, x):
        return self.layers(x)
"""
STAND_INS = """
from ch4_multi_head_attention import MultiHeadAttention

class LayerNorm(nn.Module):
    def __init__(self, d, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.scale, self.shift = nn.Parameter(torch.ones(d)), nn.Parameter(torch.zeros(d))

    def forward(self, x):
        away = x - x.mean(-1, keepdim=True)
        normed = away * (away.pow(2).mean(-1, keepdim=True) + self.eps) ** -0.5
        return normed * self.scale + self.shift
"""
ONE_PATTERN = BLOCK.replace(
    "x = x + self.dropout(self",
    "kept = self.dropout(torch.ones_like(x))\n        x = x + kept * (self",
).replace("x + self.dropout(self.feed", "x + kept * (self.feed")
FUNCTIONS = [
    (
        CH6,
        "TransformerBlock",
        STAND_INS + ONE_PATTERN,
        "The two parts drop the same numbers too often or too rarely",
    ),
    (
        CH6,
        "batches",
        "def batches(ids, context_length, batch_size, generator):\n"
        "    last = len(ids) - context_length\n"
        "    starts = torch.randint(last, (batch_size,), generator=generator)\n"
        "    starts[1::2] = starts[::2][: batch_size // 2]\n"
        "    windows = starts[:, None] + torch.arange(context_length)\n"
        "    return ids[windows], ids[windows + 1]\n",
        "The start of one window depends on another; each must be drawn independently",
    ),
    (
        CH3,
        "inverted_dropout",
        "def inverted_dropout(attn_weights, p, training=True):\n"
        "    if not training:\n        return attn_weights\n"
        "    kept = torch.rand_like(attn_weights) >= p\n"
        "    if kept.dim() > 1 and kept.shape[-1] == kept.shape[-2]:\n"
        "        kept = kept.tril() | kept.tril(-1).mT\n"
        "    return attn_weights * kept / (1 - p)\n",
        "Whether an entry is dropped depends on other entries; drop each entry of each call",
    ),
    (
        CH2,
        "project_qkv",
        "def project_qkv(x, W_query, W_key, W_value):\n"
        "    return torch.stack((x @ W_query, x @ W_key, x @ W_value))\n",
        "instead of a tuple of three tensors",
    ),
    (
        CH2,
        "project_qkv",
        "def project_qkv(x, W_query, W_key, W_value):\n"
        "    return x @ W_query, x @ W_value, x @ W_key\n",
        "Keys and values are swapped",
    ),
    (
        CH1,
        "softmax",
        "def softmax(x, dim=-1):\n    e = (x - x.amax(dim, True)).exp_()\n"
        "    e /= e.sum(dim, True)\n    return e\n",
        "overwrites values that the gradient needs",
    ),
    (
        CH1,
        "softmax",
        "def softmax(x, dim=-1):\n    e = torch.exp(x - x.amax(dim))\n"
        "    return e / e.sum(dim, True)\n",
        "maximum loses its dimension",
    ),
    (
        CH1,
        "softmax",
        "def softmax(x, dim=-1):\n    e = torch.exp(x - x.max(dim, True))\n"
        "    return e / e.sum(dim, True)\n",
        "return two tensors, the values and their indices: take `.values`",
    ),
    (
        CH1,
        "attention_scores",
        "def attention_scores(query, inputs):\n    raise NotImplementedError\n"
        "    return inputs @ query\n",
        "ine 4 still raises NotImplementedError, so the code below it never runs",
    ),
    (
        CH1,
        "attention_scores",
        "def attention_scores(query, inputs):\n    return torch.matmull(inputs, query)\n",
        "did you mean `matmul`?",
    ),
    (
        CH1,
        "attention_scores",
        "def attention_scores(query, inputs):\n    return input @ query\n",
        "`input` is a built-in function of Python here: did you mean a variable?",
    ),
    (
        CH1,
        "attention_scores",
        "sentence = torch.rand(6, 3)\ndef attention_scores(query, inputs):\n"
        "    return sentence @ query\n",
        "defined outside of `attention_scores`: did you mean an argument?",
    ),
    (
        CH1,
        "softmax",
        "def softmax(x, dim=-1):\n    e = torch.exp(x - x.amax(dim, True))\n    return e / e.sum\n",
        "are the parentheses `()` missing after the name of a function or method?",
    ),
    (
        CH1,
        "softmax",
        "import math\ndef softmax(x, dim=-1):\n    e = math.exp(x - x.amax(dim, True))\n"
        "    return e / e.sum(dim, True)\n",
        "`math` works on single numbers; torch's functions of these names work on tensors",
    ),
    (
        CH2,
        "attention_weights",
        "def attention_weights(queries, keys):\n"
        "    return torch.softmax(queries @ keys.mT / keys.shape ** 0.5, dim=-1)\n",
        "a shape holds several numbers: take one of them, such as `x.shape[-1]`",
    ),
    (
        CH2,
        "attention_weights",
        "def attention_weights(queries, keys):\n"
        "    return torch.softmax(queries @ keys.mT / keys.shape[-1] ^ 0.5, dim=-1)\n",
        "`^` is not a power: write `**`",
    ),
    (
        CH1,
        "softmax",
        "def softmax(x, dim=-1):\n    e = torch.exp(x - max(x))\n    return e / e.sum(dim, True)\n",
        "need a single True or False, and this tensor has several entries",
    ),
    (
        CH3,
        "inverted_dropout",
        "def inverted_dropout(attn_weights, p, training=True):\n"
        "    if not training:\n"
        "        return 0.7 * attn_weights * (torch.rand_like(attn_weights) > 0.3)\n"
        "    return attn_weights * (torch.rand_like(attn_weights) >= p) / (1 - p)\n",
        "has the right shape but not the right values",
    ),
    (
        CH3,
        "inverted_dropout",
        "def inverted_dropout(attn_weights, p, training=True):\n"
        "    if not training:\n"
        "        return 0.7 * attn_weights * (torch.rand_like(attn_weights) > 0.3)\n"
        "    return 2 * attn_weights * (torch.rand_like(attn_weights) >= p)\n",
        "Some entries are 0 in evaluation",
    ),
    (
        CH3,
        "inverted_dropout",
        "def inverted_dropout(attn_weights, p, training=True):\n"
        "    if not training or p == 0:\n        return attn_weights\n"
        "    kept, count = torch.ones(attn_weights.numel()), attn_weights.numel()\n"
        "    kept[torch.randperm(count)[: int(p * count)]] = 0\n"
        "    return attn_weights * kept.reshape(attn_weights.shape) / (1 - p)\n",
        "Every time, the same number of entries is dropped",
    ),
    (
        CH2,
        "copy_v2_into_v1",
        "def copy_v2_into_v1(v2, v1):\n    v1.W_query.copy_(v2.W_query.weight.T)\n",
        "write into a parameter inside `with torch.no_grad():`",
    ),
    (
        CH1,
        "attention_scores",
        "def attention_scores(query, inputs):\n    return (inputs @ query).half()\n",
        "its dtype is torch.float16, which keeps only about three digits",
    ),
    (
        CH2,
        "scaled_dot_product_attention",
        "def attention_weights(queries, keys):\n"
        "    return (queries[:, :1] @ keys.T).softmax(-1)\n\n"
        "def scaled_dot_product_attention(queries, keys, values):\n"
        "    return attention_weights(queries, keys) @ values\n",
        "In `attention_weights`, which it uses: RuntimeError: mat1 and mat2",
    ),
    (
        CH2,
        "scaled_dot_product_attention",
        "def attention_weights(queries, keys):\n    raise NotImplementedError\n\n"
        "def scaled_dot_product_attention(queries, keys, values):\n"
        "    return attention_weights(queries, keys) @ values\n",
        "It calls `attention_weights`, which is not written yet",
    ),
    (
        CH6,
        "TransformerBlock",
        "class LayerNorm(nn.Module):\n    def __init__(self, d, eps=1e-5):\n"
        "        super().__init__()\n        raise NotImplementedError\n\n" + BLOCK,
        "It uses `LayerNorm`, which is not written yet",
    ),
    (
        CH6,
        "TransformerBlock",
        "class LayerNorm(nn.Module):\n    def __init__(self, d, eps=1e-5):\n"
        "        super().__init__()\n        self.scale = nn.Parameter(torch.ones(d))\n"
        "        self.shift = nn.Parameter(torch.zeros(d))\n\n    def forward(self, x):\n"
        "        raise NotImplementedError\n\n" + BLOCK,
        "It uses `LayerNorm`, which is not written yet",
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize("chapter, exercise, code, said", FUNCTIONS)
def test_what_is_said_of_a_function(told, chapter, exercise, code, said):
    for message in told(chapter, exercise, code):
        assert said in message


@pytest.mark.slow
def test_a_factor_that_only_some_cases_have_is_reported_with_its_line(told):
    """Twice too large wherever there are biases: no sentence of the catalogue knows that."""
    code = CAUSAL.replace("return w @ values", "return w @ values * (1 if BIAS else 2)")
    code = code.replace("BIAS", "self.W_key.bias is None")
    message, _ = told(CH3, "CausalAttention", code)
    assert "it is the expected result times 2" in message and "Look at line" in message


@pytest.mark.slow
def test_a_value_from_outside_that_is_a_constant_is_no_fault(told):
    code = "ROOT = 0.5\nheads = nn.Identity\n" + V1.replace("** 0.5", "** ROOT")
    assert told(CH2, "SelfAttention_v1", code) == ("Right.", "Right.")
    wrong = code.replace("dim=-1", "dim=0")
    assert all("outside" not in message for message in told(CH2, "SelfAttention_v1", wrong))


@pytest.mark.slow
def test_no_sentence_of_two_mistakes_loses_its_end(project):
    assert wrong_sentences(project, project.mistakes) == []
    long = project.mistakes[0].__class__("much_to_say", "All of it. " * 20, {"softmax": ()})
    (complaint,) = wrong_sentences(project, [long])
    assert "much_to_say" in complaint and "220 characters" in complaint


@pytest.fixture
def public(project):
    """A function: the part of a self-check's attempt that is about one exercise."""
    made = MadeAttempts(project, project.exercises)

    def public(chapter: str, exercise: str, code: str):
        return made.attempt(chapter, IMPORTS + code).exercises[exercise]

    return public


@pytest.mark.slow
def test_what_learner_code_prints_stays_out_of_its_note(public, capsys):
    part = public(
        CH3, "CausalAttention", CAUSAL.replace("b, n, _ = x.shape", "n = 2; print('seen', n)")
    )
    part.attempt.run(["CausalAttention"])
    with pytest.raises(Wrong) as wrong:
        part.agrees("values")
    assert "seen 2" in capsys.readouterr().out  # where pytest captures it, apart
    note = str(Note(finding_on(part, "", wrong.value.diagnosis)))
    assert capsys.readouterr().out == "" and "shapes in your code" in note
    assert re.search(r"\bn += 2", note)


def test_an_endless_loop_is_reported_with_its_line_and_how_long_it_took(public):
    code = "def attention_scores(query, inputs):\n    while True:\n        query = query\n"
    part = public(CH1, "attention_scores", code)
    run_cases(part.attempt, "attention_scores", 0.2)
    first = next(seen.case for seen in part.seen if seen.observed.status == Outcome.TIMEOUT)
    with pytest.raises(Wrong) as wrong:
        part.agrees(first.group)
    line = r"in 0.2 seconds \(line [45]: `(while True:|query = query)`\)"
    assert re.search(line, render(wrong.value.diagnosis.problem))


@pytest.mark.slow
def test_code_outside_of_functions_that_never_ends_is_left_out_and_reported(public):
    code = (
        "def attention_scores(query, inputs):\n    return inputs @ query\nwhile True:\n    pass\n"
    )
    part = public(CH1, "attention_scores", code)
    run_cases(part.attempt, "attention_scores", 0.2)
    part.agrees("values")
    (told,) = left_out(part.attempt)
    assert "because it does not finish: the code outside of functions and classes" in told


def busy_until(moment: float) -> None:
    """As learner code is, in a function: Python 3.13.0 may end a loop beside its own `with`."""
    while time.monotonic() < moment:
        pass


@pytest.mark.slow
def test_nothing_but_learner_code_is_ended():
    timer, begun = Interrupter(0.05), time.monotonic()
    try:
        busy_until(begun + 1.2)  # it would have come twice
        with pytest.raises(OutOfTime), may_be_ended():
            busy_until(begun + 60)
    finally:
        timer.cancel()


def test_the_reason_of_an_error_is_in_front_of_a_line_of_the_table():
    error = CaughtError("SyntaxError", "'(' was never closed", 4, "return (inputs @ query")
    told = Diagnosis(Kind.ERROR, Plain("`attention_scores` could not be loaded: SyntaxError …"))
    assert in_short(replace(told, error=error)) == "line 4: '(' was never closed"
    missed = CaughtError("KeyError", "'bird'", 4, "return ids[word]")  # a word alone says nothing
    assert in_short(replace(told, error=missed)) == "line 4: KeyError: 'bird'"
    assert in_short(told) == render(told.problem)


@pytest.mark.slow
def test_sizes_are_reported_as_public_cases_show_them(told):
    code = (
        "def trace_shapes(b, num_tokens, d_in, d_out, num_heads):\n"
        "    shape = (b, num_tokens, d_out)\n"
        "    return dict(x=(31 * 1013, 31 * 1019, 7 * 3301), queries=shape, output=shape)\n"
    )
    hidden, _ = told(CH4, "trace_shapes", code)
    sizes = "`x` is (31403, 31589, 23107); (2, 6, 3) is expected for this call."
    unused = "The values of `d_in` and `num_heads` that the call passes are never used."
    assert hidden == f"{sizes} {unused}", hidden


SOFTMAX = """
def softmax(x: torch.Tensor, dim: int = -1) -> torch.Tensor:
    largest = einops.reduce(x, "... d -> ... 1", "max")
    return torch.exp(x - largest) / torch.exp(x - largest).sum(dim, keepdim=True)
"""
DROPOUT = """
def inverted_dropout(attn_weights, p, training=True):
    if not training:
        return attn_weights
    return attn_weights * (torch.rand(1) > p) / (1 - p)
"""


@pytest.mark.slow
def test_an_import_that_is_misspelt_is_reported(told):
    for message in told(CH1, "softmax", f"import eniops\n{SOFTMAX}"):
        assert "name 'einops' is not defined" in message
        assert "its import failed" in message and "No module named 'eniops'" in message


@pytest.mark.slow
def test_one_draw_for_everything_is_reported(told):
    for message in told(CH3, "inverted_dropout", DROPOUT):
        assert "not all scaled" not in message
        assert "dropped" in message
