"""The text of a solution: put a known mistake into it, and find what a definition needs.

An edit replaces one piece of the text. Edits of different pieces can be combined, which gives two
mistakes at once.
"""

import ast
import re
from collections.abc import Iterable
from contextlib import suppress
from functools import lru_cache
from itertools import chain, permutations

from ..runner.syntax import bound_names

REGION = re.compile(r"(### BEGIN SOLUTION.*?### END SOLUTION)", re.DOTALL)

# Texts of the solution, each with its replacement. Lines after the first are indented by as much as
# the line in which the piece begins.
Edits = tuple[tuple[str, str], ...]


class EditError(Exception):
    """Raised if an edit does not fit the solution: its text does not occur exactly once."""


def make(source: str, exercise: str, edits: Iterable[tuple[str, str]]) -> str:
    """Return the chapter's source with these edits in one exercise. Raises EditError.

    >>> text = "def f(x):\\n    ### BEGIN SOLUTION\\n    return x / 2\\n    ### END SOLUTION"
    >>> "return x / 2" in make(text, "f", [(" / 2", "")])
    False
    """
    before, definition, after = pieces(source, exercise)
    # Only solution regions are edited, because a docstring may quote the text that an edit
    # replaces.
    parts = REGION.split(definition)
    for old, new in edits:
        replace_once(parts, old, new)
    return before + "".join(parts) + after


def with_mistakes(source: str, exercise: str, mistakes: Iterable[Edits]) -> str:
    """Return the chapter's source with several mistakes in one exercise. Raises EditError.

    Some mistakes fit together in one order only.
    """
    *others, last = permutations(mistakes)
    for order in others:
        with suppress(EditError):
            return make(source, exercise, chain(*order))
    return make(source, exercise, chain(*last))


@lru_cache(maxsize=64)  # thousands of wrong versions are made from one text
def pieces(source: str, exercise: str) -> tuple[str, str, str]:
    """Return an exercise's definition, between what comes before and after it."""
    first, last = place_of(source, exercise)
    lines = source.splitlines(keepends=True)
    return "".join(lines[:first]), "".join(lines[first:last]), "".join(lines[last:])


def replace_once(parts: list[str], old: str, new: str) -> None:
    """Replace a text that occurs exactly once in the regions (every second part)."""
    regions = range(1, len(parts), 2)
    found = [(i, match) for i in regions for match in pattern(old).finditer(parts[i])]
    if len(found) != 1:
        raise EditError(
            f"{old!r} is there {len(found)} times, between ### BEGIN SOLUTION and "
            "### END SOLUTION; it has to be there once"
        )
    ((i, match),) = found
    text = parts[i]
    line = text[text.rfind("\n", 0, match.start()) + 1 :]
    indentation = line[: len(line) - len(line.lstrip(" "))]
    new = new.replace("\n", f"\n{indentation}")
    parts[i] = text[: match.start()] + new + text[match.end() :]


@lru_cache(maxsize=2048)
def pattern(old: str) -> re.Pattern[str]:
    """Return a pattern for a piece of a solution, with any indentation of its later lines."""
    first, *more = old.split("\n")
    return re.compile(
        "".join([re.escape(first), *(rf"\n *{re.escape(one.strip())}" for one in more)])
    )


@lru_cache(maxsize=64)
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


# --- what a definition needs ------------------------------------------------------------------


def reached(module: ast.Module, roots: Iterable[str]) -> list[ast.stmt]:
    """Return the statements that bind these names, and all statements that they use in turn.

    The order is that of the file.

    >>> text = "import math\\na = 1\\nb = 2\\ndef f():\\n    return a + math.pi"
    >>> [ast.unparse(statement) for statement in reached(ast.parse(text), ["f"])][:2]
    ['import math', 'a = 1']
    """
    bound = {one: {*bound_names(one)} for one in module.body}
    wanted, found, more = set(roots), set[ast.stmt](), True
    while more:
        new = [one for one in module.body if one not in found and bound[one] & wanted]
        found.update(new)
        wanted = wanted.union(*map(used_by, new))
        more = bool(new)
    return [statement for statement in module.body if statement in found]


@lru_cache(maxsize=10_000)
def used_by(statement: ast.stmt) -> set[str]:
    """Return all names in a statement."""
    return {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}
