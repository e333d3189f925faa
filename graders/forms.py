"""Right answers in other forms, as edits of the solutions: in them some mistakes look otherwise."""

from tensorgrade.author import form, on

from .mistakes.masks import ASSIGN, BOTH, FILL, MODULES

SHAPE = "b, num_tokens, d_in = x.shape"

FORMS = [
    # What is written in place is not broadcast: a mask of another size is an error at once.
    form(
        "filled_in_place",
        on(MODULES, (ASSIGN, "attn_scores.masked_fill_(future, -torch.inf)")),
        on(
            "causal_attention_weights",
            (FILL, "attn_scores.clone().masked_fill_(future, -torch.inf)"),
        ),
    ),
    # Rows of which all is hidden come to something, where minus infinity gives NaN.
    form("filled_with_a_finite_number", on(BOTH, (FILL, "attn_scores.masked_fill(future, -1e9)"))),
    # The learner's own assert comes before torch's error.
    form(
        "length_checked",
        on(MODULES, (SHAPE, f"{SHAPE}\n        assert num_tokens <= self.mask.shape[-1]")),
    ),
]
