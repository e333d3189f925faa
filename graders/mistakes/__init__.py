"""Known mistakes that several exercises share, collected from one file per idea."""

from . import (
    by_hand,
    dropout,
    heads,
    inputs,
    losses,
    masks,
    modules,
    projections,
    scale,
    scores,
    softmax,
)

FILES = (
    *(scale, softmax, scores, masks, dropout, projections),
    *(heads, by_hand, inputs, losses, modules),
)
MISTAKES = [mistake for file in FILES for mistake in file.MISTAKES]
