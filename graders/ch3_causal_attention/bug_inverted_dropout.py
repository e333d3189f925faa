"""A find-the-bug exercise, graded like inverted_dropout."""

from tensorgrade import find_the_bug

BUG = find_the_bug(
    "inverted_dropout",
    points=4,
    mistake="dropout_not_rescaled",
    edit=(" / (1 - p)", ""),
)
