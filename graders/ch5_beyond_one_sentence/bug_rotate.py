"""A find-the-bug exercise, graded like rotate."""

from tensorgrade import find_the_bug

BUG = find_the_bug(
    "rotate",
    points=4,
    mistake="positions_ignored",
    edit=("positions.to(x.dtype)", "torch.arange(len(positions)).to(x.dtype)"),
)
