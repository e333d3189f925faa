"""Masks: inverted, shifted, filled wrongly, not used, or stored in the wrong place."""

from tensorgrade.author import mistake, on

WITH_DROPOUT = "CausalAttention MultiHeadAttention GroupedQueryAttention"
MODULES = f"{WITH_DROPOUT} LatentAttention"
MASKED = f"{MODULES} CachedAttention"
BOTH = f"{MASKED} causal_attention_weights"
MAKE = "torch.triu(torch.ones(context_length, context_length), diagonal=1)"
MAKE_FUNCTION = "torch.triu(torch.ones_like(attn_scores), diagonal=1)"
FILL = "attn_scores.masked_fill(future, -torch.inf)"
ASSIGN = f"attn_scores = {FILL}"
REGISTER = 'self.register_buffer("mask", future.bool())'
CUT = "self.mask[:num_tokens, :num_tokens]"
SOFTMAX = "torch.softmax(attn_scores / d_k**0.5, dim=-1)"
SOFTMAX_FUNCTION = "torch.softmax(masked_scores / d_k**0.5, dim=-1)"
DROPPED = ", dropout_p=self.dropout.p if self.training else 0.0"
VISIBLE = "torch.tril(torch.ones_like(attn_weights))"


def made(template: str) -> list[dict]:
    """Return edits that make another triangle of a tensor of ones, called `N`."""
    return [
        on(MASKED, (MAKE, template.replace("N", "torch.ones(context_length, context_length)"))),
        on(
            "causal_attention_weights",
            (MAKE_FUNCTION, template.replace("N", "torch.ones_like(attn_scores)")),
        ),
        on("causal_mask", ("torch.triu(ones, diagonal=1)", template.replace("N", "ones"))),
    ]


def filled(value: str) -> dict:
    """Return an edit that fills hidden places with another value."""
    return on(BOTH, (FILL, f"attn_scores.masked_fill(future, {value})"))


def by_library(more: str = "") -> str:
    """Return a call of torch's attention with a mask of the wrong sense."""
    function = "nn.functional.scaled_dot_product_attention"
    return f"{function}(\n            queries, keys, values, attn_mask=future{more}\n        )"


MISTAKES = [
    mistake(
        "mask_inverted",
        "The past and the token itself are hidden, and the future is visible. The hidden places "
        "belong above the diagonal.",
        *made("torch.tril(N)"),
        on(
            "mask_and_renormalize",
            (VISIBLE, "torch.triu(torch.ones_like(attn_weights), diagonal=1)"),
        ),
    ),
    mistake(
        "mask_hides_the_past",
        "The mask is on the wrong side of the diagonal: tokens see themselves and the future.",
        *made("torch.tril(N, diagonal=-1)"),
        on("mask_and_renormalize", (VISIBLE, "torch.triu(torch.ones_like(attn_weights))")),
    ),
    mistake(
        "mask_on_the_diagonal",
        "The mask also hides the diagonal, so the first token sees nothing; each token should see "
        "itself.",
        *made("torch.triu(N)"),
        on(
            "mask_and_renormalize",
            (VISIBLE, "torch.tril(torch.ones_like(attn_weights), diagonal=-1)"),
        ),
    ),
    mistake(
        "mask_one_too_late",
        "The mask starts one place too late: each token still sees the next one.",
        *made("torch.triu(N, diagonal=2)"),
        on(
            "mask_and_renormalize",
            (VISIBLE, "torch.tril(torch.ones_like(attn_weights), diagonal=1)"),
        ),
    ),
    mistake(
        "mask_thrown_away",
        "Nothing is masked: every token sees the future. If you do fill the hidden places, is the "
        "result used? Without an underscore, `masked_fill` returns a new tensor.",
        on(MODULES, (ASSIGN, FILL)),
        on("causal_attention_weights", (FILL, "attn_scores")),
        on("mask_and_renormalize", ("attn_weights * visible", "attn_weights")),
    ),
    mistake(
        "mask_only_in_evaluation",
        "Nothing is masked in training, so a model learns from the very tokens that it should "
        "predict. The mask is needed in both modes.",
        on(
            f"{WITH_DROPOUT} CachedAttention",
            (ASSIGN, ASSIGN.replace("(future,", "(future & (not self.training),")),
        ),
    ),
    mistake(
        "mask_only_without_dropout",
        "Nothing is masked while dropout is active, so a model learns from the very tokens that "
        "it should predict. The mask does not depend on dropout.",
        on(
            WITH_DROPOUT,
            (
                ASSIGN,
                ASSIGN.replace("(future,", "(future & (not self.training or self.dropout.p == 0),"),
            ),
        ),
    ),
    mistake(
        "mask_filled_with_zero",
        "Hidden scores are set to 0 or nearly 0. The softmax gives a score of 0 a weight like any "
        "other.",
        filled("0.0"),
    ),
    mistake(
        "mask_filled_with_minus_one",
        "Hidden scores are set to a number that is not low enough: the softmax still gives them "
        "a weight.",
        filled("-1.0"),
    ),
    mistake(
        "mask_fill_not_low_enough",
        "Hidden scores are set to a number that is not below all ordinary scores, so hidden "
        "tokens can win. Only minus infinity is lower than all of them.",
        filled("-100.0"),
        on(
            "CrossAttention",
            ("masked_fill(hidden, -torch.inf)", "masked_fill(hidden, -100.0)"),
        ),
    ),
    mistake(
        "mask_filled_with_plus_inf",
        "Hidden scores are plus infinity or NaN, and the softmax of a row with one of them is "
        "NaN. Use minus infinity to hide a score.",
        filled("torch.inf"),
    ),
    mistake(
        "mask_times_minus_inf",
        "A mask is multiplied by -inf, and 0 times infinity is NaN. Fill the hidden places "
        "instead of multiplying.",
        on(BOTH, (FILL, "attn_scores + future.float() * -torch.inf")),
    ),
    mistake(
        "masked_without_renormalizing",
        "The future is set to zero after the softmax, and the rest no longer sums to 1. What "
        "is missing still reveals something about the future.",
        on(MODULES, (ASSIGN, "pass"), (SOFTMAX, f"{SOFTMAX}.masked_fill(future, 0.0)")),
        on(
            "causal_attention_weights",
            (FILL, "attn_scores"),
            (SOFTMAX_FUNCTION, f"{SOFTMAX_FUNCTION}.masked_fill(future, 0.0)"),
        ),
        on("mask_and_renormalize", ("masked / masked.sum(dim=-1, keepdim=True)", "masked")),
    ),
    mistake(
        "masked_after_the_softmax",
        "The future is set to zero after the softmax. If it attracts all attention, what "
        "remains is 0 divided by 0. Hide the scores before the softmax.",
        on(
            MODULES,
            (ASSIGN, "pass"),
            (
                SOFTMAX,
                f"{SOFTMAX}.masked_fill(future, 0.0)\n        "
                "attn_weights = attn_weights / attn_weights.sum(dim=-1, keepdim=True)",
            ),
        ),
        on(
            "causal_attention_weights",
            (FILL, "attn_scores"),
            (
                f"return {SOFTMAX_FUNCTION}",
                f"weights = {SOFTMAX_FUNCTION}.masked_fill(future, 0.0)\n    "
                "return weights / weights.sum(dim=-1, keepdim=True)",
            ),
        ),
    ),
    mistake(
        "minus_inf_after_softmax",
        "The -inf is filled in after the softmax. It belongs before the exponential, which turns "
        "it into 0.",
        on(MODULES, (ASSIGN, "pass"), (SOFTMAX, f"{SOFTMAX}.masked_fill(future, -torch.inf)")),
        on(
            "causal_attention_weights",
            (FILL, "attn_scores"),
            (SOFTMAX_FUNCTION, f"{SOFTMAX_FUNCTION}.masked_fill(future, -torch.inf)"),
        ),
    ),
    mistake(
        "zeros_taken_for_hidden",
        "Every score that is 0 is hidden, wherever it is. A token may have a score of 0 and be "
        "visible.",
        on(BOTH, (FILL, "attn_scores.tril().masked_fill(attn_scores.tril() == 0, -torch.inf)")),
    ),
    mistake(
        "mask_cut_for_good",
        "The module's own mask is cut to the length of one text, and is then too small for a "
        "longer text.",
        on(MODULES, (CUT, f"{CUT}\n        self.mask = future")),
    ),
    mistake(
        "mask_inverted_and_shifted",
        "The past, the token itself and the next one are hidden, and the rest of the future is "
        "visible. The hidden places belong above the diagonal.",
        *made("torch.tril(N, diagonal=1)"),
    ),
    mistake(
        "mask_not_cut",
        "The mask is too large for a text that is shorter than context_length: use only its first "
        "num_tokens rows and columns.",
        on(MODULES, (CUT, "self.mask")),
    ),
    mistake(
        "mask_as_plain_attribute",
        "The mask is a plain attribute, so torch neither moves it with the module to another "
        "device nor saves it with the module's state.",
        on(MASKED, (REGISTER, "self.mask = future.bool()")),
    ),
    mistake(
        "mask_as_parameter",
        "The mask is a Parameter, so an optimizer would treat it as something to learn.",
        on(
            MODULES,
            (REGISTER, "self.mask = nn.Parameter(future, requires_grad=False)"),
            (CUT, f"{CUT}.bool()"),
        ),
    ),
    mistake(
        "changes_scores_in_place",
        "A tensor that was passed in is overwritten. The caller still needs its old values.",
        on("causal_attention_weights", (FILL, "attn_scores.masked_fill_(future, -torch.inf)")),
        on("mask_and_renormalize", ("attn_weights * visible", "attn_weights.mul_(visible)")),
    ),
    mistake(
        "mask_for_six_tokens",
        "Six, the number of tokens of the example, is written into the code. The mask needs as "
        "many rows and columns as `context_length` says.",
        on("causal_mask", ("torch.ones(context_length, context_length)", "torch.ones(6, 6)")),
        on(MODULES, (CUT, "self.mask[:6, :6]")),
    ),
    mistake(
        "mask_made_for_six_tokens",
        "The mask is made for six tokens, whatever `context_length` says, so longer texts fail. It "
        "needs as many rows and columns as `context_length` says.",
        on(
            "CausalAttention MultiHeadAttention",
            ("torch.ones(context_length, context_length)", "torch.ones(6, 6)"),
        ),
    ),
    mistake(
        "mask_in_the_other_sense",
        "The mask is passed to scaled_dot_product_attention unchanged. That function expects "
        "True for visible tokens, the opposite of masked_fill.",
        on("CachedAttention LatentAttention", ("attn_weights @ values", by_library())),
        on(WITH_DROPOUT, ("attn_weights @ values", by_library(DROPPED))),
    ),
    mistake(
        "mask_in_the_other_sense_without_dropout",
        "The mask is passed to scaled_dot_product_attention unchanged. That function expects "
        "True for visible tokens, the opposite of masked_fill.",
        on(WITH_DROPOUT, ("attn_weights @ values", by_library())),
    ),
]
