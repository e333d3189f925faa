"""Inputs overwritten: the result is right, and whoever called has lost their tensor."""

from tensorgrade.author import mistake, on

SCALED_SOFTMAX = "torch.softmax(attn_scores / d_k**0.5, dim=-1)"

MISTAKES = [
    mistake(
        "input_overwritten",
        "A tensor that was passed in is overwritten. Whoever called still needs it.",
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
    ),
]
