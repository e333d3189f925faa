"""Mistakes: known wrong ways to solve an exercise, made by small edits of the solution.

An edit replaces one piece of the solution's text by another. Edits that touch different pieces
can be made together, which is how two mistakes at once come about.
"""

import ast
import re
from dataclasses import dataclass
from functools import lru_cache

REGION = re.compile(r"(### BEGIN SOLUTION.*?### END SOLUTION)", re.DOTALL)


Edits = tuple[tuple[str, str], ...]  # texts of the solution, each with its replacement


class EditError(Exception):
    """An edit does not fit the solution: its text is not there exactly once."""


@dataclass(frozen=True)
class Mistake:
    """One wrong way.

    name: short, with underscores. message: one or two sentences that point at the idea.
    edits: for each exercise that it can happen in, pairs of (text of the solution, replacement).
    same_as: the name of a mistake that no case can tell from this one.
    """

    name: str
    message: str
    edits: dict[str, Edits]
    same_as: str = ""


def on(exercises: str, *edits: tuple[str, str]) -> dict:
    """The same edits in each of several exercises, whose names stand in one string.

    >>> on("a b", ("/ d", ""))["b"]
    (('/ d', ''),)
    """
    return dict.fromkeys(exercises.split(), edits)


def mistake(name: str, message: str, *places: dict | tuple[str, str], same_as: str = "") -> Mistake:
    """A mistake, with its edits gathered from several `on(…)`.

    In an exercise's own file plain pairs of (text, replacement) do; they are for that exercise,
    whose name is filled in later.
    """
    edits = {e: edit for place in places if isinstance(place, dict) for e, edit in place.items()}
    if own := tuple(place for place in places if isinstance(place, tuple)):
        edits[""] = own
    return Mistake(name, message, edits, same_as)


def form(name: str, *places: dict) -> Mistake:
    """Another right way to write solutions, as edits of them: in it a mistake may look otherwise.

    A step in place raises where another one broadcasts; so the fingerprints of mistakes are taken
    from each form as well.
    """
    return mistake(name, "", *places)


def make(source: str, exercise: str, mistakes: list[Mistake]) -> str:
    """The chapter's source with these mistakes in one exercise. Raises EditError if one fits not.

    >>> no_scale = mistake("no_scale", "…", on("f", (" / 2", "")))
    >>> text = "def f(x):\\n    ### BEGIN SOLUTION\\n    return x / 2\\n    ### END SOLUTION"
    >>> "return x / 2" in make(text, "f", [no_scale])
    False
    """
    first, last = place_of(source, exercise)
    lines = source.splitlines()
    # Only solution regions are edited: a docstring may quote the very text that an edit seeks.
    parts = REGION.split("\n".join(lines[first:last]))
    for one in mistakes:
        for old, new in one.edits[exercise]:
            replace_once(parts, old, new, f"{one.name} in {exercise}")
    return "\n".join(lines[:first] + "".join(parts).splitlines() + lines[last:]) + "\n"


def replace_once(parts: list[str], old: str, new: str, what: str) -> None:
    """Replace a text that stands exactly once in the regions (every second part)."""
    regions = range(1, len(parts), 2)
    found = sum(parts[i].count(old) for i in regions)
    if found != 1:
        raise EditError(
            f"{what}: {old!r} is there {found} times, between ### BEGIN SOLUTION and "
            "### END SOLUTION; it has to be there once"
        )
    for i in regions:
        parts[i] = parts[i].replace(old, new)


@lru_cache(maxsize=64)  # thousands of wrong versions are made of one text
def place_of(source: str, name: str) -> tuple[int, int]:
    """(first line, line after the last) of a top-level definition, counted from 0."""
    lines = source.splitlines()
    for node in ast.parse(source).body:
        if getattr(node, "name", None) == name:
            last = node.end_lineno or node.lineno
            # The closing marker is a comment, which no syntax node includes.
            while last < len(lines) and lines[last].strip().startswith("### "):
                last += 1
            return node.lineno - 1, last
    raise EditError(f"the solution defines no {name}")
