"""What a definition of a module depends on: other top-level statements, found by their names."""

import ast
from collections.abc import Iterable

DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def reached(module: ast.Module, roots: Iterable[str]) -> list[ast.stmt]:
    """The statements that bind these names, and all that they use in turn, in the file's order.

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


def bound_by(statement: ast.stmt) -> set[str]:
    """The names that a top-level statement gives a meaning to."""
    if isinstance(statement, DEFINITIONS):
        return {statement.name}
    inner = list(ast.walk(statement))
    names = {n.id for n in inner if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    aliases = {(n.asname or n.name).split(".")[0] for n in inner if isinstance(n, ast.alias)}
    return names | aliases | {n.name for n in inner if isinstance(n, DEFINITIONS)}


def used_by(statement: ast.stmt) -> set[str]:
    """All names that stand anywhere in a statement."""
    return {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}
