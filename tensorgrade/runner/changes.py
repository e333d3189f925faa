"""Find-the-bug exercises: count the changes of a definition, and select the code to run.

Both use the text, before any of it has run. Changes are counted on the syntax tree, so that
comments, docstrings, type hints and line breaks do not count.
"""

import ast
from collections import Counter
from collections.abc import Mapping
from difflib import SequenceMatcher

from .loading import bound_names, branches, statements

DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
IMPORTS = (ast.Import, ast.ImportFrom)
LOOKING_UP = {"globals", "locals", "vars", "getattr", "eval", "exec", "__import__", "__globals__"}
LOOKING_UP |= {"sys", "importlib", "inspect", "gc", "operator", "builtins"}
MOST_PARTS = 3000  # of a definition; more count as a rewrite


def changes(text: str, bugs: Mapping[str, str]) -> dict[str, int]:
    """Return by name the number of changed parts of the syntax tree; 0 if nothing has changed.

    bugs: by name, the text with the given definition. Names that the text does not define are left
    out.

    >>> changes("def f(x):\\n    return x / 2  # halves", {"f": "def f(x): return x / 3"})
    {'f': 1}
    """
    bound, found = bound_by(text), {}
    there = definitions(bound)
    for name in bugs.keys() & there.keys():
        given = definitions(bound_by(bugs[name]))[name]
        before, after = parts_of(given), parts_of(there[name])
        whole = len(after) > MOST_PARTS or looks_up(there[name], given, bound)
        both = max(len(before), len(after))  # for a rewrite, however short the new code is
        found[name] = both if whole else differing(before, after)
    return found


def definition_alone(text: str, name: str, given: str, own: str = "") -> list[ast.stmt]:
    """Return the statements to run if only one definition of a text counts; [] without one.

    given: the course's text, in which the learner's definition replaces the given one. own: the
    definition's name in the learner's text, if it is misspelt. From the rest of that text, only the
    imports that the definition uses are retained, so that no other code can interfere.

    >>> text = "import math, sys\\ndef f(x): return math.exp(x)\\nprint(f(1))"
    >>> [ast.unparse(one)[:12] for one in definition_alone(text, "f", "import torch\\ndef f(x): 1")]
    ['import torch', 'import math,', 'def f(x):\\n  ']
    """
    bound = bound_by(text)
    definition = definitions(bound).get(own or name)
    if definition is None:
        return []
    course = [one for one in statements(given, "", []) if name not in bound_names(one)]
    return [*course, *imports_of(definition, bound), definition]


def imports_of(definition: ast.stmt, bound: Mapping[str, ast.stmt]) -> list[ast.stmt]:
    """Return the imports of a file whose names a definition reads."""
    read = names_in(definition)
    found = (one for name, one in bound.items() if name in read)
    return list(dict.fromkeys(one for one in found if isinstance(one, IMPORTS)))


def looks_up(definition: ast.stmt, given: ast.stmt, bound: Mapping[str, ast.stmt]) -> bool:
    """Return True if a definition can hide larger changes.

    That is the case if it creates code or looks up names at run time. It is also the case if it has
    more decorators than the given code, because they can return another function.
    """
    if len(getattr(definition, "decorator_list", ())) > len(getattr(given, "decorator_list", ())):
        return True
    parts = (definition, *imports_of(definition, bound))
    new = set().union(*map(names_in, parts)) - names_in(given)
    return bool(new & LOOKING_UP)


def names_in(definition: ast.AST) -> set[str]:
    """Return the names in a definition: variables, attributes, imported names and texts."""
    found = set()
    for node in ast.walk(definition):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.Constant(value=str(name)):
                found.add(name)
            case ast.alias(name=name):
                found.update(name.split("."))
    return found


def definitions(bound: Mapping[str, ast.stmt]) -> dict[str, ast.stmt]:
    """Return the functions and classes among the statements that bind names."""
    return {name: one for name, one in bound.items() if isinstance(one, DEFINITIONS)}


def bound_by(text: str) -> dict[str, ast.stmt]:
    """Return by name the last statement of a text that binds it, outside of `if` and `try`.

    A statement in a branch counts if no other one binds its name.
    """
    found = statements(text, "", [])
    outside = {n: one for one in found if not branches(one) for n in bound_names(one)}
    inside = [(name, one) for part in found for one in leaves(part) for name in bound_names(one)]
    many = Counter(name for name, _ in inside)
    return {name: one for name, one in inside if many[name] == 1} | outside


def leaves(statement: ast.stmt) -> list[ast.stmt]:
    """Return the statements in all branches of an `if` or a `try`, at any depth."""
    return [one for part in branches(statement) for one in leaves(part) or [part]]


def differing(before: list[str], after: list[str]) -> int:
    """Return the number of parts that were added, removed or replaced."""
    if before == after:  # the usual case, and much faster
        return 0
    blocks = SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    return sum(max(i2 - i1, j2 - j1) for tag, i1, i2, j1, j2 in blocks if tag != "equal")


def parts_of(definition: ast.AST) -> list[str]:
    """Return a text for each node of a tree, in order (see `told`), for trees of any depth."""
    found, left = [], [definition]
    while left:
        node = left.pop()
        found.append(told(node))
        below = [node for name, value in ast.iter_fields(node) for node in nodes_in(name, value)]
        left += reversed(below)
    return found


def told(node: ast.AST) -> str:
    """Return a text for a node, without its child nodes."""
    if isinstance(node, ast.Constant):  # not the value itself, which may be very long
        return f"{type(node.value).__name__} {hash(node.value)}"
    own = (value for _, value in ast.iter_fields(node) if isinstance(value, str | int))
    return " ".join([type(node).__name__, *map(str, own)])


def nodes_in(field: str, value: object) -> list[ast.AST]:
    """Return the nodes in a field of a node, without the ones that do not count."""
    if field in ("annotation", "returns", "ctx"):
        return []
    several = value if isinstance(value, list) else [value]
    return [one for one in several if isinstance(one, ast.AST) and not is_text(one)]


def is_text(node: ast.AST) -> bool:
    """Return True if a statement is only a text, such as a docstring."""
    if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Constant):
        return False
    return isinstance(node.value.value, str)
