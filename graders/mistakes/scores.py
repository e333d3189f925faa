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
    """Other factors for the scores, wherever there are scores."""
    names = f"{TWO_D} {WEIGHTS}" if weights_too else TWO_D
    new = f"{left} @ {right}.transpose(-2, -1)"
    return [
        on(names, (SCORES_2D, new)),
        on("CausalAttention", (SCORES_CAUSAL, new)),
        on("MultiHeadAttention", (SCORES_HEADS, new)),
    ]


OUTPUT = "attn_weights @ values"
ALL = f"{TWO_D} CausalAttention MultiHeadAttention"

MISTAKES = [
    mistake(
        "scores_transposed",
        "Queries and keys have changed places, in the product or in their projections: row i "
        "should hold what token i asks of all others.",
        *products("keys", "queries"),
    ),
    mistake(
        "scores_from_queries_alone",
        "The scores compare queries with queries; the keys play no part. One projection may be "
        "used twice.",
        *products("queries", "queries"),
    ),
    mistake(
        "scores_from_keys_alone",
        "The scores compare keys with keys; the queries play no part. One projection may be used "
        "twice.",
        *products("keys", "keys"),
    ),
    mistake(
        "scores_from_values",
        "The scores compare queries with values. Values are what is handed over, not what is "
        "searched.",
        *products("queries", "values", weights_too=False),
    ),
    mistake(
        "keys_instead_of_values",
        "The weights mix the keys. What a token hands over is its value.",
        on(ALL, (OUTPUT, "attn_weights @ keys")),
    ),
    mistake(
        "queries_instead_of_values",
        "The weights mix the queries. What a token hands over is its value.",
        on(ALL, (OUTPUT, "attn_weights @ queries")),
    ),
    mistake(
        "weights_transposed",
        "The weights are transposed before they mix anything: each result is mixed by a column "
        "of the weights, where its own row should do it.",
        on(ALL, (OUTPUT, "attn_weights.transpose(-2, -1) @ values")),
        on("simplified_self_attention", ("attn_weights @ inputs", "attn_weights.T @ inputs")),
    ),
    mistake(
        "scores_instead_of_weights",
        "Raw scores do the mixing, where the weights that the softmax makes of them should.",
        on(f"{TWO_D}", (OUTPUT, "attn_scores @ values")),
        on("simplified_self_attention", ("attn_weights @ inputs", "attn_scores @ inputs")),
    ),
    mistake(
        "first_row_for_all_keys",
        "Keys of the first sentence in the batch serve all sentences: rows of a batch must not "
        "see each other.",
        on("CausalAttention", (SCORES_CAUSAL, "queries @ keys[:1].transpose(1, 2)")),
        on("MultiHeadAttention", (SCORES_HEADS, "queries @ keys[:1].transpose(2, 3)")),
    ),
    mistake(
        "first_row_for_all_values",
        "Values of the first sentence in the batch serve all sentences: rows of a batch must not "
        "see each other.",
        on("CausalAttention MultiHeadAttention", (OUTPUT, "attn_weights @ values[:1]")),
    ),
    mistake(
        "t_on_a_batch",
        "The batch changes places too, as with `.T`, which turns around all dimensions. Only the "
        "last two should change places.",
        on("CausalAttention", (SCORES_CAUSAL, "queries @ keys.T")),
        on("MultiHeadAttention", (SCORES_HEADS, "queries @ keys.T")),
        on("attention_weights scaled_dot_product_attention", (SCORES_2D, "queries @ keys.T")),
    ),
    mistake(
        "keys_not_transposed",
        "The two factors are multiplied as they are. For dot products of rows with rows, the "
        "last two dimensions of the second one change places first.",
        on("CausalAttention", (SCORES_CAUSAL, "queries @ keys")),
        on("attention_weights scaled_dot_product_attention", (SCORES_2D, "queries @ keys")),
        on("simplified_self_attention", ("inputs @ inputs.T", "inputs @ inputs")),
    ),
    mistake(
        "batch_transposed",
        "In the keys the batch and another dimension change places; the last two should.",
        on("CausalAttention", (SCORES_CAUSAL, "queries @ keys.transpose(0, 1)")),
    ),
    mistake(
        "heads_and_tokens_transposed",
        "In the keys of the product heads and tokens change places; the last two dimensions "
        "should.",
        on("MultiHeadAttention", (SCORES_HEADS, "queries @ keys.transpose(1, 2)")),
    ),
]
