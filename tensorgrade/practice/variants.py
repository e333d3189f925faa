"""Small changes of a learner's own definition, each with what it does on a case.

They are edits of syntax that fit any code (runner/edits.py), so nothing of a solution is needed. A
fingerprint says which known mistake an edit amounts to.
"""

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

from ..attempts.attempt import Attempt
from ..exchange.cases import Case
from ..exchange.observation import Observation
from ..recognition.fingerprints import Fingerprint
from ..recognition.imprints import Imprint
from ..recognition.signatures import Signature, imprint
from ..runner.edits import changes_of, parts
from ..runner.source import UNPARSABLE, Text
from ..runner.syntax import first_line

MOST_EDITS, AT_ONCE = 4000, 20


@dataclass(frozen=True)
class Variant:
    """A chapter's text with one edit in one definition, laid out plainly.

    line: of the edit in the learner's text; 0 if it is not known. definition: the changed
    definition alone. text: the whole chapter with it.
    """

    line: int
    definition: str
    text: str


def edits_on(
    attempt: Attempt, name: str, cases: Sequence[Case], chance: Random
) -> Iterator[list[tuple]]:
    """Yield edits of an exercise's definition in portions, each with its results on public cases.

    The order of the portions is random. Edits that raise an error or take too long on one of the
    cases are left out.
    """
    lab, program = attempt.lab, attempt.program
    count = len(changes_of(attempt.source.text, name, 0))
    portions = list(range(0, min(count, MOST_EDITS), AT_ONCE))
    chance.shuffle(portions)
    for first in portions:
        on_each = [lab.tries(program, name, 0, case, first, AT_ONCE) for case in cases]
        results = [{edit.text: seen for edit, seen in tries} for tries in on_each]
        yield [
            (edit, *(seen[edit.text] for seen in results))
            for edit, _ in on_each[0]
            if all(edit.text in seen for seen in results)
        ]


def slips_on(attempt: Attempt, name: str, case: Case) -> Iterator[tuple[str, Observation]]:
    """Yield definitions with a slip (see `slips`) and their results on a case, errors included."""
    text = attempt.source.text
    for made in slips(text, name):
        program = attempt.program.with_text(with_definition(text, name, made))
        try:
            yield made, attempt.lab.run(program, [case])[0]
        finally:
            attempt.lab.end(program)


def slips(text: str, name: str) -> Iterator[str]:
    """Yield a definition with one typical slip that `runner/edits.py` does not make.

    Those edits repair; these do what learners do wrong: stop gradients, overwrite inputs, invert a
    mask, mix up similar functions, return in another order.
    """
    node, whole, seen = definition(text, name), Text(text), {plain(text, name)}
    for function in ast.walk(node) if node else ():
        if not isinstance(function, ast.FunctionDef):
            continue
        for part in parts(function):
            for new in instead_of(part, whole):
                first, end = whole.span(part)
                edited = text[:first] + new + text[end:]
                if (made := plain(edited, name)) and made not in seen:
                    seen.add(made)
                    yield made


CONFUSED = {
    "softmax": ("log_softmax", "sigmoid", "exp"),
    "exp": ("exp2", "expm1", "softmax"),
    "sum": ("mean", "amax", "cumsum"),
    "matmul": ("mul",),
    "view": ("reshape",),
    "masked_fill": ("masked_fill_",),
    "relu": ("gelu", "tanh"),
    "gelu": ("relu", "tanh"),
    "ReLU": ("GELU", "Tanh"),
    "GELU": ("ReLU", "Tanh"),
    "argmax": ("argmin",),
    "sin": ("cos",),
    "cos": ("sin",),
    "mean": ("median", "amax"),
}
IN_PLACE = {ast.Sub: "-=", ast.Div: "/=", ast.Add: "+=", ast.Mult: "*="}


def instead_of(node: ast.expr | ast.stmt, text: Text) -> Iterator[str]:
    """Yield the texts with which slips replace a statement or an expression."""
    match node:
        case ast.Return(value=ast.Tuple(elts=[one, other])):
            yield f"return {text.of(other)}, {text.of(one)}"
            yield f"return {text.of(one)}"
            yield f"return {text.of(other)}"
        case ast.Return(value=ast.expr() as value):
            yield f"return ({text.of(value)}).detach()"
            yield f"return ({text.of(value)}).softmax(dim=-1)"
            yield f"return ({text.of(value)}).unsqueeze(-1)"
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            yield f"{name} = ({text.of(value)}).detach()"
            if isinstance(value, ast.BinOp) and type(value.op) in IN_PLACE:
                sign, left = IN_PLACE[type(value.op)], text.of(value.left)
                if isinstance(value.left, ast.Name):
                    yield f"{left} {sign} {text.of(value.right)}; {name} = {left}"
        case ast.Call():
            yield from instead_of_call(node, text)
        case ast.BinOp(op=ast.MatMult()):
            left, right = text.of(node.left), text.of(node.right)
            yield from (f"(({left}) * ({right}))", f"(({left}).mT @ ({right}))")
            yield f"(({left}) @ ({right}) / ({left}).shape[-1] ** 0.5)"
        case ast.UnaryOp(op=ast.Invert() | ast.Not() | ast.USub()):
            yield text.of(node.operand)
        case ast.Compare(ops=[ast.Gt()], left=left, comparators=[right]):
            yield f"({text.of(left)} >= {text.of(right)})"


def instead_of_call(node: ast.Call, text: Text) -> Iterator[str]:
    """Yield the texts with which slips replace a call."""
    called, arguments = node.func, [text.of(one) for one in node.args]
    more = [f"{one.arg}={text.of(one.value)}" for one in node.keywords if one.arg]
    if not isinstance(called, ast.Attribute):
        return
    owner = text.of(called.value)
    for other in CONFUSED.get(called.attr, ()):
        yield f"{owner}.{other}({', '.join(arguments + more)})"
        yield f"{owner}.{other}({', '.join(arguments[:1] if owner == 'torch' else [])})"
    if called.attr == "exp":
        value = arguments[0] if owner == "torch" and arguments else owner
        yield from (f"(2 ** ({value}))", f"torch.exp(-({value}))", f"({value}).exp_()")
    if called.attr in ("masked_fill", "masked_fill_") and len(arguments) == 2:
        mask, value = arguments
        yield f"{owner}.{called.attr}(~({mask}), {value})"
        yield f"{owner}.{called.attr}({mask}, 0)"
        yield f"{owner}.{called.attr}(({mask}).mT, {value})"
    if called.attr in ("triu", "tril") and not more and len(arguments) < 2:
        yield f"{owner}.{called.attr}({', '.join([*arguments, 'diagonal=-1'])})"
    if called.attr == "transpose" and len(arguments) == 2:
        yield from (f"{owner}.transpose({one})" for one in ("0, 1", "1, 2", "-1, -2", "1, -1"))


def is_mistake(
    attempt: Attempt, prints: list[Fingerprint], case: Case, right: Observation, seen: Observation
) -> bool:
    """Return True if a result on a case is the one that a mistake gives there.

    prints: the mistake's fingerprints, one for each form of the solution.
    """
    got = imprint_of(case, right, seen, attempt.own.signatures)
    known = [one.imprints[case.name] for one in prints if case.name in one.imprints]
    return got is not None and any(one.matches(got) for one in known)


def imprint_of(
    case: Case, right: Observation, seen: Observation, own: dict[str, Signature]
) -> Imprint | None:
    """Return the imprint of an edit's result; None if a signature of the course fails on it."""
    try:
        return imprint(case, right, seen, own)
    except Exception:  # it may fail on results that no learner returns
        return None


def variant(text: str, edited: str, name: str, line: int = 0) -> Variant | None:
    """Return an edit as a variant; None if its definition is that of the text, laid out plainly.

    Layout, comments and superfluous brackets would show the place of an edit, so they are removed.

    >>> variant("def f(x): return x / 2", "def f(x): return (x)", "f").definition
    'def f(x):\\n    return x'
    """
    before, after = plain(text, name), plain(edited, name)
    if not before or not after or before == after or is_odd(before, after):
        return None
    return Variant(line, after, with_definition(text, name, after))


ODD = (
    re.compile(r"-[-0](?![.\d])|--\d"),
    re.compile(r"\.bool\(\)"),
    re.compile(r"^.*\)\[.*\] [-+*/@]?= ", re.MULTILINE),  # assigns to a part of a new value
)


def is_odd(before: str, after: str) -> bool:
    """Return True if an edit writes what no learner writes, such as `dim=--1`.

    >>> is_odd("x.sum(dim=-1)", "x.sum(dim=--1)"), is_odd("x.sum(dim=-1)", "x.sum(dim=0)")
    (True, False)
    >>> is_odd("y[:, 0] = x", "y.exp()[:, 0] = x"), is_odd("y[f(0)] = x", "y[f(1)] = x")
    (True, False)
    """
    return any(len(odd.findall(after)) > len(odd.findall(before)) for odd in ODD)


def plain(text: str, name: str) -> str:
    """Return a definition without comments and with Python's own layout; "" if there is none."""
    node = definition(text, name)
    try:
        return ast.unparse(without_pass(node)) if node else ""
    except RecursionError:  # nested more deeply than a person writes
        return ""


def definition(text: str, name: str) -> ast.stmt | None:
    """Return the syntax of the last definition of a name in a text; None if there is none."""
    try:
        body = ast.parse(text).body
    except UNPARSABLE:
        return None
    kinds = (ast.FunctionDef, ast.ClassDef)
    return next((s for s in reversed(body) if isinstance(s, kinds) and s.name == name), None)


def without_pass(node: ast.stmt) -> ast.stmt:
    """Remove `pass` from all bodies that have another statement; return the node."""
    for one in ast.walk(node):
        body = getattr(one, "body", None)
        if isinstance(body, list) and len(body) > 1:
            one.body = [s for s in body if not isinstance(s, ast.Pass)] or body[:1]  # type: ignore[attr-defined]
    return node


def with_definition(text: str, name: str, new: str) -> str:
    """Return a text with another definition of a name in the place of its last one."""
    node = definition(text, name)
    assert node is not None, "the text defines the name"
    lines = text.split("\n")
    return "\n".join([*lines[: first_line(node) - 1], new, *lines[node.end_lineno :]])


# Functions of torch that are also methods of a tensor, with the same arguments after it.
METHODS = {"softmax", "exp", "sum", "mean", "amax", "transpose", "reshape", "masked_fill", "matmul"}


class OtherForm(ast.NodeTransformer):
    """Write the same calculation with other names and spellings."""

    def __init__(self, names: dict[str, str]):
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.AST:
        node.id = self.names.get(node.id, node.id)
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        """Write `a @ b` as a call."""
        self.generic_visit(node)
        if not isinstance(node.op, ast.MatMult):
            return node
        return ast.Call(of_torch("matmul"), [node.left, node.right], [])

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Turn `torch.f(x, …)` into `x.f(…)`, and the other way round."""
        self.generic_visit(node)
        called = node.func
        if not isinstance(called, ast.Attribute) or called.attr not in METHODS:
            return node
        if isinstance(called.value, ast.Name) and called.value.id == "torch":
            if not node.args or isinstance(node.args[0], ast.Starred):
                return node
            return ast.Call(
                ast.Attribute(node.args[0], called.attr, ast.Load()), node.args[1:], node.keywords
            )
        return ast.Call(of_torch(called.attr), [called.value, *node.args], node.keywords)


def of_torch(name: str) -> ast.expr:
    return ast.Attribute(ast.Name("torch", ast.Load()), name, ast.Load())


def in_other_form(text: str, name: str) -> str:
    """Return a text whose definition of a name is written with other names and spellings.

    >>> print(in_other_form("def f(x):\\n    y = x @ x\\n    return y.softmax(dim=-1)", "f"))
    def f(x):
        t1 = torch.matmul(x, x)
        return torch.softmax(t1, dim=-1)
    """
    node = definition(text, name)
    if node is None:
        return text
    for function in ast.walk(node):
        if isinstance(function, ast.FunctionDef):
            OtherForm(other_names(function)).generic_visit(function)
    return with_definition(text, name, ast.unparse(ast.fix_missing_locations(node)))


def other_names(function: ast.FunctionDef) -> dict[str, str]:
    """Return a new name for each local variable of a function that is no argument."""
    arguments = {one.arg for one in ast.walk(function.args) if isinstance(one, ast.arg)}
    inner = {
        one.name
        for one in ast.walk(function)
        if isinstance(one, (ast.FunctionDef, ast.ClassDef)) and one is not function
    }
    stored = [
        one.id
        for one in ast.walk(function)
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)
    ]
    own = [one for one in dict.fromkeys(stored) if one not in arguments | inner]
    return {one: f"t{number}" for number, one in enumerate(own, 1)}
