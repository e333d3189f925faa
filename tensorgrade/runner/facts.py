"""Facts that a learner's text shows on its own, before any of it has run.

In grading, only this folder parses a learner's text. It does so in the learner's own process, so
that a text that attacks the parser faces the same isolation as code.

A text that does not parse is read in pieces, so that a mistake costs one definition. The text of a
notebook marks each cell, as scripts with cells do, and each cell is a piece of its own.
"""

import ast
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from difflib import SequenceMatcher
from functools import lru_cache
from typing import NamedTuple, TypeGuard

from .source import UNPARSABLE

DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
IMPORTS = (ast.Import, ast.ImportFrom)
CELL = "# %%"  # the beginning of a line above a cell
LOOKING_UP = {"globals", "locals", "vars", "getattr", "eval", "exec", "__import__", "__globals__"}
LOOKING_UP |= {"sys", "importlib", "inspect", "gc", "operator", "builtins"}
# Functions of torch that only compute.
PURE = frozenset(
    "abs amax amin argmax bmm clamp contiguous cos cumsum div exp expand flatten gather log "
    "logsumexp masked_fill matmul mean mm mul permute pow relu repeat reshape sigmoid sin "
    "softmax sqrt squeeze sub sum swapaxes tanh tril triu transpose unsqueeze view where".split()
)
MOST_PARTS = 3000  # of a definition; more count as a rewrite
MOST_NAMES = 500  # of one exercise


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


def is_unfinished(definition: ast.AST) -> bool:
    """Return True if a definition names NotImplementedError, also below other code."""
    names = (one.id for one in ast.walk(definition) if isinstance(one, ast.Name))
    return "NotImplementedError" in names


def written(text: str) -> set[str]:
    """Return the names of functions and classes in a text that are finished.

    >>> written("def f():\\n    return 1\\ndef g():\\n    raise NotImplementedError")
    {'f'}
    """
    return {one for one, node in definitions(bound_by(text)).items() if not is_unfinished(node)}


def spans(text: str) -> list[tuple[list[str], int, int]]:
    """Return (names, first line, last line) of each statement, and of each block with an error.

    >>> spans("@d\\ndef f():\\n    pass"), spans("def f(:\\n\\ndef g(): pass")
    ([(['f'], 1, 3)], [(['f'], 1, 1), (['g'], 3, 3)])
    """
    found = [(bound_names(s), first_line(s), s.end_lineno or s.lineno) for s in statements(text)]
    for part in pieces(text):
        if part.error and (block := part.text.strip("\n")):
            first = part.above + 1 + len(part.text) - len(part.text.lstrip("\n"))
            found.append((part.names, first, first + block.count("\n")))
    return sorted(found, key=lambda span: span[1])


def parts(source: str) -> list[tuple[list[str], str]]:
    """Return (names, text) of each top-level statement or block.

    >>> parts("x = 1\\ndef f():\\n    return x")
    [(['x'], 'x = 1'), (['f'], 'def f():\\n    return x')]
    """
    lines = source.split("\n")
    return [(names, "\n".join(lines[first - 1 : last])) for names, first, last in spans(source)]


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


class Named(NamedTuple):
    """The names in one part of a text.

    read: all variables, including those that it only assigns. made: variables that it assigns, and
    parameters. elsewhere: attributes, imported names, and names looked up by `getattr`. texts: all
    texts.
    """

    read: set[str]
    made: set[str]
    elsewhere: set[str]
    texts: set[str]

    @property
    def all(self) -> set[str]:
        """Return all names but those of parameters, and all texts."""
        return self.read | self.elsewhere | self.texts


def named_in(part: ast.AST) -> Named:
    """Return the names in a part of a text's syntax tree."""
    found = Named(set(), set(), set(), set())
    for node in ast.walk(part):
        match node:
            case ast.Name(id=name, ctx=context):
                found.read.add(name)
                if isinstance(context, ast.Store):
                    found.made.add(name)
            case ast.arg(arg=name):
                found.made.add(name)
            case ast.Attribute(attr=name):
                found.elsewhere.add(name)
            case ast.alias(name=name):
                found.elsewhere.update(name.split("."))
            case ast.Constant(value=str(name)):
                found.texts.add(name)
            case ast.Call(func=ast.Name(id="getattr"), args=[_, ast.Constant(value=str(name)), *_]):
                found.elsewhere.add(name)
    return found


def foreign_names(text: str, exercises: Collection[str]) -> dict[str, list[str]]:
    """Return, for each exercise, the names in its code that are not defined in the text.

    These are built-in names, attributes, imported names with their aliases, and names looked up by
    `getattr`. Helpers of the file that the code uses are searched too, but other exercises are not.

    >>> foreign_names("from torch import exp as e\\ndef f(x):\\n    return e(x.T)", ["f"])
    {'f': ['T', 'e', 'exp']}
    """
    bound, found = bound_by(text), dict[str, list[str]]()
    own = definitions(bound)
    for name in own.keys() & set(exercises):
        parts = reached(own[name], bound, exercises)
        made = own.keys() | {one for part in parts for one in part.made}
        used = {one for part in parts for one in part.read} - made
        elsewhere = {one for part in parts for one in part.elsewhere}
        found[name] = sorted(used | elsewhere)[:MOST_NAMES]
    return found


def reached(
    definition: ast.stmt, bound: Mapping[str, ast.stmt], exercises: Collection[str]
) -> list[Named]:
    """Return the names in a definition, and in the parts of its file that it uses in any way.

    Other exercises are left out. Of an import, only the alias that is used counts.
    """
    found, left, seen = list[Named](), list[ast.AST]([definition]), set(exercises)
    while left:
        found.append(named_in(left.pop()))
        for name in (found[-1].read & bound.keys()) - seen:
            aliases = getattr(bound[name], "names", [])
            whole = (one for one in aliases if name in (one.asname, one.name))
            left.append(next(whole, bound[name]))
            seen.add(name)
    return found


def idle_lines(text: str) -> list[int]:
    """Return the lines of statements that compute a value and drop it.

    Only arithmetic and torch's own pure functions count, because other calls may do something.

    >>> idle_lines("def f(x):\\n  x / 2 ** 0.5\\n  x.exp()\\n  x.exp_()\\n  x *= 2\\n  g(x)")
    [2, 3]
    """
    return [node.lineno for node in nodes_of(text) if is_idle(node)]


def is_idle(node: ast.AST) -> TypeGuard[ast.Expr]:
    """Return True if a node is a statement that only computes a value."""
    match node:
        case ast.Expr(value=ast.BinOp()):
            return True
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr=name), keywords=options)):
            return name in PURE and all(option.arg != "out" for option in options)
    return False


def early_returns(text: str) -> list[int]:
    """Return the lines with a `return` that ends a loop in its first round.

    They are directly in the loop's block, without a `continue` above them. A line in an `if` inside
    the loop is not.

    >>> early_returns("def f(x):\\n  for y in x:\\n    return y")
    [3]
    """
    found = []
    for loop in nodes_of(text):
        for line in loop.body if isinstance(loop, (ast.For, ast.AsyncFor, ast.While)) else ():
            if any(isinstance(part, ast.Continue) for part in ast.walk(line)):
                break
            found += [line.lineno] if isinstance(line, ast.Return) else []
    return found


def nodes_of(text: str) -> Iterator[ast.AST]:
    """Yield all nodes of a text's syntax trees."""
    yield from (node for part in pieces(text) for top in part.body for node in ast.walk(top))


def definition_alone(text: str, name: str, given: str) -> list[ast.stmt]:
    """Return the statements to run if only one definition of a text counts; [] without one.

    given: the course's text, in which the learner's definition replaces the given one. From the
    rest of the learner's text, only the imports that the definition uses are retained, so that no
    other code can interfere.

    >>> text = "import math, sys\\ndef f(x): return math.exp(x)\\nprint(f(1))"
    >>> [ast.unparse(one)[:12] for one in definition_alone(text, "f", "import torch\\ndef f(x): 1")]
    ['import torch', 'import math,', 'def f(x):\\n  ']
    """
    bound = bound_by(text)
    definition = definitions(bound).get(name)
    if definition is None:
        return []
    course = [one for one in statements(given) if name not in bound_names(one)]
    return [*course, *imports_of(definition, bound), definition]


def imports_of(definition: ast.stmt, bound: Mapping[str, ast.stmt]) -> list[ast.stmt]:
    """Return the imports of a file whose names a definition reads."""
    read = named_in(definition).read
    found = (one for name, one in bound.items() if name in read and isinstance(one, IMPORTS))
    return list(dict.fromkeys(found))


def changes(text: str, bugs: Mapping[str, str]) -> dict[str, int]:
    """Return by name the number of changed parts of a find-the-bug exercise; 0 without a change.

    bugs: by name, the text with the given definition. Names that the text does not define are left
    out. Parts of the syntax tree count, so comments, docstrings, type hints and line breaks do not.

    >>> changes("def f(x):\\n    return x / 2  # halves", {"f": "def f(x): return x / 3"})
    {'f': 1}
    """
    bound, found = bound_by(text), {}
    there = definitions(bound)
    for name in bugs.keys() & there.keys():
        given = definitions(bound_by(bugs[name]))[name]
        before, after = parts_of(given), parts_of(there[name])
        whole = len(after) > MOST_PARTS or looks_up(there[name], given, bound)
        both = max(len(before), len(after))  # for a rewrite, however short the new code is
        found[name] = both if whole else differing(before, after)
    return found


def looks_up(definition: ast.stmt, given: ast.stmt, bound: Mapping[str, ast.stmt]) -> bool:
    """Return True if a definition can hide larger changes.

    That is the case if it creates code or looks up names at run time. It is also the case if it has
    more decorators than the given code, because they can return another function.
    """
    if len(getattr(definition, "decorator_list", ())) > len(getattr(given, "decorator_list", ())):
        return True
    used = (definition, *imports_of(definition, bound))
    new = set().union(*(named_in(part).all for part in used)) - named_in(given).all
    return bool(new & LOOKING_UP)


def differing(before: list[str], after: list[str]) -> int:
    """Return the number of parts that were added, removed or replaced."""
    if before == after:  # the usual case, and much faster
        return 0
    blocks = SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    return sum(max(i2 - i1, j2 - j1) for tag, i1, i2, j1, j2 in blocks if tag != "equal")


def parts_of(definition: ast.AST) -> list[str]:
    """Return a text for each node of a tree that counts, in order, for trees of any depth."""
    found, left = [], [definition]
    while left:
        node = left.pop()
        below, words = list[ast.AST](), [type(node).__name__]
        for name, value in ast.iter_fields(node):
            if isinstance(node, ast.Constant):  # not the value itself, which may be very long
                words = [type(node.value).__name__, str(hash(node.value))]
            elif isinstance(value, str | int):
                words.append(str(value))
            elif name not in ("annotation", "returns", "ctx"):
                several = value if isinstance(value, list) else [value]
                below += [one for one in several if isinstance(one, ast.AST) and not is_text(one)]
        found.append(" ".join(words))
        left += reversed(below)
    return found


def is_text(node: ast.AST) -> bool:
    """Return True if a statement is only a text, such as a docstring."""
    match node:
        case ast.Expr(value=ast.Constant(value=str())):
            return True
    return False
