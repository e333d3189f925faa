"""Names that differ from the stub: judged as meant, all told in one sentence, one point at most.

Parameters are taken by position, whatever they are called; test_renamings.py has more on them.
"""

import pytest

from tensorgrade.messages.message import sentence
from tensorgrade.sources.submitted_files import SubmittedFiles

CH1, CH2 = "ch1_simplified_attention", "ch2_self_attention"
CH3, CH4 = "ch3_causal_attention", "ch4_multi_head_attention"
CH6 = "ch6_small_gpt"
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


@pytest.fixture
def grade(project, grader):
    """A function that grades a text, beside what the solution carries: verdicts by exercise."""

    def grade(chapter: str, text: str) -> dict:
        file, beside = f"{chapter}.py", project.beside(chapter)
        verdicts = grader.grade(
            SubmittedFiles("somebody", chapter, file, text.encode(), beside=beside)
        )
        return {verdict.exercise: verdict for verdict in verdicts}

    return grade


@pytest.fixture
def edited(project, judged):
    """A function that grades one exercise of a solution with pieces of its text replaced."""
    return lambda chapter, exercise, edits: judged(
        chapter, exercise, edited_solution(project, chapter, edits)
    )


def edited_solution(project, chapter: str, edits: dict[str, str]) -> str:
    """A chapter's solution with pieces of its text replaced, everywhere."""
    text = project.solution(chapter).read_text(encoding="utf-8")
    for old, new in edits.items():
        assert old in text, old
        text = text.replace(old, new)
    return text


@pytest.mark.slow
def test_eight_names_and_another_order_cost_one_point_and_are_all_reported(judged):
    verdict = judged(CH4, "MultiHeadAttention", MANY_HEADS)
    assert (verdict.points, verdict.mistakes) == (verdict.max_points - 1, [])
    assert verdict.message.startswith(
        "Right. The given order is `context_length, dropout, num_heads`; "
        "yours is `num_head, context_len, droupout`; "
    )
    assert verdict.message.endswith(" (costs 1 point).")
    for pair in (
        "`q_proj` should be called `W_query`",
        "`k_proj` should be `W_key`",
        "`v_proj` should be `W_value`",
        "`out` should be `out_proj`",
        "`causal` should be `mask`",
    ):
        assert pair in verdict.message, verdict


@pytest.mark.slow
def test_a_right_answer_with_other_names_is_no_wrong_answer_without_a_name(judged):
    assert not judged(CH4, "MultiHeadAttention", MANY_HEADS).group
    unknown = MANY_HEADS.replace("self.head_dim**0.5", "(self.head_dim + 3.5)")
    verdict = judged(CH4, "MultiHeadAttention", unknown)
    assert verdict.group and not verdict.mistakes


@pytest.mark.slow
def test_a_misspelt_class_is_judged_as_the_one_that_is_meant(edited):
    verdict = edited(CH3, "CausalAttention", {"class CausalAttention": "class CasualAttention"})
    assert "`CasualAttention` should be called `CausalAttention`" in verdict.message
    assert (verdict.points, verdict.mistakes) == (verdict.max_points - 1, [])


@pytest.mark.slow
def test_a_mistake_in_a_misspelt_class_is_named_and_both_are_reported(edited):
    wrong = {
        "class CausalAttention": "class CasualAttention",
        "attn_scores / d_k**0.5": "attn_scores",
    }
    verdict = edited(CH3, "CausalAttention", wrong)
    assert verdict.mistakes == ["no_scale"]
    assert "`CasualAttention` should be called `CausalAttention`" in verdict.message


@pytest.mark.slow
def test_a_mistake_under_other_names_is_named_and_both_are_reported(judged):
    verdict = judged(CH4, "MultiHeadAttention", MANY_HEADS.replace(" / self.head_dim**0.5", ""))
    assert verdict.mistakes == ["no_scale"] and verdict.points == 0.7 * 30 - 1
    assert "unscaled" in verdict.message and "yours is `num_head, context_len" in verdict.message


@pytest.mark.slow
@pytest.mark.parametrize(
    "chapter, exercise, edits, told",
    [
        (CH2, "SelfAttention_v1", {"self.W_query": "self.Wq"}, "`Wq` should be called `W_query`"),
        (
            CH2,
            "SelfAttention_v2",
            {"self.W_key": "self.keys", "self.W_value": "self.values"},
            "`keys` should be called `W_key`, `values` should be `W_value`",
        ),
        (
            CH3,
            "CausalAttention",
            {'"mask"': '"causal"', "self.mask": "self.causal"},
            "`causal` should be called `mask`",
        ),
        (CH3, "CausalAttention", {"def forward": "def foward"}, "`foward` should be called"),
        (CH3, "CausalAttention", {"def __init__": "def _init_"}, "`_init_` should be called"),
        (
            CH4,
            "MultiHeadAttentionWrapper",
            {"self.heads": "self.attn_heads"},
            "`attn_heads` should be called `heads`",
        ),
    ],
)
def test_another_name_costs_a_point_at_most(edited, chapter, exercise, edits, told):
    verdict = edited(chapter, exercise, edits)
    assert verdict.max_points - 1 <= verdict.points < verdict.max_points
    assert verdict.message.startswith(f"Right. {told}"), verdict


LAYERS = "self.layers = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))"
APART = {
    LAYERS: "self.fc1, self.fc2 = nn.Linear(d, 4 * d), nn.Linear(4 * d, d)",
    "self.layers(x)": "self.fc2(nn.functional.gelu(self.fc1(x)))",
}
TABLE = {
    "nn.Embedding(context_length, d)": "nn.Parameter(torch.randn(context_length, d))",
    "self.position_embedding(places)": "self.position_embedding[places]",
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "exercise, edits, said",
    [
        (
            "LayerNorm",
            {"self.scale": "self.gamma", "self.shift": "self.beta"},
            "`gamma` should be called `scale`, `beta` should be `shift`",
        ),
        (
            "TransformerBlock",
            {"self.attention": "self.att", "self.feed_forward": "self.ff"},
            "`att` should be called `attention`, `ff` should be `feed_forward`",
        ),
        ("FeedForward", APART, "`fc1` should be called `layers.0`, `fc2` should be `layers.2`"),
        (
            "SmallGPT",
            TABLE,
            "`position_embedding` should be called `position_embedding.weight`",
        ),
    ],
)
def test_another_name_costs_once_where_it_is(grade, project, exercise, edits, said):
    found = grade(CH6, edited_solution(project, CH6, edits))
    charged = {name: v.message for name, v in found.items() if v.points < v.max_points}
    cost = min(1, found[exercise].max_points / 10)
    points = "point" if cost == 1 else "points"
    assert charged == {exercise: f"Right. {said} (costs {cost:g} {points})."}
    assert found[exercise].points == pytest.approx(found[exercise].max_points - cost)


TORCHS = "nn.LayerNorm(d)"
IN_THE_BLOCK = {f"self.norm{n} = LayerNorm(d)": f"self.norm{n} = {TORCHS}" for n in (1, 2)}
IN_THE_MODEL = {"self.final_norm = LayerNorm(d)": f"self.final_norm = {TORCHS}"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "edits, charged",
    [
        (IN_THE_BLOCK, ["TransformerBlock"]),
        (IN_THE_MODEL, ["SmallGPT"]),
        (IN_THE_BLOCK | IN_THE_MODEL, ["TransformerBlock", "SmallGPT"]),
    ],
)
def test_names_within_a_part_are_paid_for_where_that_part_is_made(grade, project, edits, charged):
    found = grade(CH6, edited_solution(project, CH6, edits))
    assert [name for name, v in found.items() if v.points < v.max_points] == charged
    whose = {"TransformerBlock": "`norm1` and `norm2`", "SmallGPT": "`final_norm`"}
    for name in charged:
        said = f"Right. {whose[name]} should be your own `LayerNorm`, not torch's `nn.LayerNorm`"
        assert found[name].message == f"{said} (costs 1 point)."


@pytest.mark.slow
def test_a_name_of_its_own_is_charged_beside_that_of_a_part(grade, project):
    found = grade(CH6, edited_solution(project, CH6, APART | {"self.feed_forward": "self.ff"}))
    charged = {name: v.message for name, v in found.items() if v.points < v.max_points}
    assert charged.keys() == {"FeedForward", "TransformerBlock"}
    said = "Right. `ff` should be called `feed_forward` (costs 1 point)."
    assert charged["TransformerBlock"] == said


@pytest.mark.slow
def test_parts_that_are_meant_by_their_shapes_are_judged_by_their_values(edited):
    """Renaming earns nothing: values are compared, and names without a partner are lost."""
    bent = edited(CH6, "FeedForward", APART | {"functional.gelu": "functional.relu"})
    assert bent.mistakes == ["relu_for_gelu"] and bent.points == 2
    turned = edited(CH6, "FeedForward", APART | {"self.fc1(x)": "self.fc1(x.flip(-1))"})
    assert turned.points <= 1
    narrow = edited(CH6, "FeedForward", {**APART, "4 * d": "3 * d"})
    assert "three times as wide" in narrow.message and narrow.points <= 2


def test_parameters_in_order_are_their_authors_and_are_not_mentioned(edited):
    edits = {
        "query: torch.Tensor, inputs: torch.Tensor": "q, tokens",
        "return inputs @ query": "return tokens @ q",
    }
    verdict = edited(CH1, "attention_scores", edits)
    assert (verdict.status, verdict.message) == ("passed", "Right.")


@pytest.mark.slow
def test_parameters_in_another_order_go_by_their_names(judged):
    text = "def attention_scores(inputs, the_query):\n    return inputs @ the_query\n"
    verdict = judged(CH1, "attention_scores", text)
    assert (verdict.points, verdict.mistakes) == (4.5, [])
    assert verdict.message == (
        "Right. The given order is `query, inputs`; yours is `inputs, the_query` "
        "(costs 0.5 points)."
    )


@pytest.mark.slow
def test_a_missing_option_alone_is_named(edited):
    fixed = {
        "def __init__(self, d: int, eps: float = 1e-5) -> None:\n        super": (
            "def __init__(self, emb_dim):\n        d, eps = emb_dim, 1e-5\n        super"
        )
    }
    verdict = edited(CH6, "LayerNorm", fixed)
    assert verdict.message.startswith(
        "TypeError: __init__() has no parameter 'eps'; the given code "
    )
    assert 0 < verdict.points < verdict.max_points


@pytest.mark.slow
def test_the_stubs_own_names_in_its_order_cost_nothing(judged):
    text = MANY_HEADS.replace(
        "num_head, context_len, droupout, bias", "context_len, droupout, num_head, bias"
    )
    text = text.replace("droupout", "dropout").replace("num_head,", "num_heads,")
    for old, new in (
        ("q_proj", "W_query"),
        ("k_proj", "W_key"),
        ("v_proj", "W_value"),
        ("self.out,", "self.out_proj,"),
        ("self.out(", "self.out_proj("),
        ("causal", "mask"),
        ("context_len", "context_length"),
        ("bias=bias", "bias=qkv_bias"),
        (", bias=False", ", qkv_bias=False"),
        ("% num_head", "% num_heads"),
        ("{num_head}", "{num_heads}"),
        ("= num_head,", "= num_heads,"),
        ("// num_head\n", "// num_heads\n"),
    ):
        text = text.replace(old, new)
    assert judged(CH4, "MultiHeadAttention", text).message == "Right."


@pytest.mark.slow
@pytest.mark.parametrize(
    "parameters, lost",
    [
        ("d_in, d_out, num_head, droupout", "parameter 'context_length'"),
        ("d_in, d_out", "parameters 'context_length', 'dropout' and 'num_heads'"),
    ],
)
def test_what_no_name_can_be_meant_for_is_reported_and_bound_to_nothing(judged, parameters, lost):
    text = MANY_HEADS.replace(
        "d_in, d_out, num_head, context_len, droupout, bias=False", parameters
    )
    verdict = judged(CH4, "MultiHeadAttention", text)
    assert f"__init__() has no {lost}" in verdict.message and "underscores" not in verdict.message
    assert verdict.points == 0


@pytest.mark.slow
def test_a_required_parameter_that_nobody_passes_is_not_blamed_on_underscores(edited):
    edits = {"def __init__(self, d_in: int, d_out: int)": "def __init__(self, d_in, d_out, size)"}
    verdict = edited(CH2, "SelfAttention_v1", edits)
    assert "'size'; its parameters are not those of the given code" in verdict.message


def test_an_init_that_is_not_there_is(judged):
    text = "import torch\nfrom torch import nn\nclass SelfAttention_v1(nn.Module):\n"
    text += "    def start(self, d_in, d_out):\n        pass\n    def forward(self, x):\n"
    verdict = judged(CH2, "SelfAttention_v1", text + "        return x\n")
    assert "is there an `__init__`, with two underscores" in verdict.message


def test_a_substitute_takes_what_the_learners_own_class_takes(judged):
    verdict = judged(CH4, "MultiHeadAttentionWrapper", WRAPPER)
    assert (verdict.status, verdict.message) == ("passed", "Right.")


@pytest.mark.slow
def test_values_under_names_that_mean_something_else_are_wrong(judged):
    """Likeness says what is meant: who computes keys with `w_query` has exchanged the two."""
    text = MANY_HEADS.replace("v_proj", "w_value").replace(
        "(self.q_proj, self.k_proj,", "(self.k_proj, self.k_proj,"
    )
    verdict = judged(CH4, "MultiHeadAttention", text)
    assert verdict.mistakes == ["scores_from_keys_alone"]


@pytest.mark.slow
def test_self_check_tells_names_too(project):
    from tensorgrade.author.proofs.made_attempts import MadeAttempts
    from tensorgrade.testing.collected import CollectedTests

    collected = CollectedTests(project.exercises)
    attempt = MadeAttempts(project, project.exercises).attempt(CH4, MANY_HEADS)
    *checks, names = collected.results(attempt, "MultiHeadAttention")
    assert all(check.passed for check in checks) and names.earned == -1
    assert sentence(names.finding.message).startswith(
        "Right. The given order is `context_length, dropout, "
    )
