"""Overwritten inputs: the result is right, but the caller has lost a tensor."""

from tensorgrade.author import mistake, on

SCALED_SOFTMAX = "torch.softmax(attn_scores / d_k**0.5, dim=-1)"
ROTATED = "torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1)"

MISTAKES = [
    mistake(
        "input_overwritten",
        "A tensor that was passed in is overwritten. The caller still needs its old values.",
        on("attention_scores", ("inputs @ query", "inputs.mul_(query).sum(dim=-1)")),
        on(
            "context_vector",
            ("attn_weights @ inputs", "inputs.mul_(attn_weights[:, None]).sum(dim=0)"),
        ),
        on(
            "attention_weights scaled_dot_product_attention",
            (
                "queries @ keys.transpose(-2, -1)",
                "queries.div_(keys.shape[-1] ** 0.5) @ keys.transpose(-2, -1)",
            ),
            (SCALED_SOFTMAX, "torch.softmax(attn_scores, dim=-1)"),
        ),
        on(
            "inverted_dropout",
            ("attn_weights * keep / (1 - p)", "attn_weights.mul_(keep).div_(1 - p)"),
        ),
        on(
            "padding_mask",
            ("return positions", "lengths += 1\n    return positions + 1"),
        ),
        on("rotate", (ROTATED, f"x.copy_({ROTATED})")),
        on("CrossAttention", ("= mask.expand", "= ~mask.logical_not_().expand")),
        on(
            "online_softmax_attention",
            ("n, d_k = queries.shape", "n, d_k = queries.shape\n    queries.div_(d_k**0.5)"),
            ("keys[block].T / d_k**0.5", "keys[block].T"),
        ),
    ),
    mistake(
        "second_token_as_query",
        "The second row of the inputs is used as the query, as in the example. Use the query that "
        "is passed in.",
        on("attention_scores context_vector", ("inputs @ query", "inputs @ inputs[1]")),
    ),
]
