"""Predict the result of two mistakes on a case if one of them has no effect there.

A version with both mistakes differs from the version with the first one in only a few statements.
If a run of that version on a case executes none of them, the version with both mistakes behaves
identically there. It need not be run, because a case's result does not depend on earlier cases.

The same holds for a version with additional asserts: if none of them fails, they change nothing.
"""

import ast
from collections.abc import Iterator

from ...attempts.in_process import InProcess

Ran = dict[str, frozenset[int]]  # the numbers of the executed statements, by the name of the case

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
SCOPES = (*FUNCTIONS, ast.Lambda, ast.ClassDef)
BLOCKS = ("body", "orelse", "finalbody")
LOOKS = (
    *(ast.Assert, ast.Compare, ast.BoolOp, ast.Attribute, ast.Subscript, ast.Name, ast.Constant),
    *(ast.cmpop, ast.boolop, ast.unaryop, ast.UnaryOp, ast.expr_context),
)
MARKS = "__began__"


def numbered(definition: ast.stmt) -> dict[ast.stmt, int]:
    """Return the number of each statement in a definition, the same for every parse of the text."""
    statements = (node for node in ast.walk(definition) if isinstance(node, ast.stmt))
    return {statement: number for number, statement in enumerate(statements)}


def marked(source: str, name: str) -> str:
    """Return a text in which each statement in a definition's functions records that it runs."""
    module = ast.parse(source)
    definition = next(node for node in module.body if getattr(node, "name", None) == name)
    numbers = numbered(definition)
    functions = [node for node in ast.walk(definition) if isinstance(node, FUNCTIONS)]
    for node in {id(node): node for one in functions for node in ast.walk(one)}.values():
        for field, block in blocks_of(node):
            marks = [ast.parse(f"{MARKS}.add({numbers[one]})").body[0] for one in block]
            setattr(node, field, [s for pair in zip(marks, block, strict=True) for s in pair])
    first = sum(is_of_the_future(node) for node in module.body)
    module.body.insert(first, ast.parse(f"{MARKS} = set()").body[0])
    return ast.unparse(module)


def is_of_the_future(node: ast.stmt) -> bool:
    """Return True if a statement is an import from `__future__`, which has to come first."""
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


def begun(backend: InProcess) -> frozenset[int]:
    """Return the statements of a marked text that have run since the last call."""
    marks = vars(backend.ready_runner().module)[MARKS]
    found = frozenset(marks)
    marks.clear()
    return found


def blocks_of(node: ast.AST) -> list[tuple[str, list[ast.stmt]]]:
    """Return the lists of statements in a node, by their field names."""
    fields = ((field, getattr(node, field, None)) for field in BLOCKS)
    return [(field, block) for field, block in fields if block and isinstance(block, list)]


def differing(one: ast.stmt, other: ast.stmt, runs: bool = False) -> Iterator[ast.stmt | None]:
    """Yield the statements of one definition at which another definition diverges from it.

    Yield None if the two may diverge elsewhere as well: while the text is loaded, or because a name
    has become local. runs: True if both are inside a function.
    """
    if not same_but_for_blocks(one, other):
        yield one if runs else None
        return
    if isinstance(one, FUNCTIONS) and bindings(one) != bindings(other):
        yield None
    inside = runs or isinstance(one, FUNCTIONS)
    for field in BLOCKS:
        yield from differing_in(getattr(one, field, []), getattr(other, field, []), inside)


def differing_in(
    block: list[ast.stmt], other: list[ast.stmt], runs: bool
) -> Iterator[ast.stmt | None]:
    """Yield the diverging statements of two lists of statements.

    For added statements, yield the statement before them, or None if there is none.
    """
    before = alike(block, other)
    after = alike(block[before:][::-1], other[before:][::-1])
    mine, theirs = (part[before : len(part) - after] for part in (block, other))
    if len(mine) == len(theirs):
        for pair in zip(mine, theirs, strict=True):
            yield from differing(*pair, runs)
    elif not (runs and block):
        yield None
    else:
        yield (mine or block[max(0, before - 1) :])[0]


def alike(block: list[ast.stmt], other: list[ast.stmt]) -> int:
    """Return the number of equal statements with which two lists begin."""
    pairs = enumerate(zip(block, other, strict=False))
    return next((n for n, pair in pairs if not same(*pair)), min(len(block), len(other)))


def without_checks(definition: ast.stmt) -> ast.stmt:
    """Remove the asserts without calls from a definition's functions, and return the definition."""
    functions = [node for node in ast.walk(definition) if isinstance(node, FUNCTIONS)]
    for node in [node for one in functions for node in ast.walk(one)]:
        for field, block in blocks_of(node):
            setattr(node, field, [one for one in block if not is_check(one)])
    return definition


def is_check(statement: ast.stmt) -> bool:
    """Return True if a statement is an assert that only reads names, attributes and constants."""
    return isinstance(statement, ast.Assert) and all(
        isinstance(node, LOOKS) for node in ast.walk(statement)
    )


def same_but_for_blocks(one: ast.stmt, other: ast.stmt) -> bool:
    """Return True if two statements are the same apart from the statements in their blocks."""
    if type(one) is not type(other):
        return False
    blocks = {field for field, _ in blocks_of(one) + blocks_of(other)}
    fields = (field for field in one._fields if field not in blocks)
    return all(same(getattr(one, field, None), getattr(other, field, None)) for field in fields)


def same(one: object, other: object) -> bool:
    """Return True if two pieces of syntax are the same, regardless of their position."""
    if type(one) is not type(other):
        return False
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, ast.AST):
        return all(same(getattr(one, f, None), getattr(other, f, None)) for f in one._fields)
    return one == other


def bindings(function: ast.stmt) -> set[tuple[str, ...]]:
    """Return the names that a function binds or declares, and its kinds of yield and await."""
    found: set[tuple[str, ...]] = set()
    for node in in_scope(function):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            found.add(("name", node.id))
        elif isinstance(node, (ast.Yield, ast.YieldFrom, ast.Await)):
            found.add((type(node).__name__,))
        elif isinstance(node, (ast.Global, ast.Nonlocal)):
            found.add((type(node).__name__, *node.names))
        elif isinstance(node, ast.alias):
            found.add(("name", (node.asname or node.name).split(".")[0]))
        elif name := getattr(node, "name", None):
            found.add(("name", name))
        elif isinstance(node, ast.MatchMapping) and node.rest:
            found.add(("name", node.rest))
    return found


def in_scope(node: ast.AST, inner: bool = False) -> Iterator[ast.AST]:
    """Yield the nodes of a function's own scope, without inner bodies and comprehension targets."""
    left_out = "body" if inner and isinstance(node, SCOPES) else ""
    left_out = "target" if isinstance(node, ast.comprehension) else left_out
    for field, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and field != left_out:
                yield child
                yield from in_scope(child, inner=True)
