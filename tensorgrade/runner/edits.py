"""Small edits of a learner's definition, one of which may fix it.

They are computed from its text in the learner's process, where parsing the text is safe.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeGuard

from .source import Text
from .syntax import first_line, is_text, statements

NUMBERS = ("-2", "-1", "0", "1", "2", "3", "0.5")
OPERATORS = {
    ast.Mult: "/",
    ast.Div: "*",
    ast.Add: "-",
    ast.Sub: "+",
    ast.MatMult: "*",
    ast.FloorDiv: "/",
    ast.Pow: "*",
}
SIBLINGS = {
    "triu": ("tril",),
    "tril": ("triu",),
    "ones": ("zeros",),
    "zeros": ("ones",),
    "ones_like": ("zeros_like",),
    "zeros_like": ("ones_like",),
    "rand": ("randn",),
    "randn": ("rand",),
    "sum": ("mean", "amax"),
    "mean": ("sum",),
    "max": ("sum",),
    "min": ("max",),
    "amin": ("amax",),
    "stack": ("cat",),
    "log_softmax": ("softmax",),
    "sigmoid": ("softmax",),
    "log": ("exp",),
    "view": ("reshape",),
}
COMPARISONS = (">", ">=", "<", "<=", "==", "!=")
# Operations that may be missing around a value. The value is put in the place of {}.
MISSING = (
    "({}).transpose(-2, -1)",
    "({}).transpose(1, 2)",
    "torch.softmax({}, dim=-1)",
    "({}) / ({}).shape[-1] ** 0.5",
    "({}) ** 0.5",
    "torch.exp({})",
    "({}).clone()",
    "({}).bool()",
)


@dataclass(frozen=True)
class Edit:
    """An edit of one definition.

    line: its line. text: the whole file with the edit. above, below: the number of lines above and
    below the edited definition.
    """

    line: int
    text: str
    above: int = 0
    below: int = 0

    @property
    def definition(self) -> str:
        """Return the definition alone, on the same lines as in the file."""
        lines = self.text.split("\n")
        return "\n" * self.above + "\n".join(lines[self.above : len(lines) - self.below])


@dataclass(frozen=True)
class Change:
    """An edit whose full text is not computed yet, because there are thousands and few are tried.

    word: True if it replaces a name or a number. places: the start and end of each replaced piece,
    and its new text.
    """

    line: int
    word: bool
    places: list[tuple[int, int, str]]


def edits(text: str, name: str, line: int, first: int = 0, most: int | None = None) -> list[Edit]:
    """Return edits of the definition that contains a line, otherwise of the one of that name.

    Edits on that line come first, then those close to it.
    first, most: the portion to return, because the texts of all edits of a large file would fill
    the memory.
    """
    if (node := definition_of(text, name, line)) is None:
        return []
    made, whole = changes_of(text, name, line), Text(text)
    chosen = made[first:] if most is None else made[first : first + most]
    above, below = first_line(node) - 1, len(whole.lines) - (node.end_lineno or 0)
    return [Edit(one.line, whole.put(one.places), above, below) for one in chosen]


def definition_of(text: str, name: str, line: int) -> ast.stmt | None:
    """Return the definition that contains a line, otherwise the one of that name that counts.

    None if there is neither.
    """
    body = statements(text)
    found = [node for node in body if holds(node, line)] if line else []
    named = [node for node in body if getattr(node, "name", None) == name]
    return next(reversed(found or named), None)


@lru_cache(1)
def changes_of(text: str, name: str, line: int) -> list[Change]:
    """Return all changes of the definition (see `definition_of`), the most promising first.

    They are cached, because a caller requests them in several portions.
    """
    node = definition_of(text, name, line)
    made = Definition(Text(text), node).different() if node else []
    return sorted(made, key=lambda change: distance_key(change, line)) if line else made


def distance_key(edit: Change, line: int) -> tuple[int, bool, int]:
    """Return a sort key: the line itself first, then its neighbours, then names and numbers."""
    away = abs(edit.line - line)
    return min(away, 2), away > 1 and not edit.word, away


def holds(node: ast.stmt, line: int) -> bool:
    """Return True if a line belongs to a definition."""
    definition = isinstance(node, (ast.FunctionDef, ast.ClassDef))
    return definition and node.lineno <= line <= (node.end_lineno or 0)


class Definition:
    """A function or a class of the text."""

    def __init__(self, text: Text, node: ast.stmt):
        self.text, self.node = text, node
        walked = list(ast.walk(node))
        self.functions = [one for one in walked if isinstance(one, ast.FunctionDef)]
        own = [one for one in walked if isinstance(one, ast.Attribute) and is_self(one.value)]
        self.attributes = sorted({one.attr for one in own})
        called = {one.func for one in walked if isinstance(one, ast.Call)}
        self.called = {one.attr for one in own if one in called}

    def different(self) -> list[Change]:
        """Return one change for each resulting text that differs from the original."""
        begin, end = self.text.span(self.node)
        seen, found = {hash(self.text.text[begin:end])}, []
        for change in self.changes():
            result = hash(self.text.put(change.places, begin, end))  # texts would fill the memory
            if result not in seen:
                seen.add(result)
                found.append(change)
        return found

    def changes(self) -> Iterator[Change]:
        """Yield all single edits, and edits of a name or a number in all its places."""
        for function in self.functions:
            names = names_in(function)
            for node in parts(function):
                if isinstance(node, ast.expr):
                    yield from self.of_expression(node, names)
                elif isinstance(node, (ast.Assign, ast.AugAssign, ast.Expr)) and not is_text(node):
                    yield self.edit(node, "pass")
            yield from self.everywhere(function, names)

    def edit(self, node: ast.expr | ast.stmt, new: str, word: bool = False) -> Change:
        return Change(node.lineno, word, [(*self.text.span(node), new)])

    def of_expression(self, node: ast.expr, names: list[str]) -> Iterator[Change]:
        """Yield all replacements of an expression."""
        of = self.text.of
        match node:
            case ast.Constant() if is_number(node):
                for other in (*NUMBERS, "float('-inf')", *names):
                    yield self.edit(node, other, word=True)
            case ast.Compare(left=left, ops=[_], comparators=[right]):
                for sign in COMPARISONS:
                    yield self.edit(node, f"({of(left)} {sign} {of(right)})")
            case ast.Name(id=name) if name in names:
                for other in [*names, *(f"self.{own}" for own in self.attributes)]:
                    yield self.edit(node, other, word=True)
            case ast.Subscript(value=value):
                yield self.edit(node, of(value))
            case ast.BinOp():
                yield from self.of_operation(node)
            case ast.Attribute():
                yield from self.of_attribute(node, names)
            case ast.Call():
                yield from self.of_call(node)
        if isinstance(node, (ast.Name, ast.BinOp, ast.Call)) and not is_module(node):
            yield from self.around(node, names)

    def of_operation(self, node: ast.BinOp) -> Iterator[Change]:
        left, right = self.text.of(node.left), self.text.of(node.right)
        sign = {ast.MatMult: "@", ast.Sub: "-", ast.Div: "/"}.get(type(node.op))
        if sign:
            yield self.edit(node, f"(({right}) {sign} ({left}))")
        if type(node.op) in OPERATORS:
            new = f"(({left}) {OPERATORS[type(node.op)]} ({right}))"
            yield self.edit(node, new)
        for part in (left, right):
            yield self.edit(node, f"({part})")

    def of_attribute(self, node: ast.Attribute, names: list[str]) -> Iterator[Change]:
        if is_self(node.value) and isinstance(node.ctx, ast.Load):
            others = [f"self.{name}" for name in self.attributes]
            for other in [*others, *names]:
                yield self.edit(node, other, word=True)
        for other in SIBLINGS.get(node.attr, ()):
            yield self.edit(node, f"{self.text.of(node.value)}.{other}", word=True)
        if node.attr in ("T", "mT"):
            owner = self.text.of(node.value)
            yield self.edit(node, f"({owner}).transpose(-2, -1)", word=True)
            yield self.edit(node, f"({owner})", word=True)

    def of_call(self, node: ast.Call) -> Iterator[Change]:
        called = self.text.of(node.func)
        arguments = [self.text.of(argument) for argument in node.args]
        keywords = [f"{k.arg}={self.text.of(k.value)}" for k in node.keywords if k.arg]
        if len(arguments) > 1:
            turned = [arguments[1], arguments[0], *arguments[2:]]
            new = f"{called}({', '.join(turned + keywords)})"
            yield self.edit(node, new)
        for at in range(len(keywords)):
            left = keywords[:at] + keywords[at + 1 :]
            yield self.edit(node, f"{called}({', '.join(arguments + left)})")
        for more in ("dim=-1", "keepdim=True", "diagonal=1"):
            if not any(word.split("=")[0] == more.split("=")[0] for word in keywords):
                new = f"{called}({', '.join([*arguments, *keywords, more])})"
                yield self.edit(node, new)
        if arguments:
            yield self.edit(node, f"({arguments[0]})")
        if isinstance(node.func, ast.Attribute) and not is_module(node.func.value):
            yield self.edit(node, f"({self.text.of(node.func.value)})")

    def around(self, node: ast.expr, names: list[str]) -> Iterator[Change]:
        """Yield changes that add a missing operation around a value."""
        value = self.text.of(node)
        wraps = [*MISSING, *(f"self.{name}({{}})" for name in sorted(self.called))]
        wraps += [f"({{}}) / {name} ** 0.5" for name in names if name != value]
        for wrap in wraps:
            yield self.edit(node, wrap.replace("{}", value))

    def everywhere(self, function: ast.FunctionDef, names: list[str]) -> Iterator[Change]:
        """Yield changes of all uses of a number, or of a name, in one function."""
        uses: dict[str, list[ast.expr]] = {}
        for node in parts(function):
            if is_number(node) or (isinstance(node, ast.Name) and node.id in names):
                uses.setdefault(self.text.of(node), []).append(node)
        for nodes in uses.values():
            for other in (NUMBERS if is_number(nodes[0]) else names) if len(nodes) > 1 else ():
                places = [(*self.text.span(node), other) for node in nodes]
                yield Change(nodes[0].lineno, True, places)


def parts(function: ast.FunctionDef) -> Iterator[ast.expr | ast.stmt]:
    """Yield the statements and expressions in a function's body that can be replaced."""
    for statement in function.body:
        for node in ast.walk(statement):
            if isinstance(node, (ast.JoinedStr, ast.FormattedValue)):
                continue
            stored = isinstance(getattr(node, "ctx", None), (ast.Store, ast.Del))
            if isinstance(node, (ast.stmt, ast.expr)) and not stored:
                yield node


def names_in(function: ast.FunctionDef) -> list[str]:
    """Return a function's arguments and local names."""
    arguments = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    names = [argument.arg for argument in arguments if argument.arg != "self"]
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id not in names:
            names.append(node.id)
    return names


def is_number(node: ast.AST) -> TypeGuard[ast.Constant]:
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)


def is_self(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and node.id == "self"


def is_module(node: ast.expr) -> bool:
    """Return True if a node is the name of a module or `self`, so not an intermediate value."""
    return isinstance(node, ast.Name) and node.id in ("torch", "nn", "F", "math", "np", "self")
