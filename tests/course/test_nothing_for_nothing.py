"""A module without attention earns nothing for properties that hold anyway."""

import pytest

from ..sampling import first_of_each

IMPORTS = "import torch\nfrom torch import nn\n"
MODULE = """
class NAME(nn.Module):
    def __init__(self, SIZES, qkv_bias=False):
        super().__init__()
        MADE
        for name in ("W_query", "W_key", "W_value"):
            self.add_module(name, nn.Linear(d_in, d_out, bias=qkv_bias))
        self.out_proj = nn.Linear(d_out, d_out) if "num_heads" in locals() else nn.Identity()
        if "context_length" in locals():
            future = torch.ones(context_length, context_length).triu(1)
            self.register_buffer("mask", future.bool())

    def forward(self, x):
        return RETURNED
"""
SIZES = {
    "SelfAttention_v2": "d_in, d_out",
    "CausalAttention": "d_in, d_out, context_length, dropout",
    "MultiHeadAttention": "d_in, d_out, context_length, dropout, num_heads",
}
CHAPTERS = {
    "SelfAttention_v2": "ch2_self_attention",
    "CausalAttention": "ch3_causal_attention",
    "MultiHeadAttention": "ch4_multi_head_attention",
}
# Properties that a module without attention can have: its parameters, its mask.
OWN_WORK = {"SelfAttention_v2": 0.5, "CausalAttention": 1.0, "MultiHeadAttention": 0.75}


@pytest.mark.slow
@pytest.mark.parametrize(
    "returned",
    first_of_each(["self.out_proj(self.W_value(x))", "x", "self.W_value(x) * 0"], type),
)
@pytest.mark.parametrize("name", SIZES)
def test_a_module_that_does_not_attend(judged, name, returned):
    code = MODULE.replace("NAME", name).replace("SIZES", SIZES[name])
    code = code.replace("MADE", "pass").replace("RETURNED", returned)
    verdict = judged(CHAPTERS[name], name, IMPORTS + code, told=False)
    assert (verdict.points, verdict.mistakes) == (OWN_WORK[name], [])


def test_a_module_that_cannot_be_made_earns_nothing_for_refusing(judged):
    name = "MultiHeadAttention"
    code = MODULE.replace("NAME", name).replace("SIZES", SIZES[name])
    code = code.replace("MADE", "raise ValueError('no')").replace("RETURNED", "x")
    assert judged(CHAPTERS[name], name, IMPORTS + code, told=False).points == 0


IDENTITIES = {
    "ch1_simplified_attention": {
        "attention_scores": "query, inputs: query",
        "softmax_naive": "x: x",
        "softmax": "x, dim=-1: x",
        "context_vector": "query, inputs: query",
        "simplified_self_attention": "inputs: (inputs, inputs)",
    },
    "ch2_self_attention": {
        "attention_weights": "queries, keys: queries",
        "scaled_dot_product_attention": "queries, keys, values: values",
        "project_qkv": "x, W_query, W_key, W_value: (x, x, x)",
    },
    "ch3_causal_attention": {
        "mask_and_renormalize": "attn_weights: attn_weights",
        "causal_attention_weights": "attn_scores, d_k: attn_scores",
        "inverted_dropout": "attn_weights, p, training=True: attn_weights",
    },
    "ch4_multi_head_attention": {"split_heads": "x, num_heads: x", "merge_heads": "x: x"},
    "ch5_beyond_one_sentence": {
        "padding_mask": "lengths, num_tokens: lengths",
        "rotate": "x, positions, base=1.0: x",
        "append_to_window": "keys, values, new_keys, new_values, window: (keys, values)",
        "online_softmax_attention": "queries, keys, values, block_size: queries",
    },
    "ch6_small_gpt": {
        "batches": "ids, context_length, batch_size, generator: (ids, ids)",
        "cross_entropy": "logits, targets: logits",
        "train_step": "model, optimizer, inputs, targets: inputs",
        "generate": "model, ids, max_new_tokens, temperature=1, top_k=0, generator=0: ids",
    },
}


@pytest.mark.slow
@pytest.mark.parametrize("chapter", IDENTITIES)
def test_what_was_passed_in_handed_back(judged, chapter):
    for exercise, code in IDENTITIES[chapter].items():
        verdict = judged(chapter, exercise, f"{IMPORTS}{exercise} = lambda {code}\n", told=False)
        # softmax: that the dtype is kept is one of the asked-for things.
        assert verdict.points <= (0.5 if exercise == "softmax" else 0), verdict
        assert len(verdict.mistakes) <= 1, verdict
