"""A find-the-bug exercise, graded like mask_and_renormalize."""

from tensorgrade import find_the_bug

BUG = find_the_bug(
    "mask_and_renormalize",
    points=4,
    mistake="mask_on_the_diagonal",
    edit=("places[None, :] > places", "places[None, :] >= places"),
)
