"""A find-the-bug exercise, graded like batches."""

from tensorgrade import find_the_bug

BUG = find_the_bug(
    "batches",
    points=4,
    mistake="last_window_never_drawn",
    edit=("randint(len(longer),", "randint(max(len(longer) - 1, 1),"),
)
