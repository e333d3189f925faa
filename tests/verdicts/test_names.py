"""Names that differ from the stub's cost nothing; what a file lacks costs no more than that."""

import pytest

from ..answers.reader import place_of, replaced, solution
from ..support import Judge, Verdict

pytestmark = pytest.mark.slow
CH1, CH2 = "ch1_simplified_attention", "ch2_self_attention"
CH3, CH4 = "ch3_causal_attention", "ch4_multi_head_attention"
CH6 = "ch6_small_gpt"
MANY = "MultiHeadAttention"
MANY_HEADS = """
import torch
from torch import nn

class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, num_head, context_len, droupout, bias=False):
        super().__init__()
        if d_out % num_head:
            raise ValueError(f"{num_head} heads do not share {d_out} features")
        self.h, self.head_dim = num_head, d_out // num_head
        self.q_proj = nn.Linear(d_in, d_out, bias=bias)
        self.k_proj = nn.Linear(d_in, d_out, bias=bias)
        self.v_proj = nn.Linear(d_in, d_out, bias=bias)
        self.out, self.drop = nn.Linear(d_out, d_out), nn.Dropout(droupout)
        self.register_buffer("causal", torch.ones(context_len, context_len).triu(1).bool())

    def forward(self, x):
        b, n, _ = x.shape
        parts = (layer(x) for layer in (self.q_proj, self.k_proj, self.v_proj))
        q, k, v = (part.view(b, n, self.h, self.head_dim).transpose(1, 2) for part in parts)
        scores = (q @ k.mT).masked_fill(self.causal[:n, :n], -torch.inf)
        weights = self.drop(torch.softmax(scores / self.head_dim**0.5, dim=-1))
        return self.out((weights @ v).transpose(1, 2).reshape(b, n, -1))
"""
PARAMETERS = "d_in, d_out, num_head, context_len, droupout, bias=False"
WRAPPER = """
import torch
from torch import nn

class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_len, drop, bias=False):
        super().__init__()

class MultiHeadAttentionWrapper(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        sizes = {"d_in": d_in, "d_out": d_out, "context_len": context_length}
        made = [CausalAttention(**sizes, drop=dropout, bias=qkv_bias) for _ in range(num_heads)]
        self.heads = nn.ModuleList(made)

    def forward(self, x):
        return torch.cat([head(x) for head in self.heads], dim=-1)
"""
NO_INIT = """
import torch
from torch import nn

class SelfAttention_v1(nn.Module):
    def start(self, d_in, d_out):
        pass

    def forward(self, x):
        return x
"""
REARRANGED = """
from einops import rearrange
from jaxtyping import Float
from torch import Tensor

def merge_heads(x: Float[Tensor, "b heads tokens width"]) -> Float[Tensor, "b tokens features"]:
    return rearrange(x, "b heads tokens width -> b tokens (heads width)")
"""
HINTED = """
import torch

def merge_heads(x: Undefined["b heads tokens width"]) -> "nothing:that[can be read":
    b, heads, tokens, width = x.shape
    return x.transpose(1, 2).reshape(b, tokens, heads * width)
"""
INSIDE_OF_IF = "import torch\nfrom helper import softmax\nif True:\n" + "\n".join(
    f"    {line}" for line in solution(CH1).splitlines()
)


MISSPELT = """
import torch
from torch import nn

class Selfattention_v1(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.W_query = nn.Parameter(torch.rand(d_in, d_out))

    def forward(self, x):
        return x @ self.W_query
"""


# Whole texts, each with a chapter and an exercise, that lose nothing.
NOTHING_LOST = {
    "own names in another order": (CH4, MANY, MANY_HEADS),
    "parameters in another order": (
        CH1,
        "attention_scores",
        "def attention_scores(inputs, the_query):\n    return inputs @ the_query\n",
    ),
    "what the own class takes, a substitute takes": (CH4, "MultiHeadAttentionWrapper", WRAPPER),
    "packages and hints": (CH4, "merge_heads", REARRANGED),
    "hints that name what is missing": (CH4, "merge_heads", HINTED),
    "a failed import, and all inside of if": (CH1, "softmax", INSIDE_OF_IF),
    "a find-the-bug exercise inside of if": (CH1, "bug_simplified_self_attention", INSIDE_OF_IF),
}


@pytest.mark.parametrize("name", NOTHING_LOST)
def test_what_learners_may_choose_costs_nothing(judge: Judge, name: str):
    found = judge(*NOTHING_LOST[name])
    assert (found.status, found.message) == ("passed", "Right."), found


# A mistake in it, the points that are left (None: fewer than all), and its name.
WRONG = {
    "no scale": ({" / self.head_dim**0.5": ""}, 0.7 * 30, "no_scale"),
    "exchanged": (
        {"v_proj": "w_value", "(self.q_proj, self.k_proj,": "(self.k_proj, self.k_proj,"},
        None,
        "scores_from_keys_alone",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_mistake_under_other_names_is_named_and_nothing_else_is_told(judge: Judge, name: str):
    edits, points, mistake = WRONG[name]
    found = judge(CH4, MANY, replaced(MANY_HEADS, edits))
    assert found.mistakes == (mistake,) and found.points < found.max_points
    assert points is None or found.points == points
    assert "yours" not in found.message and "called" not in found.message, found


LAYERS = "self.layers = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))"
APART = {
    LAYERS: "self.fc1, self.fc2 = nn.Linear(d, 4 * d), nn.Linear(4 * d, d)",
    "self.layers(x)": "self.fc2(nn.functional.gelu(self.fc1(x)))",
}


def test_parts_that_are_meant_by_their_shapes_are_judged_by_their_values(judge: Judge):
    """Renaming earns nothing: values are compared, and names without a partner are lost."""

    def graded(edits: dict[str, str]) -> Verdict:
        return judge(CH6, "FeedForward", replaced(solution(CH6), APART | edits))

    bent = graded({"functional.gelu": "functional.relu"})
    assert bent.mistakes == ("relu_for_gelu",) and bent.points == 2.5
    assert graded({"self.fc1(x)": "self.fc1(x.flip(-1))"}).points <= 1
    narrow = graded({"4 * d": "3 * d"})
    assert "three times as wide" in narrow.message and narrow.points <= 2.5


# Texts without what is asked for, with the most points and what is said.
INCOMPLETE = [
    (
        (CH4, MANY, MANY_HEADS.replace(PARAMETERS, "d_in, d_out, num_head, droupout")),
        0,
        "__init__() has no parameter 'context_length'",
    ),
    (
        (
            CH2,
            "SelfAttention_v1",
            solution(CH2).replace(
                "def __init__(self, d_in: int, d_out: int)", "def __init__(self, d_in, d_out, size)"
            ),
        ),
        0,
        "'size'; its parameters are not those of the given code",
    ),
    ((CH2, "SelfAttention_v1", NO_INIT), 0, "is there an `__init__`, with two underscores"),
    ((CH2, "project_qkv", MISSPELT), 0, "`Selfattention_v1`"),
]


@pytest.mark.parametrize("text, most, said", INCOMPLETE, ids=lambda one: str(one)[:20])
def test_what_is_missing_or_too_much_is_reported(judge: Judge, text, most, said):
    found = judge(*text)
    assert found.points <= most and said in found.message, found
    assert ("underscores" in found.message) == ("underscores" in said), found


def test_what_is_right_keeps_its_points_if_the_rest_is_missing(judge: Judge):
    text = solution(CH6)
    first, last = place_of(text, "LayerNorm")
    lines = ["import torch", "from torch import nn", *text.splitlines()[first:last], ""]
    verdicts = judge.chapter(CH6, "\n".join(lines))
    right = [name for name, one in verdicts.items() if one.points]
    assert right == ["LayerNorm"] and verdicts["LayerNorm"].status == "passed"
