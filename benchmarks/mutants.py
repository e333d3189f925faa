"""Generated mistakes: rules make one small edit in the text of a solution."""

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from random import Random

from tensorgrade.author.reaching import DEFINITIONS, reached
from tensorgrade.runner.edits import is_self


@dataclass(frozen=True)
class Mutant:
    """A solution with one edit.

    operator: the rule that made it. lines: first and last line of the edited piece. before, after:
    the piece before and after the edit. source: the chapter's text with the edit.
    """

    operator: str
    lines: tuple[int, int]
    before: str
    after: str
    source: str

    def __str__(self) -> str:
        """Return a description like `solution, line 12, numbers: -1 → 0`."""
        said = f"{self.before} → {self.after}"
        return f"solution, line {self.lines[0]}, {self.operator}: {' '.join(said.split())}"


@dataclass(frozen=True)
class Site:
    """A piece of syntax that may be edited, with its context.

    names: the names that the function around it binds. own: the attributes that its class sets on
    `self`.
    """

    node: ast.expr | ast.stmt
    parent: ast.AST
    names: tuple[str, ...]
    own: tuple[str, ...]

    def of(self, node: ast.AST) -> str:
        """Return the text of a part, in parentheses unless it is a name or a plain number."""
        written = ast.unparse(node)
        return written if re.fullmatch(r"[\w.]+", written) else f"({written})"


# A rule: it yields the texts that may replace a site.
Operator = Callable[[Site], Iterator[str]]
OPERATORS: dict[str, Operator] = {}


def operator(rule: Operator) -> Operator:
    """Add a rule under its name."""
    OPERATORS[rule.__name__] = rule
    return rule


def mutants(text: str, exercise: str, others: set[str]) -> list[Mutant]:
    """Return all mutants of an exercise. others: the other exercises, which are not edited."""
    lines = Lines(text)
    found: dict[str, Mutant] = {}
    module = ast.parse(text)
    for statement in reached(module, [exercise]):
        is_import = isinstance(statement, (ast.Import, ast.ImportFrom))
        if is_import or getattr(statement, "name", None) in others:
            continue
        for name, node, new in edits(statement):
            source, before = lines.replaced(node, new)
            place = node.lineno, node.end_lineno or node.lineno
            found.setdefault(source, Mutant(name, place, before, new, source))
    found.pop(text, None)
    return [*found.values()]


def sample(all_of_them: list[Mutant], count: int, seed: int) -> list[Mutant]:
    """Return a number of mutants that compile, the same ones for the same seed.

    The operators take turns, so that frequent operators do not crowd out the others.
    """
    chance = Random(seed)
    by_operator: dict[str, list[Mutant]] = {}
    for mutant in all_of_them:
        by_operator.setdefault(mutant.operator, []).append(mutant)
    for group in by_operator.values():
        chance.shuffle(group)
    drawn: list[Mutant] = []
    while len(drawn) < count and any(by_operator.values()):
        for group in filter(None, by_operator.values()):
            drawn += [mutant] if compiles(mutant := group.pop()) else []
    return drawn[:count]


def compiles(mutant: Mutant) -> bool:
    """Return True if the text compiles."""
    try:
        compile(mutant.source, "mutant", "exec", dont_inherit=True)
    except SyntaxError:
        return False
    return True


class Lines:
    """A text in which syntax can be replaced. Its columns are counted in bytes."""

    def __init__(self, text: str):
        self.text = text.encode()
        self.starts = [0]
        for line in self.text.split(b"\n"):
            self.starts.append(self.starts[-1] + len(line) + 1)

    def replaced(self, node: ast.expr | ast.stmt, new: str) -> tuple[str, str]:
        """Replace a node; return the new text and the piece that it replaced."""
        first, last = self.span(node)
        text = self.text[:first] + new.encode() + self.text[last:]
        return text.decode(), self.text[first:last].decode()

    def span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        """Return the start and the end of a node in bytes."""
        assert node.end_lineno and node.end_col_offset, "parsed syntax knows its place"
        first = self.starts[node.lineno - 1] + node.col_offset
        return first, self.starts[node.end_lineno - 1] + node.end_col_offset


def edits(statement: ast.stmt) -> Iterator[tuple[str, ast.expr | ast.stmt, str]]:
    """Yield (operator, node, replacement) for each edit of a top-level statement."""
    for site in sites(statement, statement, (), attributes_of(statement)):
        for name, rule in OPERATORS.items():
            for new in rule(site):
                yield name, site.node, new
    for body in bodies(statement):
        for one, other in pairwise(body):
            both = ast.Expr(ast.Constant(None), lineno=one.lineno, col_offset=one.col_offset)
            both.end_lineno, both.end_col_offset = other.end_lineno, other.end_col_offset
            text = f"{ast.unparse(other)}\n{ast.unparse(one)}"
            yield "statements_swapped", both, text.replace("\n", "\n" + " " * one.col_offset)


def bodies(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    """Yield the bodies of functions, loops, if and with statements, without docstrings."""
    for function in ast.walk(statement):
        if isinstance(function, (ast.FunctionDef, ast.For, ast.If, ast.With)):
            yield [s for s in function.body if not is_docstring(s)]


def sites(
    node: ast.AST, parent: ast.AST, names: tuple[str, ...], own: tuple[str, ...]
) -> Iterator[Site]:
    """Yield the places in a node that may be edited.

    Only code is edited: no types, messages, docstrings or decorators.
    """
    if isinstance(node, (ast.expr, ast.stmt)) and not isinstance(node, DEFINITIONS):
        yield Site(node, parent, names, own)
    if isinstance(node, (ast.FunctionDef, ast.Lambda)):
        names = (*names, *names_in(node))
    for part in parts(node):
        yield from sites(part, node, names, own)


def parts(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the parts of a node that may be edited."""
    if isinstance(node, (ast.JoinedStr, ast.Raise)):
        return
    left_out: set[ast.AST] = {n for n in [getattr(node, "returns", None)] if n}
    left_out |= {*getattr(node, "decorator_list", ()), *getattr(node, "bases", ())}
    left_out |= {n for n in [getattr(node, "annotation", None), getattr(node, "msg", None)] if n}
    for part in ast.iter_child_nodes(node):
        if part not in left_out and not is_docstring(part):
            yield part


def is_docstring(node: ast.AST) -> bool:
    """Return True if a statement is an unused constant, such as a docstring."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def names_in(function: ast.FunctionDef | ast.Lambda) -> tuple[str, ...]:
    """Return the arguments of a function and the names that it binds."""
    arguments = [a.arg for a in function.args.args if a.arg != "self"]
    inner = {
        id(n)
        for c in ast.walk(function)
        if isinstance(c, ast.comprehension)
        for n in ast.walk(c.target)
    }
    bound = [
        n.id
        for n in ast.walk(function)
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store) and id(n) not in inner
    ]
    return tuple(dict.fromkeys(arguments + bound))


REGISTERS = {"register_buffer", "register_parameter", "add_module"}


def attributes_of(statement: ast.stmt) -> tuple[str, ...]:
    """Return the attributes that a class's code sets on `self`."""
    found = []
    for node in ast.walk(statement):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            found += [node.attr] if is_self(node.value) else []
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") in REGISTERS:
            found += [str(a.value) for a in node.args[:1] if isinstance(a, ast.Constant)]
    return tuple(dict.fromkeys(found))


def number_of(node: ast.AST) -> float | None:
    """Return the value of a number literal, with its sign, or None for other syntax."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = number_of(node.operand)
        return None if inner is None else -inner
    value = node.value if isinstance(node, ast.Constant) else None
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


@operator
def numbers(site: Site) -> Iterator[str]:
    """Replace a number by one more, one less, zero, twice as much, or its negative."""
    number = number_of(site.node)
    if number is not None and number_of(site.parent) is None:
        others = dict.fromkeys([number + 1, number - 1, 0 * number, 2 * number, -number])
        yield from (f"({o!r})" if o < 0 else repr(abs(o)) for o in others if o != number)


SYMBOLS = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.MatMult: "@",
    ast.BitAnd: "&",
    ast.BitOr: "|",
}
INSTEAD = {
    "+": "- *",
    "-": "+",
    "*": "/ +",
    "/": "* // -",
    "//": "/ *",
    "%": "//",
    "**": "* /",
    "@": "*",
    "&": "|",
    "|": "&",
}


@operator
def arithmetic(site: Site) -> Iterator[str]:
    """Replace an operation by another one."""
    node = site.node
    if not isinstance(node, (ast.BinOp, ast.AugAssign)):
        return
    for other in INSTEAD.get(SYMBOLS.get(type(node.op), ""), "").split():
        if isinstance(node, ast.BinOp):
            yield f"({site.of(node.left)} {other} {site.of(node.right)})"
        else:
            yield f"{ast.unparse(node.target)} {other}= {ast.unparse(node.value)}"


COMPARISONS = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
}


@operator
def comparisons(site: Site) -> Iterator[str]:
    """Replace a comparison by another one."""
    node = site.node
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        for kind, symbol in COMPARISONS.items():
            if type(node.ops[0]) in COMPARISONS and kind is not type(node.ops[0]):
                yield f"({site.of(node.left)} {symbol} {site.of(node.comparators[0])})"


@operator
def operands(site: Site) -> Iterator[str]:
    """Swap the two sides of an operation, or keep one of them alone."""
    node = site.node
    if isinstance(node, ast.BinOp):
        left, right = site.of(node.left), site.of(node.right)
        yield from (left, right)
        if not isinstance(node.op, (ast.Add, ast.Mult)):
            yield f"({right} {SYMBOLS.get(type(node.op), '-')} {left})"


@operator
def names(site: Site) -> Iterator[str]:
    """Replace a name by another one that the function binds."""
    if is_known(site):
        yield from (name for name in site.names if name != ast.unparse(site.node))


@operator
def one_off(site: Site) -> Iterator[str]:
    """Add or subtract one from a name that is an argument or the end of a slice."""
    node = site.node
    handed_on = isinstance(site.parent, (ast.Call, ast.Slice))
    if is_known(site) and handed_on and getattr(site.parent, "func", None) is not node:
        yield from (f"({ast.unparse(node)} + 1)", f"({ast.unparse(node)} - 1)")


def is_known(site: Site) -> bool:
    """Return True if a site reads a name that the function binds."""
    node = site.node
    if not isinstance(node, ast.Name) or not isinstance(node.ctx, ast.Load):
        return False
    return node.id in site.names


@operator
def attributes(site: Site) -> Iterator[str]:
    """Replace an attribute of `self` by another one."""
    node = site.node
    if not isinstance(node, ast.Attribute) or not isinstance(node.ctx, ast.Load):
        return
    if is_self(node.value) and node.attr in site.own:
        yield from (f"self.{name}" for name in site.own if name != node.attr)


@operator
def arguments(site: Site) -> Iterator[str]:
    """Swap neighbouring arguments, or leave one argument out."""
    node = site.node
    if not isinstance(node, ast.Call):
        return
    given, named = [*map(ast.unparse, node.args)], [*map(ast.unparse, node.keywords)]
    for at in range(len(given)):
        yield called(node, [*given[:at], *given[at + 1 :]], named)
    for at in range(1, len(given)):
        swapped = [*given[: at - 1], given[at], given[at - 1], *given[at + 1 :]]
        yield called(node, swapped, named)
    for at in range(len(named)):
        yield called(node, given, [*named[:at], *named[at + 1 :]])


def called(node: ast.Call, given: list[str], named: list[str]) -> str:
    """Return a call with other arguments."""
    return f"{ast.unparse(node.func)}({', '.join([*given, *named])})"


@operator
def booleans(site: Site) -> Iterator[str]:
    """Negate a bool, negate a condition, or make a condition constant."""
    node, parent = site.node, site.parent
    if isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield str(not node.value)
    elif getattr(parent, "test", None) is node:
        yield from (f"(not {site.of(node)})", "True", "False")


MODULES = {"torch", "nn", "F", "math", "np", "functional"}


@operator
def unwrapped(site: Site) -> Iterator[str]:
    """Replace a call by its first argument or its receiver, or drop a transpose."""
    node = site.node
    if isinstance(node, ast.Attribute) and node.attr in ("T", "mT"):
        yield site.of(node.value)
    if not isinstance(node, ast.Call):
        return
    if node.args and not isinstance(node.args[0], (ast.Starred, ast.GeneratorExp)):
        yield site.of(node.args[0])
    receiver = node.func.value if isinstance(node.func, ast.Attribute) else None
    if receiver is not None and not MODULES & {ast.unparse(receiver).split(".")[0], "self"}:
        yield site.of(receiver)


@operator
def signs(site: Site) -> Iterator[str]:
    """Drop a sign, a `not` or a `~`."""
    if isinstance(site.node, ast.UnaryOp):
        yield site.of(site.node.operand)


@operator
def results(site: Site) -> Iterator[str]:
    """Negate or detach one returned value, or return that value alone."""
    value = site.node.value if isinstance(site.node, ast.Return) else None
    every = value.elts if isinstance(value, ast.Tuple) else [value] if value else []
    texts = [*map(ast.unparse, every)]
    for at, part in enumerate(every):
        for new in (f"-{site.of(part)}", f"{site.of(part)}.detach()"):
            yield f"return {', '.join([*texts[:at], new, *texts[at + 1 :]])}"
        if len(every) > 1:
            yield f"return {texts[at]}"


@operator
def squeezed(site: Site) -> Iterator[str]:
    """Squeeze a returned value: all axes of size one, or only the first or the last."""
    value = site.node.value if isinstance(site.node, ast.Return) else None
    every = value.elts if isinstance(value, ast.Tuple) else [value] if value else []
    texts = [*map(ast.unparse, every)]
    for at, part in enumerate(every):
        for axis in ("", "0", "-1"):
            new = f"{site.of(part)}.squeeze({axis})"
            yield f"return {', '.join([*texts[:at], new, *texts[at + 1 :]])}"


@operator
def cuts(site: Site) -> Iterator[str]:
    """Drop a subscript, leave one end of a slice open, or begin a slice one later."""
    node = site.node
    if not isinstance(node, ast.Subscript) or not isinstance(node.ctx, ast.Load):
        return
    yield site.of(node.value)
    whole = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    for at, part in enumerate(whole):
        for open_one in opened(part):
            every = [*map(ast.unparse, whole[:at]), open_one, *map(ast.unparse, whole[at + 1 :])]
            yield f"{site.of(node.value)}[{', '.join(every)}]"


def opened(part: ast.expr) -> Iterator[str]:
    """Yield a slice with one end left open, or beginning one later."""
    if isinstance(part, ast.Slice):
        lower, upper = (ast.unparse(end) if end else "" for end in (part.lower, part.upper))
        yield from [f":{upper}"] * bool(lower) + [f"{lower}:"] * bool(upper)
        yield f"{lower or 0} + 1:{upper}"


IN_PLACE = {"masked_fill", "exp", "div", "mul", "add", "sub", "clamp", "copy", "fill"}


@operator
def in_place(site: Site) -> Iterator[str]:
    """Make an operation work in place, stop it from doing so, or discard its result."""
    node = site.node
    if isinstance(node, ast.Attribute) and getattr(site.parent, "func", None) is node:
        if node.attr.endswith("_") and not node.attr.startswith("_"):
            yield f"{site.of(node.value)}.{node.attr[:-1]}"
        elif node.attr in IN_PLACE and ast.unparse(node.value) not in MODULES:
            yield f"{site.of(node.value)}.{node.attr}_"
    if isinstance(node, ast.AugAssign):
        symbol = SYMBOLS.get(type(node.op), "+")
        yield f"{ast.unparse(node.target)} {symbol} {ast.unparse(node.value)}"
    if isinstance(node, ast.Assign) and isinstance(node.value, (ast.Call, ast.BinOp)):
        used = {n.id for n in ast.walk(node.value) if isinstance(n, ast.Name)}
        if ast.unparse(node.targets[0]) in used:
            yield ast.unparse(node.value)


FAMILIES = (
    "triu tril",
    "sum mean amax prod",
    "amax amin mean",
    "max min",
    "softmax log_softmax sigmoid",
    "zeros ones rand",
    "zeros_like ones_like rand_like",
    "rand_like randn_like",
    "rand randn zeros",
    "exp expm1 exp2",
    "cat stack",
    "ModuleList Sequential",
    "Dropout Dropout1d AlphaDropout Identity",
    "shape dtype",
    "in_features out_features",
    "reshape view",
    "chunk split",
    "T mT",
    "flatten ravel",
    "sqrt square",
    "matmul mul",
    "bool float",
    "where mul",
    "unbind flip",
)


@operator
def siblings(site: Site) -> Iterator[str]:
    """Replace a method or function by another one of the same family."""
    node = site.node
    if isinstance(node, ast.Attribute) and not is_self(node.value):
        others = [f.split() for f in FAMILIES if node.attr in f.split()]
        for other in dict.fromkeys(name for family in others for name in family):
            if other != node.attr:
                yield f"{site.of(node.value)}.{other}"


@operator
def registered(site: Site) -> Iterator[str]:
    """Replace a registered buffer or parameter by a plain attribute, or a ModuleList by a list."""
    node = site.node
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return
    if node.func.attr in REGISTERS and is_self(node.func.value) and len(node.args) > 1:
        yield f"setattr({', '.join(['self', *map(ast.unparse, node.args[:2])])})"
    if node.func.attr == "ModuleList" and node.args:
        yield f"list({ast.unparse(node.args[0])})"


@operator
def loops(site: Site) -> Iterator[str]:
    """Drop the first or the last round of a loop, or reverse the rounds."""
    node, parent = site.node, site.parent
    if isinstance(parent, (ast.For, ast.comprehension)) and parent.iter is node:
        yield from (f"list({ast.unparse(node)}){cut}" for cut in ("[1:]", "[:-1]", "[::-1]"))


@operator
def equations(site: Site) -> Iterator[str]:
    """Swap two adjacent letters in the equation of an einsum."""
    value = getattr(site.node, "value", None) if isinstance(site.node, ast.Constant) else None
    if isinstance(value, str) and "->" in value:
        for at, (one, other) in enumerate(pairwise(value)):
            if one.isalpha() and other.isalpha() and one != other:
                yield repr(value[:at] + other + one + value[at + 2 :])


@operator
def statements(site: Site) -> Iterator[str]:
    """Leave a statement out."""
    inside = isinstance(site.parent, (ast.FunctionDef, ast.For, ast.If, ast.With))
    if inside and isinstance(site.node, ast.stmt) and not isinstance(site.node, ast.Pass):
        yield "pass"
