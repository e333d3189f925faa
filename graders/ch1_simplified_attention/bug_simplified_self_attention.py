"""A find-the-bug exercise, graded like simplified_self_attention."""

from tensorgrade import find_the_bug

BUG = find_the_bug(
    "simplified_self_attention",
    points=4,
    mistake="scores_returned",
    edit=("return mixed, shares", "return mixed, likeness"),
)
