"""Single attempts and their verdicts: points, names and messages."""

import pytest

CH1, CH2 = "ch1_simplified_attention", "ch2_self_attention"
CH3, CH4 = "ch3_causal_attention", "ch4_multi_head_attention"
IMPORTS = "import torch\nfrom torch import nn\n"


@pytest.fixture
def judge(judged):
    """A function that grades the code of one exercise: its verdict."""
    return lambda chapter, exercise, code: judged(chapter, exercise, IMPORTS + code)


@pytest.fixture
def edited(project, judge):
    """A function that grades a solution with pieces of its text replaced."""

    def edited(chapter: str, exercise: str, *edits: tuple[str, str]):
        source = project.solution(chapter).read_text(encoding="utf-8")
        for old, new in edits:
            assert old in source
            source = source.replace(old, new)
        return judge(chapter, exercise, source)

    return edited


REFUSAL = """        if d_out % num_heads:
            raise ValueError("num_heads must divide d_out")
"""


@pytest.mark.slow
@pytest.mark.parametrize("refusal", ["        assert d_out % num_heads == 0\n", REFUSAL])
def test_a_mistake_is_named_whichever_way_an_uneven_split_is_refused(project, judge, refusal):
    code = """
class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
REFUSAL
        self.num_heads, self.head_dim = num_heads, d_out // num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj, self.dropout = nn.Linear(d_out, d_out), nn.Dropout(dropout)
        self.register_buffer("mask", torch.ones(context_length, context_length).triu(1).bool())

    def forward(self, x):
        b, n, _ = x.shape
        parts = (layer(x) for layer in (self.W_query, self.W_key, self.W_value))
        q, k, v = (part.view(b, n, self.num_heads, self.head_dim).transpose(1, 2) for part in parts)
        scores = (q @ k.mT).masked_fill(self.mask[:n, :n], -torch.inf)
        weights = self.dropout(torch.softmax(scores, dim=-1))
        return self.out_proj((weights @ v).transpose(1, 2).reshape(b, n, -1))
""".replace("REFUSAL\n", refusal)
    assert judge(CH4, "MultiHeadAttention", code).mistakes == ["no_scale"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "returned, said",
    [
        ("inputs @ query, 1.0 * query", "tuple or list of 2 tensors"),
        ("[inputs @ query]", "tuple or list of 1 tensor;"),
        ("{'scores': inputs @ query}", "a dict with the keys scores; one tensor"),
        ("None", "None: does your function end in a `return` with a value?"),
    ],
)
def test_another_kind_of_result_is_reported(judge, returned, said):
    verdict = judge(
        CH1, "attention_scores", f"def attention_scores(query, inputs):\n    return {returned}\n"
    )
    assert said in verdict.message and verdict.points <= 1


def test_an_error_of_torch_is_no_stub(judge):
    """torch itself raises NotImplementedError for what an operation cannot do."""
    code = "def attention_scores(query, inputs):\n    return nn.Module()(inputs)\n"
    verdict = judge(CH1, "attention_scores", code)
    assert verdict.status == "error" and "not written" not in verdict.message


@pytest.mark.slow
@pytest.mark.parametrize(
    "call",
    [
        "torch.softmax(x, dim=dim)",
        "torch.special.softmax(x, dim=dim)",
        "torch.ops.aten._softmax(x, dim, False)",
        "nn.Softmax(dim)(x)",
        "torch.log_softmax(x, dim=dim).exp()",
    ],
)
def test_a_borrowed_softmax_is_seen_by_any_name(judge, call):
    verdict = judge(CH1, "softmax", f"def softmax(x, dim=-1):\n    return {call}\n")
    assert verdict.status == "partial" and verdict.mistakes == ["library_softmax"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "call",
    [
        "nn.functional.dropout(attn_weights, p, training)",
        "nn.Dropout(p)(attn_weights) if training else attn_weights",
        "torch.native_dropout(attn_weights, p, training)[0] if training else attn_weights",
    ],
)
def test_a_borrowed_dropout_is_seen_by_any_name(judge, call):
    code = f"def inverted_dropout(attn_weights, p, training=True):\n    return {call}\n"
    verdict = judge(CH3, "inverted_dropout", code)
    assert verdict.status == "partial" and verdict.mistakes == ["library_dropout"]


@pytest.mark.slow
def test_a_loop_without_matrix_products_is_seen(judge):
    code = """
def simplified_self_attention(inputs):
    scores = torch.stack([(inputs * row).sum(-1) for row in inputs])
    weights = torch.softmax(scores, dim=-1)
    return torch.stack([(w[:, None] * inputs).sum(0) for w in weights]), weights
"""
    verdict = judge(CH1, "simplified_self_attention", code)
    assert (verdict.points, verdict.mistakes) == (9, ["loop_over_tokens"])


@pytest.mark.slow
@pytest.mark.parametrize(
    "keep, said",
    [
        (
            "torch.arange(attn_weights.numel()).view(attn_weights.shape) * 37 % 101 / 101 >= p",
            "whatever the seed",
        ),
        (
            "torch.rand(attn_weights.shape[:-1] + (1,)).expand_as(attn_weights) >= p",
            "drop each entry independently",
        ),
    ],
)
def test_dropout_without_chance_is_reported(judge, keep, said):
    code = f"def inverted_dropout(attn_weights, p, training=True):\n    keep = {keep}\n"
    code += "    return attn_weights * keep / (1 - p) if training else attn_weights\n"
    verdict = judge(CH3, "inverted_dropout", code)
    assert said in verdict.message and verdict.points < 5


def test_doing_nothing_earns_little_in_dropout(judge):
    code = "def inverted_dropout(attn_weights, p, training=True):\n    return attn_weights\n"
    verdict = judge(CH3, "inverted_dropout", code)
    assert verdict.points <= 3 and verdict.mistakes == ["dropout_left_out"]


@pytest.mark.slow
def test_noise_that_is_no_dropout_gets_no_name(judge):
    code = "def inverted_dropout(attn_weights, p, training=True):\n"
    code += "    noise = p * torch.randn_like(attn_weights)\n"
    code += "    return attn_weights * (1 + noise) if training else attn_weights\n"
    assert judge(CH3, "inverted_dropout", code).mistakes == []


@pytest.mark.slow
def test_every_part_of_a_result_must_let_gradients_pass(judge):
    code = "def project_qkv(x, W_query, W_key, W_value):\n"
    code += "    return x @ W_query, x.detach() @ W_key.detach(), x @ W_value\n"
    verdict = judge(CH2, "project_qkv", code)
    assert verdict.status == "partial" and "W_key" in verdict.message


@pytest.mark.slow
def test_an_object_is_not_none(judge):
    code = "def copy_v2_into_v1(v2, v1):\n    with torch.no_grad():\n"
    code += "".join(
        f"        v1.{w}.copy_(v2.{w}.weight.T)\n" for w in ("W_query", "W_key", "W_value")
    )
    assert judge(CH2, "copy_v2_into_v1", code).status == "passed"
    assert judge(CH2, "copy_v2_into_v1", code + "    return v1\n").mistakes == ["copy_returned"]


def test_a_fraction_is_no_size(edited):
    verdict = edited(
        CH4,
        "trace_shapes",
        ("    head_dim = d_out // num_heads", "    head_dim = d_out / num_heads"),
    )
    assert verdict.mistakes == ["head_dim_not_whole"] and verdict.points < 5


@pytest.mark.slow
def test_a_fill_that_scores_can_fall_below_is_named(judge):
    code = """
def causal_attention_weights(attn_scores, d_k):
    future = torch.ones_like(attn_scores).triu(1).bool()
    return torch.softmax(attn_scores.masked_fill(future, -100.0) / d_k**0.5, dim=-1)
"""
    assert judge(CH3, "causal_attention_weights", code).mistakes == ["mask_fill_not_low_enough"]


@pytest.mark.slow
def test_what_another_chapter_does_not_lend_is_reported(edited):
    verdict = edited(
        CH4,
        "MultiHeadAttention",
        (
            "from ch3_causal_attention import CausalAttention",
            "from ch3_causal_attention import CausalAttention, causal_mask",
        ),
        (
            "torch.triu(torch.ones(context_length, context_length), diagonal=1)",
            "causal_mask(context_length)",
        ),
    )
    assert "each chapter's file is checked on its own" in verdict.message


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
        n = x.shape[1]
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        s = (q @ k.mT).masked_fill(self.mask[:n, :n], -torch.inf)
        w = self.dropout(torch.softmax(s / k.shape[-1] ** 0.5, dim=-1))
        return w @ v
"""


@pytest.mark.slow
def test_the_causal_module_above_is_right(judge):
    assert judge(CH3, "CausalAttention", CAUSAL).status == "passed"


@pytest.mark.slow
@pytest.mark.parametrize(
    "old, new, mistakes, said",
    [
        (
            "        q, k, v =",
            "        self.mask = self.mask[:n, :n]\n        q, k, v =",
            ["mask_cut_for_good"],
            "longer text",
        ),
        (
            "        s = (q",
            "        if not hasattr(self, 'kept'): self.kept = k\n"
            "        k = self.kept\n        s = (q",
            [],
            "",
        ),
        (
            ".masked_fill(self.mask[:n, :n], -torch.inf)",
            ".tril()\n        s = s.masked_fill(s == 0, -torch.inf)",
            ["zeros_taken_for_hidden"],
            "score of 0",
        ),
        (
            "torch.ones(context_length, context_length)",
            "torch.ones(1024, 1024)",
            [],
            "has shape (1024, 1024)",
        ),
        ("nn.Dropout(dropout)", "nn.Dropout()", ["dropout_rate_of_a_half"], "always 0.5"),
        ("nn.Dropout(dropout)", "nn.Dropout(0.4)", [], "of the entries is dropped, but p is 0.3"),
        (
            "        return w @ v",
            "        return (w / w.sum(-1, keepdim=True)) @ v",
            [],
            "contains NaN",
        ),
    ],
)
def test_what_an_attack_on_the_module_slipped_past(judge, old, new, mistakes, said):
    assert old in CAUSAL
    verdict = judge(CH3, "CausalAttention", CAUSAL.replace(old, new))
    assert (
        verdict.points < verdict.max_points
        and verdict.mistakes == mistakes
        and said in verdict.message
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "exercise, code, said",
    [
        (
            "project_qkv",
            "def project_qkv(x, W_query, W_key, W_value):\n"
            "    return x @ W_query.weight, x @ W_key.weight, x @ W_value.weight\n",
            "has no attribute 'weight'",
        ),
        (
            "copy_v2_into_v1",
            "def copy_v2_into_v1(v2, v1):\n    v1.W_query = v2.W_query.weight.T\n",
            "cannot assign",
        ),
        (
            "SelfAttention_v2",
            CAUSAL.replace("CausalAttention", "SelfAttention_v2")
            .replace("context_length, dropout, ", "")
            .replace("nn.Dropout(dropout)", "nn.Identity()")
            .replace("        self.register", "        # ")
            .replace("n = x.shape[1]", "raise RuntimeError('boom')"),
            "boom",
        ),
    ],
)
def test_an_error_everywhere_is_reported_and_given_no_name(judge, exercise, code, said):
    verdict = judge(CH2, exercise, code)
    assert verdict.mistakes == [] and said in verdict.message


def test_a_small_number_in_the_row_sums_is_right(judge):
    code = "def mask_and_renormalize(attn_weights):\n    kept = attn_weights.tril()\n"
    assert (
        judge(
            CH3,
            "mask_and_renormalize",
            code + "    return kept / (kept.sum(-1, keepdim=True) + 1e-6)\n",
        ).status
        == "passed"
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "error, said",
    [
        ("RuntimeError('no')", "call raises RuntimeError"),
        ("NotImplementedError('uneven')", "call raises NotImplementedError"),
    ],
)
def test_a_refusal_of_another_kind_is_reported_as_one(edited, error, said):
    line = "\n            raise ValueError("
    verdict = edited(CH4, "MultiHeadAttention", (line, f"\n            raise {error}{line}"))
    assert said in verdict.message and verdict.points == verdict.max_points - 0.75


@pytest.mark.slow
def test_a_refusal_with_an_error_of_ones_own_is_right(edited):
    verdict = edited(
        CH4,
        "MultiHeadAttention",
        ("\n            raise ValueError(", "\n            raise Uneven("),
        (
            "class MultiHeadAttention(nn.Module)",
            "class Uneven(ValueError):\n    pass\n\n\nclass MultiHeadAttention(nn.Module)",
        ),
    )
    assert verdict.status == "passed"


@pytest.mark.slow
@pytest.mark.parametrize(
    "code, said",
    [
        (
            "def simplified_self_attention(inputs):\n    w = torch.softmax(inputs @ inputs.T, -1)\n"
            "    return w @ inputs, w, 'done'\n",
            "3 results are returned; 2 are expected",
        ),
        (
            "def simplified_self_attention(inputs):\n    w = torch.softmax(inputs @ inputs.T, -1)\n"
            "    return {'c': w @ inputs, 'w': w}\n",
            "a dict with the keys c, w",
        ),
        (
            "def simplified_self_attention(inputs):\n    return inputs.detach().numpy()\n",
            "an object of type ndarray",
        ),
    ],
)
def test_results_of_another_form_are_reported(judge, code, said):
    verdict = judge(CH1, "simplified_self_attention", code)
    assert said in verdict.message and verdict.points < verdict.max_points


def test_numpy_sizes_are_sizes(edited):
    verdict = edited(
        CH4,
        "trace_shapes",
        (
            "    head_dim = d_out // num_heads\n    return",
            "    import numpy\n    head_dim = numpy.int64(d_out) // num_heads\n    return",
        ),
    )
    assert verdict.status == "passed"


@pytest.mark.slow
def test_weights_that_can_no_longer_learn_are_reported(judge):
    code = "def copy_v2_into_v1(v2, v1):\n    v1.requires_grad_(False)\n"
    code += "".join(f"    v1.{w}.copy_(v2.{w}.weight.T)\n" for w in ("W_query", "W_key", "W_value"))
    verdict = judge(CH2, "copy_v2_into_v1", code)
    assert verdict.points == 4.5 and "does not learn" in verdict.message


def test_scores_overwritten_in_the_naive_softmax_are_reported(judge):
    verdict = judge(
        CH1, "softmax_naive", "def softmax_naive(x):\n    x.exp_()\n    return x / x.sum()\n"
    )
    assert verdict.mistakes == ["exponential_in_place"]


@pytest.mark.slow
def test_a_mistyped_argument_is_guessed(judge):
    verdict = judge(
        CH1, "attention_scores", "def attention_scores(query, inputs):\n    return inputs @ quary\n"
    )
    assert "did you mean `query`?" in verdict.message


@pytest.mark.slow
def test_the_most_natural_wrong_mask_is_named_twice(judge):
    code = "def causal_mask(context_length):\n"
    code += "    return torch.tril(torch.ones(context_length, context_length))\n"
    assert set(judge(CH3, "causal_mask", code).mistakes) == {"mask_inverted", "mask_of_numbers"}


@pytest.mark.slow
def test_dropout_in_another_dtype_is_judged_all_the_same(judge):
    code = "def inverted_dropout(attn_weights, p, training=True):\n"
    code += "    if not training:\n        return attn_weights\n"
    code += "    return nn.functional.dropout(attn_weights.float(), p)\n"
    verdict = judge(CH3, "inverted_dropout", code)
    assert verdict.status == "partial" and "torch's own dropout" in verdict.message


@pytest.mark.slow
def test_a_dict_of_many_keys_makes_no_endless_message(judge):
    code = "def attention_scores(query, inputs):\n"
    code += "    return {'k' * 50 + str(n): n for n in range(1000)}\n"
    assert len(judge(CH1, "attention_scores", code).message) < 400
