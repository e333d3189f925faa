"""A find-the-bug exercise, graded like rotate."""

from tensorgrade import find_the_bug

BUG = find_the_bug(
    "rotate",
    points=4,
    among={
        "turned_backwards": ("(-right, left)", "(right, -left)"),
        "both_signs_plus": ("(-right, left)", "(right, left)"),
        "rotation_rates_grow": ("base**-slower", "base**slower"),
        "rate_over_head_dim": ("/ pairs", "/ x.shape[-1]"),
        "base_fixed": ("base**-slower", "10000.0**-slower"),
        "positions_ignored": ("positions.to(x.dtype)", "torch.arange(len(positions)).to(x.dtype)"),
    },
)
