"""Scores between the wrong vectors, or weights applied to the wrong ones."""

from tensorgrade.author import mistake, on

TWO_D = "scaled_dot_product_attention SelfAttention_v1 SelfAttention_v2"
WEIGHTS = "attention_weights"
SCORES_2D, SCORES_CAUSAL, SCORES_HEADS = (
    "queries @ keys.transpose(-2, -1)",
    "queries @ keys.transpose(1, 2)",
    "queries @ keys.transpose(2, 3)",
)


def products(left: str, right: str, weights_too: bool = True) -> list[dict]:
    """Return edits that compute the scores from other factors."""
    names = f"{TWO_D} {WEIGHTS}" if weights_too else TWO_D
    new = f"{left} @ {right}.transpose(-2, -1)"
    return [
        on(names, (SCORES_2D, new)),
        on("CausalAttention", (SCORES_CAUSAL, new)),
        on("MultiHeadAttention", (SCORES_HEADS, new)),
    ]


OUTPUT = "attn_weights @ values"
# Modules whose scores have four dimensions: text, head, query and key. The cases of LatentAttention
# are too few to tell one wrong transpose from another.
HEADS = "MultiHeadAttention CrossAttention GroupedQueryAttention CachedAttention"
ALL = f"{TWO_D} CausalAttention MultiHeadAttention"

MISTAKES = [
    mistake(
        "scores_transposed",
        "Queries and keys are swapped, in the product or in their projections. Row i should "
        "contain the scores of token i's query with all keys.",
        *products("keys", "queries"),
    ),
    mistake(
        "scores_from_queries_alone",
        "The scores compare queries with queries; the keys have no effect. Is one projection "
        "used twice?",
        *products("queries", "queries"),
    ),
    mistake(
        "scores_from_keys_alone",
        "The scores compare keys with keys; the queries have no effect. Is one projection used "
        "twice?",
        *products("keys", "keys"),
    ),
    mistake(
        "scores_from_values",
        "The scores compare queries with values. Values are what a token passes on, not what is "
        "compared.",
        *products("queries", "values", weights_too=False),
    ),
    mistake(
        "keys_instead_of_values",
        "The weights mix the keys. A token passes on its value.",
        on(ALL, (OUTPUT, "attn_weights @ keys")),
    ),
    mistake(
        "queries_instead_of_values",
        "The weights mix the queries. A token passes on its value.",
        on(ALL, (OUTPUT, "attn_weights @ queries")),
    ),
    mistake(
        "weights_transposed",
        "The weights are transposed before they are applied: each result is mixed by a column of "
        "the weights instead of its own row.",
        on(ALL, (OUTPUT, "attn_weights.transpose(-2, -1) @ values")),
        on("simplified_self_attention", ("attn_weights @ inputs", "attn_weights.T @ inputs")),
    ),
    mistake(
        "weights_returned_transposed",
        "The returned weights are transposed. Row i should hold the weights with which token i "
        "mixes all tokens, so each row sums to 1.",
        on(
            "simplified_self_attention",
            ("context_vecs, attn_weights", "context_vecs, attn_weights.T"),
        ),
        on(
            WEIGHTS,
            (
                "attn_scores / d_k**0.5, dim=-1)",
                "attn_scores / d_k**0.5, dim=-1).transpose(-2, -1)",
            ),
        ),
    ),
    mistake(
        "scores_instead_of_weights",
        "The raw scores are applied instead of the weights that the softmax makes of them.",
        on(f"{TWO_D}", (OUTPUT, "attn_scores @ values")),
        on("simplified_self_attention", ("attn_weights @ inputs", "attn_scores @ inputs")),
    ),
    mistake(
        "first_row_for_all_keys",
        "The keys of the first text are used for the whole batch. The texts of a batch must not "
        "see each other.",
        on("CausalAttention", (SCORES_CAUSAL, "queries @ keys[:1].transpose(1, 2)")),
        on("MultiHeadAttention", (SCORES_HEADS, "queries @ keys[:1].transpose(2, 3)")),
    ),
    mistake(
        "first_row_for_all_values",
        "The values of the first text are used for the whole batch. The texts of a batch must not "
        "see each other.",
        on("CausalAttention MultiHeadAttention", (OUTPUT, "attn_weights @ values[:1]")),
    ),
    mistake(
        "t_on_a_batch",
        "The batch dimension is swapped too, as with `.T`, which reverses all dimensions. Only "
        "the last two should be swapped.",
        on("CausalAttention", (SCORES_CAUSAL, "queries @ keys.T")),
        on(HEADS, (SCORES_HEADS, "queries @ keys.T")),
        on("attention_weights scaled_dot_product_attention", (SCORES_2D, "queries @ keys.T")),
    ),
    mistake(
        "keys_not_transposed",
        "The two factors are multiplied without a transpose. For dot products of rows with rows, "
        "swap the last two dimensions of the second factor first.",
        on("CausalAttention", (SCORES_CAUSAL, "queries @ keys")),
        on("attention_weights scaled_dot_product_attention", (SCORES_2D, "queries @ keys")),
        on("simplified_self_attention", ("inputs @ inputs.T", "inputs @ inputs")),
    ),
    mistake(
        "batch_transposed",
        "In the keys, the batch is swapped with another dimension. Swap the last two instead.",
        on("CausalAttention", (SCORES_CAUSAL, "queries @ keys.transpose(0, 1)")),
        on(f"{HEADS} LatentAttention", (SCORES_HEADS, "queries @ keys.transpose(0, 1)")),
        on(
            "attention_weights scaled_dot_product_attention",
            (SCORES_2D, "queries @ keys.transpose(0, 1)"),
        ),
    ),
    mistake(
        "heads_and_tokens_transposed",
        "In the product, heads and tokens of the keys are swapped. Swap the last two dimensions "
        "instead.",
        on(HEADS, (SCORES_HEADS, "queries @ keys.transpose(1, 2)")),
    ),
]
