"""Softmax over the wrong entries, twice, or not at all."""

from tensorgrade.author import mistake, on

from .scale import BY_TENSOR

SOFTMAX = "torch.softmax(attn_scores / d_k**0.5, dim=-1)"
SIMPLE = "torch.softmax(attn_scores, dim=-1)"
CAUSAL = "torch.softmax(masked_scores / d_k**0.5, dim=-1)"
BATCHED = (
    "CausalAttention MultiHeadAttention "
    "CrossAttention GroupedQueryAttention CachedAttention LatentAttention"
)
SCORES = "(attn_scores / d_k**0.5)"
LAST = ", dim=-1)"  # a short fragment, so that the scale can be wrong as well


def everywhere(template: str) -> list[dict]:
    """Return the same edit for every exercise with a softmax over scores, called `S`."""
    return [
        on(BY_TENSOR, (SOFTMAX, template.replace("S", SCORES))),
        on(
            "causal_attention_weights",
            (CAUSAL, template.replace("S", "(masked_scores / d_k**0.5)")),
        ),
        on("simplified_self_attention", (SIMPLE, template.replace("S", "attn_scores"))),
    ]


def along(dim: str) -> list[dict]:
    """Return edits that put another dimension into every softmax over scores."""
    exercises = f"{BY_TENSOR} causal_attention_weights simplified_self_attention"
    return [on(exercises, (LAST, f", dim={dim})"))]


MISTAKES = [
    mistake(
        "softmax_over_columns",
        "The softmax runs over the wrong axis: columns sum to 1 and rows do not. Each query "
        "should distribute its attention over the tokens that it looks at.",
        *along("-2"),
    ),
    mistake(
        "softmax_over_dimension_1",
        "The softmax runs over dimension 1, which is the keys' dimension only if there is no "
        "batch. Counted from the end, the keys are always in the same place.",
        on(
            "attention_weights scaled_dot_product_attention",
            (LAST, ", dim=1)"),
        ),
    ),
    mistake(
        "softmax_over_dimension_0",
        "The softmax runs over dimension 0. It should run over the keys, which are in the last "
        "dimension, with a batch and without one.",
        on(
            "attention_weights scaled_dot_product_attention causal_attention_weights",
            (LAST, ", dim=0)"),
        ),
    ),
    mistake(
        "softmax_over_everything",
        "One softmax runs over all scores at once. Each query needs its own weights that sum to 1.",
        *everywhere("torch.softmax(S.flatten(), dim=0).reshape(S.shape)"),
    ),
    mistake(
        "no_softmax",
        "The scores are used as weights without a softmax, so they can be negative and do not "
        "sum to 1.",
        *everywhere("S"),
        on("context_vector", (SIMPLE, "attn_scores")),
    ),
    mistake(
        "softmax_twice",
        "The weights go through a second softmax, which makes them almost equal.",
        *everywhere("torch.softmax(torch.softmax(S, dim=-1), dim=-1)"),
        on("context_vector", (SIMPLE, "torch.softmax(torch.softmax(attn_scores, dim=-1), dim=-1)")),
    ),
    mistake(
        "divided_by_sum",
        "The scores are divided by their sum without an exponential. Weights can then be "
        "negative, even the best match's, and a sum near zero makes them huge.",
        on(
            "context_vector simplified_self_attention",
            (SIMPLE, "attn_scores / attn_scores.sum(dim=-1, keepdim=True)"),
        ),
    ),
    mistake(
        "softmax_over_batch",
        "The softmax runs over the batch, so independent texts share one distribution.",
        on(BATCHED, (LAST, ", dim=0)")),
    ),
    mistake(
        "detached_weights",
        "No gradient flows back through the weights (detach, no_grad, .data or a new tensor), so "
        "nothing before them can learn.",
        *everywhere("torch.softmax(S, dim=-1).detach()"),
        on("context_vector", (SIMPLE, "torch.softmax(attn_scores, dim=-1).detach()")),
    ),
]
