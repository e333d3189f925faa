"""A find-the-bug exercise, graded like inverted_dropout."""

from tensorgrade import find_the_bug

BUG = find_the_bug(
    "inverted_dropout",
    points=4,
    among={
        "dropout_not_rescaled": (" / (1 - p)", ""),
        "dropout_rescaled_twice": ("/ (1 - p)", "/ (1 - p) ** 2"),
        "scaled_by_one_over_p": ("/ (1 - p)", "/ p"),
        "scaled_down": ("/ (1 - p)", "* (1 - p)"),
        "mask_kept_by_p_alone": ("attn_weights, 1 - p", "attn_weights, p"),
        "training_turned_around": ("if not training", "if training"),
    },
)
