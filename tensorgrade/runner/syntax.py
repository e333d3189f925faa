"""The statements of a learner's text, and the names that they bind.

In grading, only this folder parses a learner's text. It does so in the learner's own process, so
that a text that attacks the parser faces the same isolation as code.

A text that does not parse is read in pieces, so that a mistake costs one definition. The text of a
notebook marks each cell, as scripts with cells do, and each cell is a piece of its own.
"""

import ast
import re
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from .source import UNPARSABLE

DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
IMPORTS = (ast.Import, ast.ImportFrom)
CELL = "# %%"  # the beginning of a line above a cell


class Piece(NamedTuple):
    """A part of a text that is parsed on its own.

    above: the number of lines above it. body: its statements. error: why it cannot be parsed.
    """

    above: int
    text: str
    body: list[ast.stmt]
    error: Exception | None = None

    @property
    def names(self) -> list[str]:
        """Return the names that it defines, also if it cannot be parsed."""
        return re.findall(r"^(?:async +)?(?:def|class) +(\w+)", self.text, re.M)


def piece(text: str, above: int = 0) -> Piece:
    """Parse a part of a text; its lines are counted from the top of the text."""
    try:
        return Piece(above, text, ast.parse("\n" * above + text).body)
    except UNPARSABLE as error:
        return Piece(above, text, [], error)


@lru_cache(maxsize=6)  # a text, the given code of find-the-bug exercises, a notebook's cell
def pieces(text: str) -> list[Piece]:
    """Return the text as one piece if it parses; otherwise its cells, or the blocks of a cell."""
    if not (whole := piece(text)).error:
        return [whole]
    found, above = [], 0
    for part in re.split(rf"^(?={CELL})", text, flags=re.M):
        blocks = [(0, part)] if not piece(part).error else top_level_blocks(part)
        found += [piece(block, above + line) for line, block in blocks]
        above += part.count("\n")
    return found


def top_level_blocks(source: str) -> list[tuple[int, str]]:
    """Return (lines above, text) of each block that starts at the left margin.

    >>> top_level_blocks("import a\\ndef f(:\\n    pass\\n@d\\ndef g(): pass")
    [(0, 'import a'), (1, 'def f(:\\n    pass'), (3, '@d\\ndef g(): pass')]
    """
    blocks: list[tuple[int, list[str]]] = []
    for number, line in enumerate(source.split("\n")):
        starts = bool(re.match(r"[^\s#)\]}]", line))
        decorated = bool(blocks) and blocks[-1][1][-1].startswith("@")
        if not blocks or (starts and not decorated):
            blocks.append((number, []))
        blocks[-1][1].append(line)
    return [(number, "\n".join(lines)) for number, lines in blocks]


def statements(text: str) -> list[ast.stmt]:
    """Return the top-level statements that count, of the pieces that parse.

    A definition does not count if a later one of its name cannot be parsed. A stub does not count
    if its name has another definition.
    """
    found: list[ast.stmt] = []
    for part in pieces(text):
        if part.error:
            found = [one for one in found if not {*part.names} & {*bound_names(one)}]
        found += part.body
    many = Counter(one.name for one in found if isinstance(one, DEFINITIONS))
    twice = [one for one in found if many[getattr(one, "name", "")] > 1]
    solved = {name for one in twice if not is_stub(one) for name in bound_names(one)}
    left_out = [one for one in twice if is_stub(one) and not solved.isdisjoint(bound_names(one))]
    return [one for one in found if one not in left_out] if left_out else found


def is_stub(definition: ast.AST) -> bool:
    """Return True if a definition does nothing before it raises NotImplementedError.

    Of a class, `__init__` counts.
    """
    if getattr(definition, "decorator_list", ()):
        return False
    body: list[ast.stmt] = getattr(definition, "body", [])
    if isinstance(definition, ast.ClassDef):
        makers = [node for node in body if getattr(node, "name", "") == "__init__"]
        return any(map(is_stub, makers[-1:]))
    match [line for line in body if not is_text(line) and not makes_the_base(line)]:
        case [ast.Raise(exc=ast.Name(id="NotImplementedError")), *_]:
            return True
    return False


def makes_the_base(line: ast.stmt) -> bool:
    """Return True if a line is `super().__init__()`, which stubs call before they raise."""
    match line:
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr="__init__"), args=[], keywords=[])):
            return True
    return False


def is_text(node: ast.AST) -> bool:
    """Return True if a statement is only a text, such as a docstring."""
    match node:
        case ast.Expr(value=ast.Constant(value=str())):
            return True
    return False


def is_unfinished(definition: ast.AST) -> bool:
    """Return True if a definition names NotImplementedError, also below other code."""
    names = (one.id for one in ast.walk(definition) if isinstance(one, ast.Name))
    return "NotImplementedError" in names


def first_line(statement: ast.stmt) -> int:
    """Return the line where a statement begins, decorators included."""
    decorators = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(decorator.lineno for decorator in decorators)])


def branches(statement: ast.stmt) -> list[ast.stmt]:
    """Return the statements in all branches of an `if` or a `try`; empty for other statements."""
    if isinstance(statement, ast.If):
        return [*statement.body, *statement.orelse]
    if isinstance(statement, ast.Try):
        handled = (part for handler in statement.handlers for part in handler.body)
        return [*statement.body, *handled, *statement.orelse, *statement.finalbody]
    return []


def leaves(statement: ast.stmt) -> list[ast.stmt]:
    """Return the statements in all branches of an `if` or a `try`, at any depth."""
    return [one for part in branches(statement) for one in leaves(part) or [part]]


def bound_names(statement: ast.stmt) -> list[str]:
    """Return the names that a top-level statement binds, in the branches of `if` and `try` too.

    >>> bound_names(ast.parse("import torch.nn as nn, os.path").body[0])
    ['nn', 'os']
    """
    if inside := branches(statement):
        return list(dict.fromkeys(name for part in inside for name in bound_names(part)))
    if isinstance(statement, DEFINITIONS):
        return [statement.name]
    if isinstance(statement, IMPORTS):
        return [(alias.asname or alias.name).split(".")[0] for alias in statement.names]
    targets = getattr(statement, "targets", [getattr(statement, "target", None)])
    return [target.id for target in targets if isinstance(target, ast.Name)]


def bound_by(text: str) -> dict[str, ast.stmt]:
    """Return by name the last statement of a text that binds it, outside of `if` and `try`.

    A statement in a branch counts if no other one binds its name.
    """
    found = statements(text)
    outside = {n: one for one in found if not branches(one) for n in bound_names(one)}
    inside = [(name, one) for part in found for one in leaves(part) for name in bound_names(one)]
    many = Counter(name for name, _ in inside)
    return {name: one for name, one in inside if many[name] == 1} | outside


def definitions(bound: Mapping[str, ast.stmt]) -> dict[str, ast.stmt]:
    """Return the functions and classes among the statements that bind names."""
    return {name: one for name, one in bound.items() if isinstance(one, DEFINITIONS)}
