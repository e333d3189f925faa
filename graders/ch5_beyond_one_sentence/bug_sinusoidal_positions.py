"""A find-the-bug exercise, graded like sinusoidal_positions."""

from tensorgrade import find_the_bug

BUG = find_the_bug(
    "sinusoidal_positions",
    points=4,
    among={
        "only_sines": ("angles.cos()", "angles.sin()"),
        "exponent_without_two": ("(column / d)", "(column / 2 / d)"),
        "rates_grow": ("places / 10000.0", "places * 10000.0"),
        "another_base": ("10000.0", "1000.0"),
        "places_from_one": ("torch.arange(num_tokens)", "torch.arange(1, num_tokens + 1)"),
    },
)
