"""Scores divided by something other than sqrt(d_k)."""

from tensorgrade.author import mistake, on

ATTENTION = (
    "attention_weights scaled_dot_product_attention SelfAttention_v1 SelfAttention_v2 "
    "CausalAttention MultiHeadAttention causal_attention_weights "
    "CrossAttention GroupedQueryAttention CachedAttention LatentAttention"
)
BY_TENSOR = ATTENTION.replace(" causal_attention_weights", "")
MODULES = (
    "SelfAttention_v1 SelfAttention_v2 CausalAttention MultiHeadAttention "
    "CrossAttention GroupedQueryAttention CachedAttention LatentAttention"
)
SPLIT_IN_HEADS = (
    "MultiHeadAttention CrossAttention GroupedQueryAttention CachedAttention LatentAttention"
)

MISTAKES = [
    mistake(
        "no_scale",
        "The scores go into the softmax unscaled. Think about how dot products grow with the "
        "number of features of the keys.",
        on(ATTENTION, (" / d_k**0.5", "")),
    ),
    mistake(
        "scaled_by_d_k",
        "The scores are divided by d_k itself. The spread of a dot product grows more slowly than "
        "its number of terms.",
        on(ATTENTION, ("/ d_k**0.5", "/ d_k")),
    ),
    mistake(
        "scaled_by_d_k_squared",
        "The scores are divided by the square of d_k instead of its square root.",
        on(ATTENTION, ("/ d_k**0.5", "/ d_k**2")),
    ),
    mistake(
        "scaled_by_a_twentieth_power",
        "The exponent of d_k is 0.05; a square root has the exponent 0.5.",
        on(ATTENTION, ("/ d_k**0.5", "/ d_k**0.05")),
    ),
    mistake(
        "multiplied_by_sqrt_d_k",
        "The scores are multiplied by the scale, which makes the softmax sharper, not softer.",
        on(ATTENTION, ("/ d_k**0.5", "* d_k**0.5")),
    ),
    mistake(
        "scaled_by_tokens",
        "The scale depends on the number of tokens. Dot products become large because vectors "
        "have many features, not because the text is long.",
        on(ATTENTION, ("/ d_k**0.5", "/ attn_scores.shape[-1] ** 0.5")),
    ),
    mistake(
        "scaled_by_number_of_queries",
        "The scale depends on the number of queries. Dot products become large because vectors "
        "have many features, not because the text is long.",
        on(
            "attention_weights scaled_dot_product_attention",
            ("/ d_k**0.5", "/ queries.shape[-2] ** 0.5"),
        ),
    ),
    mistake(
        "scaled_by_dimension_0",
        "The scale comes from the first dimension, which counts keys or texts; the width of the "
        "keys is their last dimension.",
        on(
            "attention_weights scaled_dot_product_attention",
            ("/ d_k**0.5", "/ keys.shape[0] ** 0.5"),
        ),
    ),
    mistake(
        "scaled_by_dimension_1",
        "The scale comes from dimension 1, which is the width of the keys only if there is no "
        "batch. Counted from the end, the width is always last.",
        on(
            "attention_weights scaled_dot_product_attention",
            ("/ d_k**0.5", "/ keys.shape[1] ** 0.5"),
        ),
    ),
    mistake(
        "scaled_by_a_constant",
        "The scale is a fixed number: right for one size of keys (64) and wrong for all others.",
        on(ATTENTION, ("/ d_k**0.5", "/ 8")),
    ),
    mistake(
        "scaled_after_softmax",
        "The scale is applied after the softmax, so the rows of the weights no longer sum to 1. "
        "It is meant to soften the scores before the softmax.",
        on(
            BY_TENSOR,
            (
                "torch.softmax(attn_scores / d_k**0.5, dim=-1)",
                "torch.softmax(attn_scores, dim=-1) / d_k**0.5",
            ),
        ),
        on(
            "causal_attention_weights",
            (
                "torch.softmax(masked_scores / d_k**0.5, dim=-1)",
                "torch.softmax(masked_scores, dim=-1) / d_k**0.5",
            ),
        ),
    ),
    mistake(
        "scaled_by_sqrt_d_in",
        "The scale comes from the width of the inputs. The dot products are between projected "
        "vectors, which may have another width.",
        on(MODULES, ("/ d_k**0.5", "/ x.shape[-1] ** 0.5")),
    ),
    mistake(
        "scaled_by_sqrt_d_out",
        "The scale comes from all of d_out. Each head computes dot products of its own, shorter "
        "vectors.",
        on(SPLIT_IN_HEADS, ("/ d_k**0.5", "/ self.out_proj.in_features ** 0.5")),
    ),
    mistake(
        "scaled_by_sqrt_num_heads",
        "The scale comes from the number of heads. Over how many features does the dot product "
        "of one head run?",
        on(SPLIT_IN_HEADS, ("/ d_k**0.5", "/ self.num_heads ** 0.5")),
    ),
]
