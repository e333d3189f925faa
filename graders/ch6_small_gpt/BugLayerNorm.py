"""A find-the-bug exercise, graded like LayerNorm."""

from tensorgrade import find_the_bug

BUG = find_the_bug(
    "LayerNorm",
    points=4,
    mistake="unbiased_variance",
    edit=("(away**2).mean(dim=-1, keepdim=True)", "x.var(dim=-1, keepdim=True)"),
)
