"""Turn a learner's file into a module, and retain the parts that work.

A file is run statement by statement. A failing statement is recorded, and the others still run. One
broken definition therefore costs only itself. A file that does not parse is split into its
top-level blocks, and the blocks that parse are retained.
"""

import __future__

import ast
import dis
import linecache
import re
import sys
import types
from collections.abc import Collection, Mapping
from copy import copy
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from .errors import OutOfTime, describe_error
from .source import UNPARSABLE

FUTURES = {name: getattr(__future__, name).compiler_flag for name in __future__.all_feature_names}
SPELT = 0.85  # required similarity of a misspelt name to a requested one
KEPT = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@dataclass
class Problem:
    """The names and the error of one statement of the file that could not be used."""

    names: list[str]
    error: dict


def load_module(
    name: str,
    source: str,
    filename: str,
    definitions_only: bool = False,
    misspelt: Mapping[str, str] = MappingProxyType({}),
    alone: Collection[ast.stmt] | None = None,
) -> tuple[types.ModuleType, list[dict]]:
    """Return a module made from the learner's source, and the problems that occurred.

    definitions_only: run only imports, functions, classes and literal assignments. This is the
        second attempt for a file whose other code hangs or ends the process.
    misspelt: by requested name, the misspelt definition that is loaded under it. Its own name
        remains valid too.
    alone: the statements to run instead of the source's own, if one of its definitions runs alone.

    >>> module, problems = load_module("a", "x = 1\\ny = 1 / 0\\ndef f(): return x", "a.py")
    >>> module.f(), problems[0]["error"]["type"]
    (1, 'ZeroDivisionError')
    >>> module, problems = load_module("a", "def f(x: Missing) -> None: return x", "a.py")
    >>> module.f(2), problems
    (2, [])
    """
    module = types.ModuleType(name)
    module.__file__ = filename
    sys.modules[name] = module
    # Errors quote the learner's line even if the file itself is not visible.
    linecache.cache[filename] = (
        len(source),
        None,
        [f"{line}\n" for line in source.split("\n")],
        filename,
    )
    problems: list[Problem] = []
    asked = {own: name for name, own in misspelt.items()}
    # A type hint may name something undefined without making its definition fail.
    flags = FUTURES["annotations"]
    for statement in statements(source, filename, problems) if alone is None else alone:
        if isinstance(statement, ast.ImportFrom) and statement.module == "__future__":
            flags |= sum(FUTURES.get(alias.name, 0) for alias in statement.names)
        own = getattr(statement, "name", "")
        if not definitions_only or is_definition(statement):
            meant = renamed(statement, asked[own]) if own in asked else statement
            run(meant, module, filename, flags, problems)
        if own in asked and asked[own] in vars(module):
            vars(module)[own] = vars(module)[asked[own]]
    return module, [asdict(problem) for problem in problems]


def renamed(definition: ast.stmt, name: str) -> ast.stmt:
    """Return a definition under another name."""
    other: Any = copy(definition)
    other.name = name
    return other


def run(
    statement: ast.stmt,
    module: types.ModuleType,
    filename: str,
    flags: int,
    problems: list[Problem],
) -> None:
    """Run one top-level statement; if it fails, remove the names it would have bound."""
    try:
        tree = ast.Module([statement], [])
        exec(compile(tree, filename, "exec", flags, dont_inherit=True), module.__dict__)
    except OutOfTime:
        raise
    except BaseException as error:  # exit(), KeyboardInterrupt and the like must not end grading
        names = bound_names(statement)
        problems.append(Problem(names, describe_error(error, filename)))
        for name in names:
            module.__dict__.pop(name, None)


def misspelt_in(source: str, asked: Collection[str]) -> dict[str, str]:
    """Return, by requested name, the only definition of a text that can be a misspelling of it.

    >>> misspelt_in("def widht(): pass\\ndef other(): pass", ["width", "height"])
    {'width': 'widht'}
    >>> misspelt_in("class AreaV1: pass", ["Area_v1", "Area_v2"])
    {'Area_v1': 'AreaV1'}
    """
    defined = set(re.findall(r"^(?:async\s+)?(?:def|class)\s+(\w+)", source, re.M))
    if defined.issuperset(asked):
        return {}
    bound = " ".join({*defined, *re.findall(r"^(?:\S.*\bimport\b.*|\w+)", source, re.M)})
    lost = [name for name in asked if not re.search(rf"\b{name}\b", bound)]
    others = sorted(defined - {*asked})
    same = {n: [own for own in others if letters(own) == letters(n)] for n in lost}
    left = [own for own in others if not any(own in near for near in same.values())]
    close = {n: same[n] or [own for own in left if spelt_like(n, own)] for n in lost}
    meant = [near for near in close.values() if len(near) == 1]
    return {name: near[0] for name, near in close.items() if meant.count(near) == 1}


def letters(name: str) -> str:
    """Return a name without underscores and upper case."""
    return name.lower().replace("_", "")


def spelt_like(asked: str, own: str) -> bool:
    """Return True if a name is a misspelling of another one.

    Letters may be exchanged, and there may be one too many or one too few. Case does not count.

    >>> spelt_like("width", "widht"), spelt_like("width_of", "Width_of"), spelt_like("new", "old")
    (True, True, False)
    """
    left, right = asked.lower(), own.lower()
    return sorted(left) == sorted(right) or bool(get_close_matches(left, [right], 1, SPELT))


@lru_cache(maxsize=6)  # a text, the given code of find-the-bug exercises, a notebook's cell
def tree_of(text: str) -> ast.Module:
    """Return the syntax tree of a text, cached for all users. Raises the errors in UNPARSABLE."""
    return ast.parse(text)


def statements(source: str, filename: str, problems: list[Problem]) -> list[ast.stmt]:
    """Return the file's top-level statements; if it does not parse, those of blocks that do."""
    try:
        return tree_of(source).body
    except UNPARSABLE:
        kept = []
        for first_line, block in top_level_blocks(source):
            try:
                kept += ast.parse("\n" * first_line + block, filename).body
            except UNPARSABLE as error:
                names = re.findall(r"^(?:async\s+)?(?:def|class)\s+(\w+)", block, re.M)
                problems.append(Problem(names, describe_error(error, filename)))
        lost = {name for problem in problems for name in problem.names}
        return [statement for statement in kept if not lost & set(bound_names(statement))]


def top_level_blocks(source: str) -> list[tuple[int, str]]:
    """Return (first line, text) of each block that starts at the left margin.

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


def read_from_outside(module: types.ModuleType) -> dict[str, list[str]]:
    """Return, for each function and class of a file, the names of the file's values it reads.

    Values are tensors, torch modules and integers, for example from other cells of a notebook. A
    name in capitals is a constant, which definitions are allowed to read.
    """
    import torch  # here, because processes that read notebooks do not need it

    kinds = (torch.Tensor, torch.nn.Module, int)
    values = {
        name
        for name, value in vars(module).items()
        if isinstance(value, kinds) and not isinstance(value, bool) and not name.isupper()
    }
    read = {}
    for name, value in vars(module).items():
        if getattr(value, "__module__", None) == module.__name__:
            parts = vars(value).values() if isinstance(value, type) else [value]
            codes = [part.__code__ for part in parts if isinstance(part, types.FunctionType)]
            read[name] = sorted({one for code in codes for one in globals_in(code, values)})
    return {name: names for name, names in read.items() if names}


def globals_in(code: types.CodeType, names: set[str]) -> set[str]:
    """Return the names that a code object, or a function inside it, reads from its module."""
    inner = (part for part in code.co_consts if isinstance(part, types.CodeType))
    found = set().union(*(globals_in(part, names) for part in inner))
    if names.isdisjoint(code.co_names):  # includes attributes, so look closer on a match
        return found
    steps = dis.get_instructions(code)
    return found | {step.argval for step in steps if step.opname == "LOAD_GLOBAL"} & names


def is_definition(statement: ast.stmt) -> bool:
    """Return True if a statement only defines an import, a function, a class or a literal.

    An `if` or a `try` is a definition if it contains nothing else.
    """
    if parts := branches(statement):
        return all(isinstance(part, ast.Pass) or is_definition(part) for part in parts)
    if isinstance(statement, (ast.Assign, ast.AnnAssign)) and statement.value is not None:
        try:
            ast.literal_eval(statement.value)
            return True
        except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
            return False  # all errors that literal_eval is documented to raise
    return isinstance(statement, KEPT)


def branches(statement: ast.stmt) -> list[ast.stmt]:
    """Return the statements in all branches of an `if` or a `try`; empty for other statements."""
    if isinstance(statement, ast.If):
        return [*statement.body, *statement.orelse]
    if isinstance(statement, ast.Try):
        handled = (part for handler in statement.handlers for part in handler.body)
        return [*statement.body, *handled, *statement.orelse, *statement.finalbody]
    return []


def bound_names(statement: ast.stmt) -> list[str]:
    """Return the names that a top-level statement binds, in the branches of `if` and `try` too.

    >>> bound_names(ast.parse("import torch.nn as nn, os.path").body[0])
    ['nn', 'os']
    """
    if parts := branches(statement):
        return list(dict.fromkeys(name for part in parts for name in bound_names(part)))
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return [statement.name]
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        return [(alias.asname or alias.name).split(".")[0] for alias in statement.names]
    targets = getattr(statement, "targets", [getattr(statement, "target", None)])
    return [target.id for target in targets if isinstance(target, ast.Name)]
