"""Mistakes that happen in several exercises."""

MISTAKES: list = []
