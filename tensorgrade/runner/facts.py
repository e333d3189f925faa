"""Facts that a learner's text shows on its own, before any of it has run."""

import ast
from collections.abc import Collection, Iterator, Mapping
from difflib import SequenceMatcher
from typing import NamedTuple, TypeGuard

from .syntax import (
    IMPORTS,
    bound_by,
    bound_names,
    definitions,
    first_line,
    is_text,
    is_unfinished,
    pieces,
    statements,
)

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
