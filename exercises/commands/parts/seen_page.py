"""Where each head looks, as a page for a browser and as a notebook's picture, without scripts."""

from pathlib import Path

from jinja2 import Environment, FileSystemLoader

from .seen import Seen, visible

PAGES = Environment(
    loader=FileSystemLoader(Path(__file__).parent),
    autoescape=True,
    trim_blocks=True,
    lstrip_blocks=True,
)
FAINTEST = 0.02  # smaller weights are not drawn


def page(seen: Seen) -> str:
    """Return a self-contained page."""
    return PAGES.get_template("seen.html").render(whole=True, **parts(seen))


def figures(seen: Seen) -> str:
    """Return only the pictures, with their own background, for a notebook in any colours."""
    return PAGES.get_template("seen.html").render(whole=False, **parts(seen))


def parts(seen: Seen) -> dict:
    """Return the values for the template."""
    return {
        "text": seen.characters,
        "notes": seen.notes,
        "marks": [visible(character) for character in seen.characters],
        "own": not seen.does,
        "named": [head_of(seen, head) for head in seen.heads if head in seen.does],
        "others": [head_of(seen, head) for head in seen.heads if head not in seen.does],
    }


def head_of(seen: Seen, head: tuple[int, int]) -> dict:
    """Return one head: words, and (row, column, weight) of all visible cells."""
    matrix = seen.weights[head].tolist()
    cells = [
        (i, j, weight)
        for i, row in enumerate(matrix)
        for j, weight in enumerate(row)
        if weight >= FAINTEST
    ]
    words = {"title": seen.title(head), "caption": seen.caption(head)}
    return words | {"example": seen.example(head), "cells": cells}
