"""A find-the-bug exercise, graded like sinusoidal_positions."""

from tensorgrade import find_the_bug

BUG = find_the_bug(
    "sinusoidal_positions",
    points=4,
    mistake="exponent_without_two",
    edit=("(column / d)", "(column / 2 / d)"),
)
