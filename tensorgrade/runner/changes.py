"""Definitions that were given with a mistake: how much of one was changed, and the code to run.

Both are taken from the text, before a line of it has run. Changes are counted on the syntax tree:
comments, docstrings, type hints and how lines are broken do not count.
"""

import ast
from collections.abc import Mapping
from difflib import SequenceMatcher

from .loading import bound_names, statements

DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
IMPORTS = (ast.Import, ast.ImportFrom)
LOOKING_UP = {"globals", "locals", "vars", "getattr", "eval", "exec", "__import__", "__globals__"}
LOOKING_UP |= {"sys", "importlib", "inspect", "gc", "operator", "builtins"}
MOST_PARTS = 3000  # of a definition; more are a rewrite, whatever they say


def changes(text: str, bugs: Mapping[str, str]) -> dict[str, int]:
    """By name: how many parts of the tree differ from the code that was given; 0 where none does.

    bugs: by name, the text with the definition that was given. A name that the text does not
    define is left out.

    >>> changes("def f(x):\\n    return x / 2  # halves", {"f": "def f(x): return x / 3"})
    {'f': 1}
    """
    bound, found = bound_by(text), {}
    there = definitions(bound)
    for name in bugs.keys() & there.keys():
        given = definitions(bound_by(bugs[name]))[name]
        before, after = parts_of(given), parts_of(there[name])
        whole = len(after) > MOST_PARTS or looks_up(there[name], given, bound)
        both = max(len(before), len(after))  # what was there is gone, however short the new is
        found[name] = both if whole else differing(before, after)
    return found


def definition_alone(text: str, name: str, given: str, own: str = "") -> list[ast.stmt]:
    """Return what to run of a text of which one definition counts, and nothing else.

    given: the course's own text, in which the learner's definition replaces the one that was given.
    own: its name in the learner's text, if that is misspelt. Of the rest of that text only imports
    are kept, those whose names the definition reads: nothing else of the file can interfere.

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
    """Return True if a definition makes code or names as it runs, or has a decorator more than was
    given, which may return another function. No small change does.
    """
    if len(getattr(definition, "decorator_list", ())) > len(getattr(given, "decorator_list", ())):
        return True
    parts = (definition, *imports_of(definition, bound))
    new = set().union(*map(names_in, parts)) - names_in(given)
    return bool(new & LOOKING_UP)


def names_in(definition: ast.AST) -> set[str]:
    """Return the names in a definition: as names, as attributes, as texts."""
    found = set()
    for node in ast.walk(definition):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.Constant(value=str(name)):
                found.add(name)
            case ast.alias(name=name):
                found.update(name.split("."))
    return found


def definitions(bound: Mapping[str, ast.stmt]) -> dict[str, ast.stmt]:
    """Of what binds names, the functions and classes."""
    return {name: one for name, one in bound.items() if isinstance(one, DEFINITIONS)}


def bound_by(text: str) -> dict[str, ast.stmt]:
    """By name, the last statement of a text that binds it."""
    return {name: one for one in statements(text, "", []) for name in bound_names(one)}


def differing(before: list[str], after: list[str]) -> int:
    """How many parts were put in, taken out or replaced."""
    blocks = SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    return sum(max(i2 - i1, j2 - j1) for tag, i1, i2, j1, j2 in blocks if tag != "equal")


def parts_of(definition: ast.AST) -> list[str]:
    """A tree's nodes in order, each with its own name or value. However deep the tree is."""
    found, left = [], [definition]
    while left:
        node = left.pop()
        found.append(told(node))
        below = [node for name, value in ast.iter_fields(node) for node in nodes_in(name, value)]
        left += reversed(below)
    return found


def told(node: ast.AST) -> str:
    """What a node is, without what is below it."""
    if isinstance(node, ast.Constant):  # not its value itself, which may be endless
        return f"{type(node.value).__name__} {hash(node.value)}"
    own = (value for _, value in ast.iter_fields(node) if isinstance(value, str | int))
    return " ".join([type(node).__name__, *map(str, own)])


def nodes_in(field: str, value: object) -> list[ast.AST]:
    """The nodes in a field of a node, as far as they count."""
    if field in ("annotation", "returns", "ctx"):
        return []
    several = value if isinstance(value, list) else [value]
    return [one for one in several if isinstance(one, ast.AST) and not is_text(one)]


def is_text(node: ast.AST) -> bool:
    """Whether a statement is a text alone, such as a docstring."""
    if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Constant):
        return False
    return isinstance(node.value.value, str)
