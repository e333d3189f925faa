"""How much of a definition was changed, counted on its syntax tree: beside learner code.

Comments, docstrings, type hints and how lines are broken do not count.
"""

import ast
from collections.abc import Mapping
from difflib import SequenceMatcher

from .loading import bound_names, statements

DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
LOOKING_UP = {"globals", "locals", "vars", "getattr", "eval", "exec", "__import__", "__globals__"}
LOOKING_UP |= {"sys", "importlib", "inspect", "gc", "operator"}
MOST_PARTS = 3000  # of a definition; more are a rewrite, whatever they say


def changes(text: str, bugs: Mapping[str, str]) -> dict[str, int]:
    """By name: how many parts of the tree differ from the code that was given; 0 where none does.

    bugs: by name, the text with the definition that was given. A name that the text does not
    define is left out. Who calls another definition that takes the same has mended nothing: all of
    it counts then.

    >>> changes("def f(x):\\n    return x / 2  # halves", {"f": "def f(x): return x / 3"})
    {'f': 1}
    >>> more = "def g(x): return x / 2\\ndef f(x):\\n    return g(x)\\n    return x / 3"
    >>> changes(more, {"f": "def f(x): return x / 3"})
    {'f': 12}
    """
    bound, found = bound_by(text), {}
    there = definitions(bound)
    for name in bugs.keys() & there.keys():
        given = definitions(bound_by(bugs[name]))[name]
        before, after = parts_of(given), parts_of(there[name])
        whole = len(after) > MOST_PARTS or hands_on(there[name], given, bound)
        both = max(len(before), len(after))  # what was there is gone, however short the new is
        found[name] = both if whole else differing(before, after)
    return found


def hands_on(definition: ast.stmt, given: ast.stmt, bound: Mapping[str, ast.stmt]) -> bool:
    """Whether a definition comes to another one that takes the same, and the given one did not.

    Or is handed to a decorator, which may give back another; or looks definitions up under names
    that are made as it runs: no small change does.
    """
    if len(getattr(definition, "decorator_list", ())) > len(getattr(given, "decorator_list", ())):
        return True
    new = names_in(definition) - names_in(given) - {getattr(given, "name", "")}
    reached = all_names(new, bound)
    others = (bound[name] for name in reached & bound.keys())
    same = (isinstance(o, DEFINITIONS) and parameters(o) == parameters(given) for o in others)
    return bool(reached & LOOKING_UP) or any(same)


def all_names(names: set[str], bound: Mapping[str, ast.stmt]) -> set[str]:
    """These names and those that the statements speak of by which they are bound, and so on."""
    found, left = set[str](), set(names)
    while left:
        name = left.pop()
        found.add(name)
        left |= (names_in(bound[name]) if name in bound else set()) - found
    return found


def names_in(definition: ast.stmt) -> set[str]:
    """The names that a definition speaks of: as names, as parts of something, as texts."""
    return {name for node in ast.walk(definition) for name in names_of(node)}


def names_of(node: ast.AST) -> list[str]:
    """The names that stand in one node itself."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name) | ast.Constant(value=str(name)):
            return [name]
        case ast.alias(name=name):
            return name.split(".")
    return []


def parameters(definition: ast.stmt) -> list[str]:
    """The names of what a function takes, or a class to make an object."""
    inner = (node for node in ast.walk(definition) if isinstance(node, ast.FunctionDef))
    first = next(
        (n for n in inner if n.name in ("__init__", getattr(definition, "name", ""))), None
    )
    return [one.arg for one in first.args.args] if first else []


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
