"""A find-the-bug exercise, graded like LayerNorm."""

from tensorgrade import find_the_bug

BUG = find_the_bug(
    "LayerNorm",
    points=4,
    among={
        "unbiased_variance": (
            "(away**2).mean(dim=-1, keepdim=True)",
            "x.var(dim=-1, keepdim=True)",
        ),
        "divided_by_variance": ("** -0.5", "** -1"),
        "eps_outside_the_root": (
            "(squares + self.least) ** -0.5",
            "(squares**0.5 + self.least) ** -1",
        ),
        "without_eps": ("(squares + self.least)", "squares"),
        "scale_left_out": ("self.scale * (away", "(away"),
    },
)
