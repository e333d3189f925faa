"""What each definition of a file can reach in it, as a text of its own: read, never run.

Whoever else has the same text has the same definition, whatever stands beside it. Comments and how
lines are broken make no difference.
"""

import ast
from symtable import SymbolTable, symtable

from .loading import bound_names

DEFINITIONS = (ast.FunctionDef, ast.ClassDef)
MOST_STATEMENTS, MOST_CHARACTERS = 300, 60_000  # of a file; answers are far smaller


def slices(text: str) -> tuple[list[str], dict[str, list[int]]]:
    """A file's statements, and by definition the numbers of those that it can reach.

    What binds a name that is spoken of is reached, as often as it is bound. Nothing of a file that
    is too large. Raises what `ast` raises of a text that is no Python.

    >>> slices("import math\\nx = 1\\ndef f(y): return math.exp(y)  # e\\ndef g(y): return f(x)")[1]
    {'f': [0, 2], 'g': [0, 1, 2, 3]}
    """
    body = ast.parse(text).body
    if len(body) > MOST_STATEMENTS or len(text) > MOST_CHARACTERS:
        return [], {}
    binding: dict[str, set[int]] = {}
    for number, statement in enumerate(body):
        for name in names_bound(statement):
            binding.setdefault(name, set()).add(number)
    scopes = symtable(text, "", "exec").get_children()
    spoken = [names_spoken(statement, scopes) & binding.keys() for statement in body]
    definitions = {s.name for s in body if isinstance(s, DEFINITIONS)}
    reach = {name: sorted(reached(name, binding, spoken)) for name in sorted(definitions)}
    return [ast.unparse(statement) for statement in body], reach


def reached(name: str, binding: dict[str, set[int]], spoken: list[set[str]]) -> set[int]:
    """The numbers of the statements that bind a name, or what those speak of, and so on."""
    known, left = {name}, {name}
    found: set[int] = set()
    while left:
        new = set().union(*(binding[one] for one in left)) - found
        left = set().union(*(spoken[number] for number in new)) - known
        found, known = found | new, known | left
    return found


def names_bound(statement: ast.stmt) -> set[str]:
    """All names of the file that a statement may give to something, or take away."""
    nodes = list(ast.walk(statement))
    names = {*bound_names(statement)}.union(*(n.names for n in nodes if isinstance(n, ast.Global)))
    if isinstance(statement, DEFINITIONS):
        return names
    return names | {n.id for n in nodes if isinstance(n, ast.Name) and not is_read(n)}


def is_read(name: ast.Name) -> bool:
    return isinstance(name.ctx, ast.Load)


def names_spoken(statement: ast.stmt, scopes: list[SymbolTable]) -> set[str]:
    """The names of the file that a statement speaks of; local variables are none."""
    if not isinstance(statement, DEFINITIONS):
        return names_in(statement)
    first = [one for one in ast.iter_child_nodes(statement) if one not in statement.body]
    inner = (globals_of(scope) for scope in scopes if scope.get_name() == statement.name)
    return set().union(*map(names_in, first), *inner)


def names_in(part: ast.AST) -> set[str]:
    """All names in a part of a file."""
    return {node.id for node in ast.walk(part) if isinstance(node, ast.Name)}


def globals_of(scope: SymbolTable) -> set[str]:
    """The names that a function or class reads from its file or Python, as Python tells them."""
    inner = (globals_of(one) for one in scope.get_children())
    return {one.get_name() for one in scope.get_symbols() if one.is_global()}.union(*inner)
