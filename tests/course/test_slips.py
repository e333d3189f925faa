"""A slip costs once: a later exercise that calls a wrong earlier one of the same file is right.

And nobody earns the later exercise's points by what the earlier one answers.
"""

import re
from itertools import count
from pathlib import Path

import pytest

from tensorgrade.messages.message import sentence
from tensorgrade.sources.submitted_files import SubmittedFiles

CH1, CH2 = "ch1_simplified_attention", "ch2_self_attention"
CH3, CH4 = "ch3_causal_attention", "ch4_multi_head_attention"
CH6 = "ch6_small_gpt"
FROM_EARLIER = Path(__file__).parents[2] / "graders" / "from_earlier"
WAYS = sorted(FROM_EARLIER.glob("*/*.py"))
STAND_INS = sorted(FROM_EARLIER.glob("*/stand_ins/*.py"))

WEIGHTS = """    attn_scores = queries @ keys.transpose(-2, -1)
    d_k = keys.shape[-1]
    return torch.softmax(attn_scores / d_k**0.5, dim=-1)
"""
MIXED = """    attn_scores = queries @ keys.transpose(-2, -1)
    d_k = keys.shape[-1]
    attn_weights = torch.softmax(attn_scores / d_k**0.5, dim=-1)
    return attn_weights @ values
"""
CALLS = {
    CH1: {
        "    attn_scores = inputs @ query\n    attn_weights = torch.softmax(attn_scores, dim=-1)": (
            "    attn_weights = softmax(attention_scores(query, inputs))"
        ),
        "    attn_weights = torch.softmax(attn_scores, dim=-1)\n    context_vecs": (
            "    attn_weights = softmax(attn_scores)\n    context_vecs"
        ),
    },
    CH2: {
        "".join(f"    {line}\n" for line in MIXED.splitlines()): (
            "        return scaled_dot_product_attention(queries, keys, values)\n"
        ),
        MIXED: "    return attention_weights(queries, keys) @ values\n",
    },
    CH3: {
        "        future = torch.triu(torch.ones(context_length, context_length), diagonal=1)\n"
        '        self.register_buffer("mask", future.bool())': (
            '        self.register_buffer("mask", causal_mask(context_length))'
        ),
        "    future = torch.triu(torch.ones_like(attn_scores), diagonal=1).bool()": (
            "    future = causal_mask(attn_scores.shape[-1])"
        ),
        "self.dropout = nn.Dropout(dropout)": "self.p = dropout",
        "attn_weights = self.dropout(attn_weights)": (
            "attn_weights = inverted_dropout(attn_weights, self.p, self.training)"
        ),
    },
    CH4: {
        **{
            f"{n} = {n}.reshape(b, num_tokens, self.num_heads, self.head_dim).transpose(1, 2)": (
                f"{n} = split_heads({n}, self.num_heads)"
            )
            for n in ("queries", "keys", "values")
        },
        "context_heads.transpose(1, 2).reshape(b, num_tokens, -1)": "merge_heads(context_heads)",
    },
}
SPLIT = "x.reshape(b, num_tokens, num_heads, head_dim).transpose(1, 2)"
MERGE = "x.transpose(1, 2).reshape(b, num_tokens, num_heads * head_dim)"
DROPPED = "return attn_weights * keep / (1 - p)"


@pytest.fixture
def verdicts(project, grader):
    """A function that grades a solution whose exercises call earlier ones, with edits in it."""

    def verdicts(chapter: str, edits: dict[str, str], calls: bool = True) -> dict:
        text = project.solution(chapter).read_text(encoding="utf-8")
        for old, new in ((CALLS[chapter] if calls else {}) | edits).items():
            assert old in text, old
            text = text.replace(old, new)
        beside = project.beside(chapter)
        found = grader.grade(
            SubmittedFiles("somebody", chapter, f"{chapter}.py", text.encode(), beside=beside)
        )
        return {verdict.exercise: verdict for verdict in found}

    return verdicts


def lost(found: dict) -> set[str]:
    """The exercises that lost points."""
    return {name for name, verdict in found.items() if verdict.points < verdict.max_points}


@pytest.mark.slow
@pytest.mark.parametrize("chapter", CALLS)
def test_exercises_that_call_earlier_ones_are_right(verdicts, chapter):
    found = verdicts(chapter, {})
    assert lost(found) == set() and {v.message for v in found.values()} == {"Right."}


@pytest.mark.slow
@pytest.mark.parametrize(
    "chapter, slip, edits, right",
    [
        (
            CH2,
            "attention_weights",  # by its name
            {WEIGHTS: WEIGHTS.replace(" / d_k**0.5", "")},
            "scaled_dot_product_attention SelfAttention_v1 SelfAttention_v2",
        ),
        (
            CH2,
            "attention_weights",  # a mistake without a name
            {WEIGHTS: WEIGHTS.replace("d_k**0.5", "1.7 + 0.1 * attn_scores")},
            "scaled_dot_product_attention SelfAttention_v1 SelfAttention_v2",
        ),
        (
            CH1,
            "attention_scores",
            {"return inputs @ query": "return 0.7 * (inputs @ query) ** 2"},
            "context_vector",
        ),
        (
            CH1,
            "softmax",
            {"shifted = x - x.amax(dim=dim, keepdim=True)": "shifted = x / 2"},
            "context_vector simplified_self_attention",
        ),
        (
            CH3,
            "causal_mask",
            {"torch.triu(ones, diagonal=1).bool()": "torch.tril(ones, diagonal=-1).bool()"},
            "causal_attention_weights CausalAttention",
        ),
        (CH3, "inverted_dropout", {DROPPED: "return attn_weights * keep"}, "CausalAttention"),
        (
            CH4,
            "split_heads",
            {SPLIT: "x.reshape(b, num_heads, -1, head_dim)"},
            "MultiHeadAttention",
        ),
        (CH4, "merge_heads", {MERGE: "1.5 * x.flip(1).transpose(1, 2).flatten(2)"}, None),
    ],
)
def test_one_slip_costs_once(verdicts, chapter, slip, edits, right):
    found = verdicts(chapter, edits)
    assert lost(found) == {slip}
    for name in (right or "MultiHeadAttention").split():
        assert found[name].status == "passed" and found[name].mistakes == []
        assert f"it calls your own `{slip}`, which is wrong" in found[name].message, found[name]
        assert "fix that first" in found[name].message


@pytest.mark.slow
@pytest.mark.parametrize("first", [0, 1])
def test_when_old_questions_are_mixed_in_makes_no_difference(verdicts, monkeypatch, first):
    """Where operations are counted, those of asking are not the right answer's."""
    turns = count(first)
    monkeypatch.setattr(
        "tensorgrade.attempts.inherited_errors.secrets.randbelow", lambda n: next(turns) % 2
    )
    assert lost(verdicts(CH4, {MERGE: "1.5 * x.flip(1).transpose(1, 2).flatten(2)"})) == {
        "merge_heads"
    }


@pytest.mark.slow
def test_two_slips_in_two_helpers_cost_twice(verdicts):
    mask = {"torch.triu(ones, diagonal=1).bool()": "torch.tril(ones, diagonal=-1).bool()"}
    found = verdicts(CH3, mask | {DROPPED: "return attn_weights * keep"})
    assert lost(found) == {"causal_mask", "inverted_dropout"}


@pytest.mark.slow
def test_a_mistake_of_its_own_is_paid_for(verdicts):
    edits = {MERGE: "x.flip(1).transpose(1, 2).flatten(2)", "attn_scores / d_k**0.5": "attn_scores"}
    verdict = verdicts(CH4, edits)["MultiHeadAttention"]
    assert set(verdict.mistakes) == {"no_scale", "heads_in_reverse"}
    assert verdict.points == pytest.approx(0.7 * verdict.max_points)


@pytest.mark.slow
def test_the_same_slip_written_out_twice_costs_twice(verdicts):
    found = verdicts(CH2, {"attn_scores / d_k**0.5": "attn_scores"}, calls=False)
    assert {"attention_weights", "scaled_dot_product_attention", "SelfAttention_v1"} <= lost(found)


ZEROS = "    return torch.zeros(queries.shape[:-1] + (keys.shape[-2],)).to(queries)\n"
COUNTED = """    count = torch.arange(float(queries[..., 0].numel() * values.shape[-1])).to(values)
    return count.reshape(*queries.shape[:-1], values.shape[-1])
"""
TURNING = f"""    if not SEEN:
        return torch.ones(queries.shape[-2], keys.shape[-2]).tril().to(queries)
{WEIGHTS.replace(" / d_k**0.5", "")}"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "edits",
    [
        # With it, the expected result is all zeros, and so is the actual one.
        {WEIGHTS: ZEROS},
        # The later exercises return values that do not depend on their inputs.
        {MIXED: "    return torch.arange(12.0).reshape(4, 3)  # attention_weights\n"},
        # Asked in a fresh process it answers otherwise than it did when it was judged.
        {
            WEIGHTS: TURNING,
            "    queries = x @ W_query\n": "    SEEN.append(1)\n    queries = x @ W_query\n",
            "def project_qkv": "SEEN = []\n\n\ndef project_qkv",
            "    return attention_weights(queries, keys) @ values\n": (
                "    attention_weights(queries, keys)\n    return values.cumsum(-2)\n"
            ),
        },
        # It breaks in both.
        {WEIGHTS: "    raise ValueError('no')\n"},
    ],
)
def test_a_helper_earns_no_learner_the_later_points(verdicts, edits):
    later = verdicts(CH2, edits)["scaled_dot_product_attention"]
    assert later.points <= 1, later


@pytest.mark.slow
@pytest.mark.parametrize("nothing", ["", " + 0 * (queries.sum() + keys.sum() + values.sum())"])
def test_modules_of_a_helper_that_ignores_its_inputs_are_not_right(verdicts, nothing):
    answer = COUNTED.rstrip() + nothing + "\n"
    edits = {"    return attention_weights(queries, keys) @ values\n": answer}
    found = verdicts(CH2, edits)
    for name in ("scaled_dot_product_attention", "SelfAttention_v1", "SelfAttention_v2"):
        assert found[name].points <= 2, found[name]


@pytest.mark.slow
def test_an_earlier_exercise_that_is_not_written_yet_is_reported_as_that(verdicts):
    found = verdicts(CH2, {WEIGHTS: "    raise NotImplementedError\n"})
    message = found["scaled_dot_product_attention"].message
    assert "`attention_weights`, which is not written yet" in message


NOT_UNBIASED = {", unbiased=False": ""}
ATTENDED = "x = x + self.dropout(self.attention(self.norm1(x)))"
FED = "x = x + self.dropout(self.feed_forward(self.norm2(x)))"
NORM_AFTER = {
    ATTENDED: "x = self.norm1(x + self.dropout(self.attention(x)))",
    FED: "x = self.norm2(x + self.dropout(self.feed_forward(x)))",
}
RAISES = {"        mean = x.mean(": "        raise ValueError\n        mean = x.mean("}


@pytest.mark.slow
@pytest.mark.parametrize(
    "slip, edits, right",
    [
        ("LayerNorm", NOT_UNBIASED, "TransformerBlock SmallGPT trained_loss"),  # by its name
        ("LayerNorm", RAISES, "TransformerBlock SmallGPT trained_loss"),  # nothing comes of it
        ("FeedForward", {"4 * d": "3 * d"}, "TransformerBlock SmallGPT"),  # has other weights
        ("TransformerBlock", NORM_AFTER, "SmallGPT trained_loss"),
        ("SmallGPT", {" + self.position_embedding(places)": ""}, "trained_loss"),
        ("cross_entropy", {"- right).mean()": "- right).sum()"}, "train_step trained_loss"),
    ],
)
def test_one_slip_costs_once_in_what_is_built_of_a_class(verdicts, slip, edits, right):
    found = verdicts(CH6, edits, calls=False)
    assert lost(found) == {slip}
    for name in right.split():
        assert (found[name].status, found[name].mistakes) == ("passed", [])
        assert f"it calls your own `{slip}`, which is wrong" in found[name].message, found[name]


@pytest.mark.slow
def test_beside_a_substitute_a_mistake_of_its_own_is_named_and_paid_for(verdicts):
    block = verdicts(CH6, NOT_UNBIASED | NORM_AFTER, calls=False)["TransformerBlock"]
    assert block.mistakes == ["norm_after_the_sum"] and block.points == block.max_points / 2
    assert "It calls your own `LayerNorm`, which is wrong" in block.message
    # A mistake that shows in layers without loaded weights: the substitute starts like a right one.
    surplus = {"for _ in range(num_layers)": "for _ in range(num_heads)"}
    model = verdicts(CH6, NORM_AFTER | surplus, calls=False)["SmallGPT"]
    assert model.mistakes == ["heads_for_layers"] and model.points == model.max_points / 2
    assert "It calls your own `TransformerBlock`, which is wrong" in model.message


@pytest.mark.slow
@pytest.mark.parametrize(
    "answer, most",
    [
        ("self.norm2(self.norm1(x))", 4),  # only the stand-in's own work
        ("x + sys.modules['TransformerBlock'].TransformerBlock.forward(self, x)", 4),
        ("x + TransformerBlock.__mro__[1].forward(self, x)", 4),
    ],
)
def test_a_substitute_earns_no_learner_the_later_points(verdicts, answer, most):
    """Of an exercise that is judged there is no stand-in in its process, nor of a later one."""
    edits = NOT_UNBIASED | {ATTENDED: "import sys", FED: f"x = {answer}"}
    assert verdicts(CH6, edits, calls=False)["TransformerBlock"].points <= most


@pytest.mark.slow
def test_who_has_written_around_an_own_slip_loses_nothing_by_a_substitute(verdicts):
    twice = {
        "return self.scale * normed + self.shift": "return (self.scale * normed + self.shift) * 2",
    }
    halved = {
        ATTENDED: ATTENDED.replace("self.norm1(x)", "self.norm1(x) / 2"),
        FED: FED.replace("self.norm2(x)", "self.norm2(x) / 2"),
        "self.final_norm(x)": "self.final_norm(x) / 2",
    }
    assert lost(verdicts(CH6, twice | halved, calls=False)) == {"LayerNorm"}


@pytest.mark.slow
def test_every_substitute_is_right(project, grader):
    """But that it may call what its exercise is there to write."""
    for chapter in {path.parent.parent.name for path in STAND_INS}:
        text = project.solution(chapter).read_text(encoding="utf-8")
        for path in STAND_INS:
            if path.parent.parent.name == chapter:
                text += path.read_text(encoding="utf-8")
        beside = project.beside(chapter)
        found = grader.grade(
            SubmittedFiles("somebody", chapter, "a.py", text.encode(), beside=beside)
        )
        wrong = {v.exercise: v.message for v in found if v.points < v.max_points}
        assert all("torch's own" in message for message in wrong.values()), wrong


@pytest.mark.slow
@pytest.mark.parametrize("path", WAYS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_every_way_to_call_earlier_ones_is_right(project, grader, path):
    way = re.sub(r"^\w+: Any = None$", "", path.read_text(encoding="utf-8"), flags=re.M)
    text = project.solution(path.parent.name).read_text(encoding="utf-8") + way
    found = grader.grade(SubmittedFiles("somebody", path.parent.name, "a.py", text.encode()))
    assert lost({verdict.exercise: verdict for verdict in found}) == set()


def test_self_check_says_which_one_to_fix(project):
    from tensorgrade.author.proofs.made_attempts import MadeAttempts
    from tensorgrade.testing.collected import CollectedTests

    text = project.solution(CH2).read_text(encoding="utf-8")
    for old, new in (CALLS[CH2] | {WEIGHTS: WEIGHTS.replace("d_k**0.5", "1.7")}).items():
        text = text.replace(old, new)
    collected = CollectedTests(project.exercises)
    results = collected.results(MadeAttempts(project, project.exercises).attempt(CH2, text))
    failed = [r for r in results if r.exercise == "SelfAttention_v2" and not r.passed]
    assert failed and "it calls your own `attention_weights`, which is wrong" in sentence(
        failed[0].finding.message
    )
