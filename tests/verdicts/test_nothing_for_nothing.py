"""An answer without the work earns nothing for properties that hold anyway."""

import pytest

from ..answers.reader import solution
from ..support import Judge

CH2, CH3, CH4 = "ch2_self_attention", "ch3_causal_attention", "ch4_multi_head_attention"
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
# Chapter, arguments, and the points for what a module without attention can have: parameters, mask.
MODULES = {
    "SelfAttention_v2": (CH2, "d_in, d_out", 0.5),
    "CausalAttention": (CH3, "d_in, d_out, context_length, dropout", 1.0),
    "MultiHeadAttention": (CH4, "d_in, d_out, context_length, dropout, num_heads", 0.75),
}
IDENTITIES = {
    "ch1_simplified_attention": {
        "attention_scores": "query, inputs: query",
        "softmax_naive": "x: x",
        "softmax": "x, dim=-1: x",
        "context_vector": "query, inputs: query",
        "simplified_self_attention": "inputs: (inputs, inputs)",
    },
    CH2: {
        "attention_weights": "queries, keys: queries",
        "scaled_dot_product_attention": "queries, keys, values: values",
        "project_qkv": "x, W_query, W_key, W_value: (x, x, x)",
    },
    CH3: {
        "mask_and_renormalize": "attn_weights: attn_weights",
        "causal_attention_weights": "attn_scores, d_k: attn_scores",
        "inverted_dropout": "attn_weights, p, training=True: attn_weights",
    },
    CH4: {"split_heads": "x, num_heads: x", "merge_heads": "x: x"},
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


def module(name: str, returned: str, made: str = "pass") -> tuple[str, str, str]:
    """Return the chapter, the name and the text of a module that does not attend."""
    chapter, sizes, _ = MODULES[name]
    code = MODULE.replace("NAME", name).replace("SIZES", sizes)
    code = code.replace("MADE", made).replace("RETURNED", returned)
    return chapter, name, f"{solution(chapter)}\n{code}"


@pytest.mark.slow
@pytest.mark.parametrize("name", MODULES)
def test_a_module_that_does_not_attend(judge: Judge, name: str):
    for returned in ("self.out_proj(self.W_value(x))", "x", "self.W_value(x) * 0"):
        found = judge(*module(name, returned), explain=False)
        assert (found.points, found.mistakes) == (MODULES[name][2], ()), found


def test_a_module_that_cannot_be_made_earns_nothing_for_refusing(judge: Judge):
    text = module("MultiHeadAttention", "x", made="raise ValueError('no')")
    assert judge(*text, explain=False).points == 0


@pytest.mark.xfail(reason="The course as a specification: checks of dropout", strict=True)
def test_a_mask_in_place_of_dropped_weights_gets_a_verdict(judge: Judge):
    code = "def inverted_dropout(attn_weights, p, training=True):\n    return attn_weights > p\n"
    assert judge(CH3, "inverted_dropout", f"{solution(CH3)}\n{code}").points == 0


@pytest.mark.slow
@pytest.mark.parametrize("chapter", IDENTITIES)
def test_what_was_passed_in_handed_back(judge: Judge, chapter: str):
    code = "".join(f"{name} = lambda {one}\n" for name, one in IDENTITIES[chapter].items())
    text = f"{solution(chapter)}\n{code}"
    for found in judge.chapter(chapter, text, [*IDENTITIES[chapter]], explain=False).values():
        # softmax: that the dtype is kept is one of the asked-for things.
        assert found.points <= (0.5 if found.exercise == "softmax" else 0), found
        assert len(found.mistakes) <= 1, found


# What is returned in place of the right result `y`, and the largest share that it earns.
WORTH_LITTLE = {
    "noise": ("torch.randn_like(y)", 0.1),
    "a constant": ("torch.full_like(y, 0.3)", 0.1),
    "the right result with noise": ("y + 0.1 * torch.randn_like(y)", 0.225),
    "one right row": ("torch.cat((y[..., :1, :], torch.randn_like(y[..., 1:, :])), dim=-2)", 0.1),
    "right for one token": ("y if y.shape[-2] == 1 else torch.randn_like(y)", 0.1),
}
FUNCTIONS = {
    "attention_weights": CH2,
    "scaled_dot_product_attention": CH2,
    "causal_attention_weights": CH3,
    "online_softmax_attention": "ch5_beyond_one_sentence",
}


@pytest.mark.slow
@pytest.mark.parametrize("what", WORTH_LITTLE)
def test_noise_of_the_right_shape(judge: Judge, what: str):
    returned, share = WORTH_LITTLE[what]
    for name, chapter in FUNCTIONS.items():
        code = f"right_{name} = {name}\n\n\ndef {name}(*values, **named):\n"
        code += f"    y = right_{name}(*values, **named)\n    return {returned}\n"
        found = judge(chapter, name, f"{solution(chapter)}\n\n{code}", explain=False)
        assert found.points <= share * found.max_points and not found.mistakes, (name, found)
