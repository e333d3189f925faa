"""All known mistakes, gathered from one file per idea."""

from . import dropout, functions, heads, inputs, masks, projections, scale, scores, softmax, wrapper

FILES = (scale, softmax, scores, masks, dropout, projections, heads, wrapper, functions, inputs)
MISTAKES = [mistake for file in FILES for mistake in file.MISTAKES]
