"""Right answers in other forms, as edits of the solutions. Some mistakes look different in them."""

from tensorgrade.author import form, on

from .mistakes.heads import MERGE
from .mistakes.masks import ASSIGN, BOTH, FILL, MODULES

GIVEN = "merge_heads(context_heads)"
SHAPE = "b, num_tokens, d_in = x.shape"

FORMS = [
    # In-place writes are not broadcast, so a mask of another size raises an error immediately.
    form(
        "filled_in_place",
        on(MODULES, (ASSIGN, "attn_scores.masked_fill_(future, -torch.inf)")),
        on(
            "causal_attention_weights",
            (FILL, "attn_scores.clone().masked_fill_(future, -torch.inf)"),
        ),
    ),
    # Completely hidden rows give numbers here, but NaN with minus infinity.
    form("filled_with_a_finite_number", on(BOTH, (FILL, "attn_scores.masked_fill(future, -1e9)"))),
    # Neither takes a wrong product of another size, as a reshape with -1 does.
    form(
        "merged_to_all_features",
        on("MultiHeadAttention", (MERGE, MERGE.replace("-1", "self.num_heads * self.head_dim"))),
    ),
    form(
        "merged_with_the_given_function",
        on("CrossAttention CachedAttention", (MERGE.replace("num_tokens", "n"), GIVEN)),
        on("GroupedQueryAttention LatentAttention", (MERGE, GIVEN)),
    ),
    # The learner's own assert comes before torch's error.
    form(
        "length_checked",
        on(MODULES, (SHAPE, f"{SHAPE}\n        assert num_tokens <= self.mask.shape[-1]")),
    ),
]
