"""A find-the-bug exercise, graded like mask_and_renormalize."""

from tensorgrade import find_the_bug

BUG = find_the_bug(
    "mask_and_renormalize",
    points=4,
    among={
        "mask_hides_the_past": ("places[None, :] > places", "places[None, :] < places"),
        "mask_one_too_late": ("places[:, None]", "places[:, None] + 1"),
        "mask_on_the_diagonal": ("places[None, :] > places", "places[None, :] >= places"),
        "renormalized_over_columns": ("sum(dim=1,", "sum(dim=0,"),
        "renormalized_before_masking": ("/ present.sum", "/ attn_weights.sum"),
    },
)
