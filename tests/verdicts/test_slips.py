"""A slip costs once: a later exercise that calls a wrong earlier one of the same file is right.

And nobody earns the later exercise's points by what the earlier one answers.
"""

import pytest

from ..answers.reader import replaced, solution
from ..support import Judge, Verdict

pytestmark = pytest.mark.slow
CH2 = "ch2_self_attention"
CH3, CH4 = "ch3_causal_attention", "ch4_multi_head_attention"
CH6 = "ch6_small_gpt"
WEIGHTS = """    attn_scores = queries @ keys.transpose(-2, -1)
    d_k = keys.shape[-1]
    return torch.softmax(attn_scores / d_k**0.5, dim=-1)
"""
MIXED = """    attn_scores = queries @ keys.transpose(-2, -1)
    d_k = keys.shape[-1]
    attn_weights = torch.softmax(attn_scores / d_k**0.5, dim=-1)
    return attn_weights @ values
"""
CALLED = "    return attention_weights(queries, keys) @ values\n"
# Edits with which the later exercises of a solution call the earlier ones.
CALLS = {
    CH2: {
        "".join(f"    {line}\n" for line in MIXED.splitlines()): (
            "        return scaled_dot_product_attention(queries, keys, values)\n"
        ),
        MIXED: CALLED,
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
        "context_heads.transpose(1, 2).reshape(b, num_tokens, -1)": "merge_heads(context_heads)",
    },
    CH6: {},  # its classes are made of the earlier ones anyway
}
MERGE = "x.transpose(1, 2).reshape(b, num_tokens, num_heads * head_dim)"
DROPPED = "return attn_weights * keep / (1 - p)"
TRIL = {"torch.triu(ones, diagonal=1).bool()": "torch.tril(ones, diagonal=-1).bool()"}
NOT_DIVIDED = {DROPPED: "return attn_weights * keep"}
UNSCALED = {WEIGHTS: WEIGHTS.replace(" / d_k**0.5", "")}
ODD_SCALE = {WEIGHTS: WEIGHTS.replace("d_k**0.5", "1.7 + 0.1 * attn_scores")}
BIASED = {", unbiased=False": ""}
ATTENDED = "x = x + self.dropout(self.attention(self.norm1(x)))"
FED = "x = x + self.dropout(self.feed_forward(self.norm2(x)))"
NORM_AFTER = {
    ATTENDED: "x = self.norm1(x + self.dropout(self.attention(x)))",
    FED: "x = self.norm2(x + self.dropout(self.feed_forward(x)))",
}
RAISES = {"        mean = x.mean(": "        raise ValueError\n        mean = x.mean("}


def verdicts(judge: Judge, chapter: str, edits: dict[str, str], calls: bool = True, **options):
    """Return the verdicts on a solution whose exercises call earlier ones, with edits in it."""
    text = replaced(solution(chapter), (CALLS[chapter] if calls else {}) | edits)
    return judge.chapter(chapter, text, **options)


def lost(found: dict[str, Verdict]) -> set[str]:
    """Return the exercises that lost points."""
    return {name for name, verdict in found.items() if verdict.points < verdict.max_points}


# Each with a chapter, edits, the exercise that is wrong, and those that call it.
SLIPS = {
    "a known mistake": (
        CH2,
        UNSCALED,
        "attention_weights",
        "scaled_dot_product_attention SelfAttention_v1 SelfAttention_v2",
    ),
    "mask": (CH3, TRIL, "causal_mask", "causal_attention_weights CausalAttention"),
    "norm": (CH6, BIASED, "LayerNorm", "TransformerBlock SmallGPT"),
    "nothing comes of it": (CH6, RAISES, "LayerNorm", "TransformerBlock SmallGPT"),
    "loss": (CH6, {"- right).mean()": "- right).sum()"}, "cross_entropy", "train_step"),
}


@pytest.mark.parametrize("name", SLIPS)
def test_one_slip_costs_once(judge: Judge, name: str):
    chapter, edits, slip, right = SLIPS[name]
    found = verdicts(judge, chapter, edits)
    assert lost(found) == {slip}
    for later in right.split():
        assert (found[later].status, found[later].mistakes) == ("passed", ())
        assert f"it calls your own `{slip}`, which is wrong" in found[later].message, found[later]


def test_two_slips_and_one_that_is_written_out_twice_cost_twice(judge: Judge):
    found = verdicts(judge, CH3, TRIL | NOT_DIVIDED, explain=False)
    assert lost(found) == {"causal_mask", "inverted_dropout"}
    unscaled = {"attn_scores / d_k**0.5": "attn_scores"}
    found = verdicts(judge, CH2, unscaled, calls=False, explain=False)
    assert {"attention_weights", "scaled_dot_product_attention", "SelfAttention_v1"} <= lost(found)


def test_a_mistake_of_its_own_is_paid_for(judge: Judge):
    edits = {MERGE: "x.flip(1).transpose(1, 2).flatten(2)", "attn_scores / d_k**0.5": "attn_scores"}
    found = verdicts(judge, CH4, edits, explain=False)["MultiHeadAttention"]
    assert set(found.mistakes) == {"no_scale", "heads_in_reverse"}
    assert found.points == pytest.approx(0.7 * found.max_points)


COUNTED = """    count = torch.arange(float(queries[..., 0].numel() * values.shape[-1])).to(values)
    return count.reshape(*queries.shape[:-1], values.shape[-1])"""
ZEROS = {WEIGHTS: "    return torch.zeros(queries.shape[:-1] + (keys.shape[-2],)).to(queries)\n"}
USELESS = {  # of scaled_dot_product_attention, which names a wrong attention_weights
    "a dead line": f"    if queries is None: attention_weights(1)\n{COUNTED}\n",
    "a result that is not used": (
        "    attention_weights(queries, keys)\n    return values.cumsum(-2)\n"
    ),
    "counts": f"{COUNTED} + 0 * (queries.sum() + keys.sum() + values.sum())\n",
    # A right version is loaded alone: no other answer can be reached from it.
    "its globals": (
        "    at = getattr(attention_weights, '__wrapped__', attention_weights).__globals__\n"
        "    return at['scaled_dot_product_attention'](queries, keys, values)\n"
    ),
    "modules": (
        "    import sys\n"
        "    for module in list(sys.modules.values()):\n"
        "        found = vars(module).get('scaled_dot_product_attention')\n"
        "        if found and found.__globals__ is not globals():\n"
        "            return found(queries, keys, values)\n"
    ),
    "the garbage collector": (
        "    import gc\n"
        "    for found in gc.get_objects():\n"
        "        named = getattr(found, '__name__', '') == 'scaled_dot_product_attention'\n"
        "        if callable(found) and named and found.__globals__ is not globals():\n"
        "            return found(queries, keys, values)\n"
    ),
    "texts": (
        "    import gc\n"
        "    for one in gc.get_objects():\n"
        "        for text in one.values() if type(one) is dict else ():\n"
        "            if type(text) is str and 'attn_weights @ values' in text[-2000:]:\n"
        "                exec(text[text.index('def scaled_dot'):], found := {'torch': torch})\n"
        "                return found['scaled_dot_product_attention'](queries, keys, values)\n"
    ),
}


@pytest.mark.parametrize("name", USELESS)
def test_a_wrong_earlier_exercise_earns_no_learner_the_later_points(judge: Judge, name: str):
    edits = ZEROS | {CALLED: USELESS[name]}
    found = verdicts(judge, CH2, edits, explain=False)["scaled_dot_product_attention"]
    assert found.points <= 1, found


def test_an_earlier_exercise_that_is_not_written_yet_is_reported_as_that(judge: Judge):
    found = verdicts(judge, CH2, {WEIGHTS: "    raise NotImplementedError\n"})
    later = found["scaled_dot_product_attention"]
    assert "`attention_weights`, which is not written yet" in later.message
    assert later.points == later.max_points and lost(found) == {"attention_weights"}


def test_self_check_says_which_one_to_fix(judge: Judge):
    found = verdicts(judge, CH2, ODD_SCALE, public=True)["SelfAttention_v2"]
    assert "It calls your own `attention_weights`, which is wrong" in found.message


def test_beside_a_substitute_a_mistake_of_its_own_is_named_and_paid_for(judge: Judge):
    asked = ("LayerNorm", "TransformerBlock")
    block = verdicts(judge, CH6, BIASED | NORM_AFTER, exercises=asked)["TransformerBlock"]
    assert block.mistakes == ("norm_after_the_sum",) and block.points == block.max_points / 2
    assert "It calls your own `LayerNorm`, which is wrong" in block.message
    # A mistake that shows in layers without loaded weights: the substitute starts like a right one.
    surplus = {"for _ in range(num_layers)": "for _ in range(num_heads)"}
    model = verdicts(judge, CH6, NORM_AFTER | surplus, explain=False)["SmallGPT"]
    assert model.mistakes == ("heads_for_layers",) and model.points == 11


@pytest.mark.parametrize(
    "answer",
    [
        "self.norm2(self.norm1(x))",  # only the substitute's own work
        "x + sys.modules['TransformerBlock'].TransformerBlock.forward(self, x)",
        "x + TransformerBlock.__mro__[1].forward(self, x)",
    ],
)
def test_a_substitute_earns_no_learner_the_later_points(judge: Judge, answer: str):
    """Its process holds no substitute of the exercise that is judged, nor of a later one."""
    edits = BIASED | {ATTENDED: "import sys", FED: f"x = {answer}"}
    assert verdicts(judge, CH6, edits, explain=False)["TransformerBlock"].points <= 4


def test_learners_who_worked_around_an_own_slip_lose_nothing_by_a_substitute(judge: Judge):
    normed = "return self.scale * normed + self.shift"
    twice = {normed: "return (self.scale * normed + self.shift) * 2"}
    halved = {
        ATTENDED: ATTENDED.replace("self.norm1(x)", "self.norm1(x) / 2"),
        FED: FED.replace("self.norm2(x)", "self.norm2(x) / 2"),
        "self.final_norm(x)": "self.final_norm(x) / 2",
    }
    assert lost(verdicts(judge, CH6, twice | halved, explain=False)) == {"LayerNorm"}
