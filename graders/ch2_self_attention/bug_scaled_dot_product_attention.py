"""A find-the-bug exercise, graded like scaled_dot_product_attention."""

from tensorgrade import find_the_bug

BUG = find_the_bug(
    "scaled_dot_product_attention",
    points=4,
    among={
        "no_scale": ("(likeness / width**0.5)", "likeness"),
        "scaled_by_d_k": ("width**0.5", "width"),
        "multiplied_by_sqrt_d_k": ("likeness / width", "likeness * width"),
        "scaled_by_tokens": ("keys.size(-1)", "keys.size(-2)"),
        "softmax_over_columns": ("softmax(dim=-1)", "softmax(dim=-2)"),
    },
)
