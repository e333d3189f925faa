"""A find-the-bug exercise, graded like simplified_self_attention."""

from tensorgrade import find_the_bug

BUG = find_the_bug(
    "simplified_self_attention",
    points=4,
    among={
        "softmax_over_columns": ("softmax(dim=1)", "softmax(dim=0)"),
        "weights_transposed": ('"ij,jd->id"', '"ji,jd->id"'),
        "scores_instead_of_weights": ('"ij,jd->id", shares', '"ij,jd->id", likeness'),
        "scores_returned": ("return mixed, shares", "return mixed, likeness"),
        "softmax_twice": ("likeness.softmax(dim=1)", "likeness.softmax(dim=1).softmax(dim=1)"),
    },
)
