"""A find-the-bug exercise, graded like scaled_dot_product_attention."""

from tensorgrade import find_the_bug

BUG = find_the_bug(
    "scaled_dot_product_attention",
    points=4,
    mistake="scaled_by_d_k",
    edit=("width**0.5", "width"),
)
