"""Small edits of a definition, as learners make them by mistake."""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tensorgrade.runner.source import Text
from tensorgrade.runner.syntax import bound_by, definitions, first_line, is_text

NUMBERS = ("-2", "-1", "0", "1", "2", "3", "0.5")
COMPARISONS = (">", ">=", "<", "<=", "==", "!=")
ARGUMENTS = ("dim=-1", "keepdim=True", "diagonal=1")
# Operators, each with one to confuse it with.
OPERATORS = {
    ast.Mult: ("*", "/"),
    ast.Div: ("/", "*"),
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.MatMult: ("@", "*"),
    ast.FloorDiv: ("//", "/"),
    ast.Pow: ("**", "*"),
}
# Names of functions and attributes that learners confuse with each other.
CONFUSED = (
    ("triu", "tril"),
    ("ones", "zeros"),
    ("ones_like", "zeros_like"),
    ("rand", "randn"),
    ("sum", "mean", "amax", "max"),
    ("amin", "min", "amax", "max"),
    ("stack", "cat"),
    ("softmax", "log_softmax", "sigmoid"),
    ("log", "exp"),
    ("view", "reshape"),
    ("T", "mT", "transpose(-2, -1)"),
)
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

    line: its line. code: the edited definition. around: the file's text before and after it.
    """

    line: int
    code: str
    around: tuple[str, str]

    @property
    def text(self) -> str:
        """Return the whole file with the edit."""
        return self.code.join(self.around)


def edits(text: str, name: str) -> list[Edit]:
    """Return one edit of a definition for each resulting text that differs from the original."""
    if (node := definitions(bound_by(text)).get(name)) is None:
        return []
    whole = Text(text)
    begin, end = whole.offset(first_line(node), 0), whole.span(node)[1]
    found = {}
    for nodes, new in Definition(whole, node).replacements():
        code = whole.put([(*whole.span(one), new) for one in nodes], begin, end)
        found[code] = Edit(nodes[0].lineno, code, (text[:begin], text[end:]))
    found.pop(text[begin:end], None)
    return list(found.values())


class Definition:
    """A function or a class of the text."""

    def __init__(self, text: Text, node: ast.stmt):
        self.text = text
        walked = list(ast.walk(node))
        self.functions = [one for one in walked if isinstance(one, ast.FunctionDef)]
        own = [one for one in walked if isinstance(one, ast.Attribute) and is_self(one.value)]
        self.attributes = sorted({f"self.{one.attr}" for one in own})
        called = {one.func for one in walked if isinstance(one, ast.Call)}
        self.called = sorted({f"self.{one.attr}" for one in own if one in called})

    def replacements(self) -> Iterator[tuple[Sequence[ast.expr | ast.stmt], str]]:
        """Yield nodes, and the text to put in the place of each.

        A name or a number is replaced in one place, and in all places of a function.
        """
        for function in self.functions:
            names = names_in(function)
            uses: dict[str, list[ast.expr]] = {}
            for node in parts(function):
                if isinstance(node, ast.expr):
                    yield from (([node], new) for new in self.others(node, names))
                    uses.setdefault(self.text.of(node), []).append(node)
                elif isinstance(node, (ast.Assign, ast.AugAssign, ast.Expr)) and not is_text(node):
                    yield [node], "pass"
            for used, nodes in uses.items():
                others = NUMBERS if is_number(nodes[0]) else names if used in names else ()
                yield from ((nodes, other) for other in others if len(nodes) > 1)

    def others(self, node: ast.expr, names: list[str]) -> Iterator[str]:
        """Yield what may be in the place of an expression. names: the function's own names."""
        of = self.text.of
        match node:
            case ast.Constant() if is_number(node):
                yield from (*NUMBERS, "float('-inf')", *names)
            case ast.Compare(left=left, ops=[_], comparators=[right]):
                yield from (f"({of(left)} {sign} {of(right)})" for sign in COMPARISONS)
            case ast.Name(id=name) if name in names:
                yield from (*names, *self.attributes)
            case ast.Attribute(value=owner, attr=name):
                yield from (*self.attributes, *names) if is_self(owner) else ()
                groups = [group for group in CONFUSED if name in group]
                yield from (f"{of(owner)}.{other}" for group in groups for other in group)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS:
                sign, other = OPERATORS[type(op)]
                yield f"(({of(left)}) {other} ({of(right)}))"
                if sign in "@-/":
                    yield f"(({of(right)}) {sign} ({of(left)}))"
            case ast.Call():
                yield from self.other_calls(node)
        yield from (f"({of(part)})" for part in values_in(node))
        if isinstance(node, (ast.Name, ast.BinOp, ast.Call)) and not is_module(node):
            around = [*MISSING, *(f"{name}({{}})" for name in self.called)]
            around += [f"({{}}) / {name} ** 0.5" for name in names if name != of(node)]
            yield from (one.replace("{}", of(node)) for one in around)

    def other_calls(self, node: ast.Call) -> Iterator[str]:
        """Yield a call with two arguments swapped, one left out, or one more."""
        of = self.text.of
        arguments = [of(one) for one in node.args]
        keywords = {one.arg: f"{one.arg}={of(one.value)}" for one in node.keywords if one.arg}
        changed = [
            [*arguments, *(text for name, text in keywords.items() if name != left_out)]
            for left_out in keywords
        ]
        more = [one for one in ARGUMENTS if one.split("=")[0] not in keywords]
        changed += [[*arguments, *keywords.values(), one] for one in more]
        if len(arguments) > 1:
            changed.append([arguments[1], arguments[0], *arguments[2:], *keywords.values()])
        yield from (f"{of(node.func)}({', '.join(one)})" for one in changed)


def values_in(node: ast.expr) -> list[ast.expr]:
    """Return the values that an operation is applied to; it may be missing around each of them."""
    found: list[ast.expr] = []
    match node:
        case ast.BinOp(left=left, right=right):
            found = [left, right]
        case ast.Subscript(value=value) | ast.Attribute(value=value, attr="T" | "mT"):
            found = [value]
        case ast.Call(func=ast.Attribute(value=owner), args=arguments):
            found = [*arguments[:1], owner]
        case ast.Call(args=arguments):
            found = arguments[:1]
    return [one for one in found if not is_module(one)]


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


def is_number(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)


def is_self(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and node.id == "self"


def is_module(node: ast.expr) -> bool:
    """Return True if a node is the name of a module or `self`, so not an intermediate value."""
    return isinstance(node, ast.Name) and node.id in ("torch", "nn", "F", "math", "np", "self")
