"""A find-the-bug exercise, graded like merge_heads."""

from tensorgrade import find_the_bug

BUG = find_the_bug(
    "merge_heads",
    points=4,
    mistake="heads_in_reverse",
    edit=("in range(num_heads)", "in reversed(range(num_heads))"),
)
