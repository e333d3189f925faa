"""Small changes of a learner's own definition, each with what it does on a case.

They are edits of syntax that fit any code (runner/edits.py), so nothing of a solution is needed. A
fingerprint says which known mistake an edit amounts to.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from ..attempts.attempt import Attempt
from ..attempts.in_child import InChild
from ..exchange.cases import Case
from ..exchange.observation import Observation
from ..recognition.fingerprints import Fingerprint
from ..recognition.signatures import imprint
from ..runner.edits import Edit
from ..runner.source import UNPARSABLE

MOST_EDITS, AT_ONCE = 4000, 40


@dataclass(frozen=True)
class Variant:
    """A chapter's text with one edit in one definition, laid out plainly.

    line: of the edit in the learner's text. definition: the changed definition alone. text: the
    whole chapter with it.
    """

    line: int
    definition: str
    text: str


def edits_on(attempt: Attempt, name: str, case: Case) -> Iterator[tuple[Edit, Observation]]:
    """Yield edits of an exercise's definition, with their results on a public case.

    Edits that raise an error or take too long are left out.
    """
    assert isinstance(attempt.backend, InChild), "edits are tried in another process"
    nothing = 0
    for first in range(0, MOST_EDITS, AT_ONCE):
        found = attempt.backend.tries(name, 0, case, first, AT_ONCE)
        nothing = 0 if found else nothing + 1
        if nothing == 3:  # there are no more edits, or the code hangs
            return
        yield from found


def is_mistake(
    attempt: Attempt, prints: list[Fingerprint], case: Case, right: Observation, seen: Observation
) -> bool:
    """Return True if a result on a case is the one that a mistake gives there.

    prints: the mistake's fingerprints, one for each form of the solution.
    """
    own = attempt.own.signatures
    got = imprint(case, right, seen, own)
    return any(one.imprints[case.name].matches(got) for one in prints if case.name in one.imprints)


def variant(text: str, edited: str, name: str, line: int = 0) -> Variant | None:
    """Return an edit as a variant; None if its definition is that of the text, laid out plainly.

    Layout, comments and superfluous brackets would show the place of an edit, so all of them go.

    >>> variant("def f(x): return x / 2", "def f(x): return (x)", "f").definition
    'def f(x):\\n    return x'
    """
    before, after = plain(text, name), plain(edited, name)
    if not before or not after or before == after:
        return None
    return Variant(line, after, with_definition(text, name, after))


def plain(text: str, name: str) -> str:
    """Return a definition without comments and with Python's own layout; "" if there is none."""
    node = definition(text, name)
    return ast.unparse(without_pass(node)) if node else ""


def definition(text: str, name: str) -> ast.stmt | None:
    """Return the syntax of the last definition of a name in a text; None if there is none."""
    try:
        body = ast.parse(text).body
    except UNPARSABLE:
        return None
    kinds = (ast.FunctionDef, ast.ClassDef)
    return next((s for s in reversed(body) if isinstance(s, kinds) and s.name == name), None)


def without_pass(node: ast.stmt) -> ast.stmt:
    """Remove `pass` from all bodies that have another statement; return the node."""
    for one in ast.walk(node):
        body = getattr(one, "body", None)
        if isinstance(body, list) and len(body) > 1:
            one.body = [s for s in body if not isinstance(s, ast.Pass)] or body[:1]  # type: ignore[attr-defined]
    return node


def with_definition(text: str, name: str, new: str) -> str:
    """Return a text with another definition of a name in the place of its last one."""
    node = definition(text, name)
    assert node is not None, "the text defines the name"
    decorators = getattr(node, "decorator_list", [])
    first = min([node.lineno, *(one.lineno for one in decorators)])
    lines = text.split("\n")
    return "\n".join([*lines[: first - 1], new, *lines[node.end_lineno :]])
