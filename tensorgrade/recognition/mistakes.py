"""Mistakes: known wrong solutions of an exercise, made by small edits of the right one.

An edit replaces one piece of the solution's text with another. Edits of different pieces can be
combined, which gives two mistakes at once.
"""

import ast
import re
from dataclasses import dataclass
from functools import lru_cache

REGION = re.compile(r"(### BEGIN SOLUTION.*?### END SOLUTION)", re.DOTALL)


Edits = tuple[tuple[str, str], ...]  # texts of the solution, each with its replacement


class EditError(Exception):
    """Raised if an edit does not fit the solution: its text does not occur exactly once."""


@dataclass(frozen=True)
class Mistake:
    """One known mistake.

    name: short, with underscores. message: one or two sentences that point at the idea.
    edits: for each exercise in which it can occur, pairs of (text of the solution, replacement).
    """

    name: str
    message: str
    edits: dict[str, Edits]


def on(exercises: str, *edits: tuple[str, str]) -> dict:
    """Return the same edits for each of several exercises, whose names are in one string.

    >>> on("a b", ("/ d", ""))["b"]
    (('/ d', ''),)
    """
    return dict.fromkeys(exercises.split(), edits)


def mistake(name: str, message: str, *places: dict | tuple[str, str]) -> Mistake:
    """Return a mistake, with its edits gathered from several `on(…)`.

    In an exercise's own file, plain pairs of (text, replacement) are enough. They belong to that
    exercise, whose name is filled in later.
    """
    edits = {e: edit for place in places if isinstance(place, dict) for e, edit in place.items()}
    if own := tuple(place for place in places if isinstance(place, tuple)):
        edits[""] = own
    return Mistake(name, message, edits)


def make(source: str, exercise: str, mistakes: list[Mistake]) -> str:
    """Return the chapter's source with these mistakes in one exercise. Raises EditError.

    >>> no_scale = mistake("no_scale", "…", on("f", (" / 2", "")))
    >>> text = "def f(x):\\n    ### BEGIN SOLUTION\\n    return x / 2\\n    ### END SOLUTION"
    >>> "return x / 2" in make(text, "f", [no_scale])
    False
    """
    first, last = place_of(source, exercise)
    lines = source.splitlines()
    # Only solution regions are edited, because a docstring may quote the text that an edit
    # replaces.
    parts = REGION.split("\n".join(lines[first:last]))
    for one in mistakes:
        for old, new in one.edits[exercise]:
            replace_once(parts, old, new, f"{one.name} in {exercise}")
    return "\n".join(lines[:first] + "".join(parts).splitlines() + lines[last:]) + "\n"


def replace_once(parts: list[str], old: str, new: str, what: str) -> None:
    """Replace a text that occurs exactly once in the regions (every second part)."""
    regions = range(1, len(parts), 2)
    found = sum(parts[i].count(old) for i in regions)
    if found != 1:
        raise EditError(
            f"{what}: {old!r} is there {found} times, between ### BEGIN SOLUTION and "
            "### END SOLUTION; it has to be there once"
        )
    for i in regions:
        parts[i] = parts[i].replace(old, new)


@lru_cache(maxsize=64)  # thousands of wrong versions are made from one text
def place_of(source: str, name: str) -> tuple[int, int]:
    """Return (first line, line after the last) of a top-level definition, counted from 0."""
    lines = source.splitlines()
    for node in ast.parse(source).body:
        if getattr(node, "name", None) == name:
            last = node.end_lineno or node.lineno
            # The closing marker is a comment, which no syntax node includes.
            while last < len(lines) and lines[last].strip().startswith("### "):
                last += 1
            return node.lineno - 1, last
    raise EditError(f"the solution defines no {name}")
