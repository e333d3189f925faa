"""Small edits of a definition: `review` looks among them for a mistake of the learner."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeGuard

from ..runner.source import Text
from ..runner.syntax import bound_by, definitions, first_line, is_text

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
    """An edit of one definition. Its text is computed when it is needed, as there are thousands.

    line: its line. of: the definition. places: the start and end of each replaced piece, and its
    new text.
    """

    line: int
    of: "Definition"
    places: tuple[tuple[int, int, str], ...]

    @property
    def text(self) -> str:
        """Return the whole file with the edit."""
        return self.of.text.put(self.places)

    @property
    def code(self) -> str:
        """Return the edited definition alone."""
        return self.of.text.put(self.places, *self.of.span)


@lru_cache(1)  # a caller asks for them in several portions
def edits(text: str, name: str) -> list[Edit]:
    """Return one edit of a definition for each resulting text that differs from the original."""
    if (node := definitions(bound_by(text)).get(name)) is None:
        return []
    definition = Definition(Text(text), node)
    different = {hash(edit.code): edit for edit in definition.edits()}  # texts would fill memory
    begin, end = definition.span
    different.pop(hash(text[begin:end]), None)
    return list(different.values())


class Definition:
    """A function or a class of the text. span: its first and last character, with decorators."""

    def __init__(self, text: Text, node: ast.stmt):
        self.text, self.node = text, node
        self.span = text.offset(first_line(node), 0), text.span(node)[1]
        walked = list(ast.walk(node))
        self.functions = [one for one in walked if isinstance(one, ast.FunctionDef)]
        own = [one for one in walked if isinstance(one, ast.Attribute) and is_self(one.value)]
        self.attributes = sorted({one.attr for one in own})
        called = {one.func for one in walked if isinstance(one, ast.Call)}
        self.called = {one.attr for one in own if one in called}

    def edits(self) -> Iterator[Edit]:
        """Yield all single edits, and edits of a name or a number in all its places."""
        for function in self.functions:
            names = names_in(function)
            for node in parts(function):
                if isinstance(node, ast.expr):
                    yield from self.of_expression(node, names)
                elif isinstance(node, (ast.Assign, ast.AugAssign, ast.Expr)) and not is_text(node):
                    yield self.edit("pass", node)
            yield from self.everywhere(function, names)

    def edit(self, new: str, *nodes: ast.expr | ast.stmt) -> Edit:
        """Return the edit that writes the same text in the place of these nodes."""
        places = ((*self.text.span(node), new) for node in nodes)
        return Edit(nodes[0].lineno, self, tuple(places))

    def of_expression(self, node: ast.expr, names: list[str]) -> Iterator[Edit]:
        """Yield all replacements of an expression."""
        of = self.text.of
        match node:
            case ast.Constant() if is_number(node):
                for other in (*NUMBERS, "float('-inf')", *names):
                    yield self.edit(other, node)
            case ast.Compare(left=left, ops=[_], comparators=[right]):
                for sign in COMPARISONS:
                    yield self.edit(f"({of(left)} {sign} {of(right)})", node)
            case ast.Name(id=name) if name in names:
                for other in [*names, *(f"self.{own}" for own in self.attributes)]:
                    yield self.edit(other, node)
            case ast.Subscript(value=value):
                yield self.edit(of(value), node)
            case ast.BinOp():
                yield from self.of_operation(node)
            case ast.Attribute():
                yield from self.of_attribute(node, names)
            case ast.Call():
                yield from self.of_call(node)
        if isinstance(node, (ast.Name, ast.BinOp, ast.Call)) and not is_module(node):
            yield from self.around(node, names)

    def of_operation(self, node: ast.BinOp) -> Iterator[Edit]:
        left, right = self.text.of(node.left), self.text.of(node.right)
        sign = {ast.MatMult: "@", ast.Sub: "-", ast.Div: "/"}.get(type(node.op))
        if sign:
            yield self.edit(f"(({right}) {sign} ({left}))", node)
        if type(node.op) in OPERATORS:
            new = f"(({left}) {OPERATORS[type(node.op)]} ({right}))"
            yield self.edit(new, node)
        for part in (left, right):
            yield self.edit(f"({part})", node)

    def of_attribute(self, node: ast.Attribute, names: list[str]) -> Iterator[Edit]:
        if is_self(node.value) and isinstance(node.ctx, ast.Load):
            others = [f"self.{name}" for name in self.attributes]
            for other in [*others, *names]:
                yield self.edit(other, node)
        for other in SIBLINGS.get(node.attr, ()):
            yield self.edit(f"{self.text.of(node.value)}.{other}", node)
        if node.attr in ("T", "mT"):
            owner = self.text.of(node.value)
            yield self.edit(f"({owner}).transpose(-2, -1)", node)
            yield self.edit(f"({owner})", node)

    def of_call(self, node: ast.Call) -> Iterator[Edit]:
        called = self.text.of(node.func)
        arguments = [self.text.of(argument) for argument in node.args]
        keywords = [f"{k.arg}={self.text.of(k.value)}" for k in node.keywords if k.arg]
        if len(arguments) > 1:
            turned = [arguments[1], arguments[0], *arguments[2:]]
            new = f"{called}({', '.join(turned + keywords)})"
            yield self.edit(new, node)
        for at in range(len(keywords)):
            left = keywords[:at] + keywords[at + 1 :]
            yield self.edit(f"{called}({', '.join(arguments + left)})", node)
        for more in ("dim=-1", "keepdim=True", "diagonal=1"):
            if not any(word.split("=")[0] == more.split("=")[0] for word in keywords):
                new = f"{called}({', '.join([*arguments, *keywords, more])})"
                yield self.edit(new, node)
        if arguments:
            yield self.edit(f"({arguments[0]})", node)
        if isinstance(node.func, ast.Attribute) and not is_module(node.func.value):
            yield self.edit(f"({self.text.of(node.func.value)})", node)

    def around(self, node: ast.expr, names: list[str]) -> Iterator[Edit]:
        """Yield changes that add a missing operation around a value."""
        value = self.text.of(node)
        wraps = [*MISSING, *(f"self.{name}({{}})" for name in sorted(self.called))]
        wraps += [f"({{}}) / {name} ** 0.5" for name in names if name != value]
        for wrap in wraps:
            yield self.edit(wrap.replace("{}", value), node)

    def everywhere(self, function: ast.FunctionDef, names: list[str]) -> Iterator[Edit]:
        """Yield changes of all uses of a number, or of a name, in one function."""
        uses: dict[str, list[ast.expr]] = {}
        for node in parts(function):
            if is_number(node) or (isinstance(node, ast.Name) and node.id in names):
                uses.setdefault(self.text.of(node), []).append(node)
        for nodes in uses.values():
            for other in (NUMBERS if is_number(nodes[0]) else names) if len(nodes) > 1 else ():
                yield self.edit(other, *nodes)


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
