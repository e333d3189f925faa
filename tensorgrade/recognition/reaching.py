"""Find the top-level statements of a module that a definition depends on, by their names."""

import ast
from collections.abc import Iterable
from functools import lru_cache

DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def reached(module: ast.Module, roots: Iterable[str]) -> list[ast.stmt]:
    """Return the statements that bind these names, and all statements that they use in turn.

    The order is that of the file.

    >>> text = "import math\\na = 1\\nb = 2\\ndef f():\\n    return a + math.pi"
    >>> [ast.unparse(statement) for statement in reached(ast.parse(text), ["f"])][:2]
    ['import math', 'a = 1']
    """
    wanted, found, more = set(roots), set(), True
    while more:
        new = [s for s in module.body if s not in found and bound_by(s) & wanted]
        found.update(new)
        wanted = wanted.union(*map(used_by, new))
        more = bool(new)
    return [statement for statement in module.body if statement in found]


def lines_of(statement: ast.stmt) -> range:
    """Return the line numbers of a statement, including its decorators."""
    decorators = getattr(statement, "decorator_list", ())
    first = min([statement.lineno, *(decorator.lineno for decorator in decorators)])
    return range(first, (statement.end_lineno or first) + 1)


@lru_cache(maxsize=10_000)  # asked again for every name that is found
def bound_by(statement: ast.stmt) -> set[str]:
    """Return the names that a top-level statement binds."""
    if isinstance(statement, DEFINITIONS):
        return {statement.name}
    inner = list(ast.walk(statement))
    names = {n.id for n in inner if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    aliases = {(n.asname or n.name).split(".")[0] for n in inner if isinstance(n, ast.alias)}
    return names | aliases | {n.name for n in inner if isinstance(n, DEFINITIONS)}


@lru_cache(maxsize=10_000)
def used_by(statement: ast.stmt) -> set[str]:
    """Return all names in a statement."""
    return {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}
