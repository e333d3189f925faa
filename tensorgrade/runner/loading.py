"""Turn a learner's file into a module, and retain the parts that work.

A file is run statement by statement. A failing statement is recorded, and the others still run. One
broken definition therefore costs only itself.
"""

import __future__

import ast
import dis
import linecache
import sys
import types
from collections.abc import Collection

from .errors import OutOfTime, describe_error
from .syntax import DEFINITIONS, bound_names, branches, pieces, statements

FUTURES = {name: getattr(__future__, name).compiler_flag for name in __future__.all_feature_names}
OWN_TOOLS = "tensorgrade"


def load_module(
    name: str,
    source: str,
    filename: str,
    definitions_only: bool = False,
    alone: Collection[ast.stmt] | None = None,
) -> tuple[types.ModuleType, list[dict]]:
    """Return a module made from the learner's source, and the problems that occurred.

    A problem has the names and the error of a statement that could not be used.
    definitions_only: run only imports, functions, classes and literal assignments. This is the
        second attempt for a file whose other code hangs or ends the process.
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
    broken = [part for part in pieces(source) if part.error and alone is None]
    problems = [problem(part.names, part.error, filename) for part in broken if part.error]
    # A type hint may name something undefined without making its definition fail.
    flags = FUTURES["annotations"]
    for statement in statements(source) if alone is None else alone:
        if isinstance(statement, ast.ImportFrom) and statement.module == "__future__":
            flags |= sum(FUTURES.get(alias.name, 0) for alias in statement.names)
        if not definitions_only or is_definition(statement):
            run(statement, module, filename, flags, problems)
    return module, problems


def run(
    statement: ast.stmt,
    module: types.ModuleType,
    filename: str,
    flags: int,
    problems: list[dict],
) -> None:
    """Run one top-level statement; if it fails, remove the names it would have bound."""
    try:
        tree = ast.Module([statement], [])
        exec(compile(tree, filename, "exec", flags, dont_inherit=True), module.__dict__)
    except OutOfTime:
        raise
    except BaseException as error:  # exit(), KeyboardInterrupt and the like must not end grading
        names = bound_names(statement)
        problems.append(problem(names, error, filename))
        for name in names:
            module.__dict__.pop(name, None)


def problem(names: list[str], error: BaseException, filename: str) -> dict:
    """Return a problem for JSON."""
    return {"names": names, "error": describe_error(error, filename)}


def defined_names(module: types.ModuleType) -> list[str]:
    """Return the functions and classes that the learner's file itself defines."""
    named = vars(module).items()
    own = {k: v for k, v in named if getattr(v, "__module__", None) == module.__name__}
    return sorted(name for name, value in own.items() if callable(value))


def called_by(module: types.ModuleType, name: str) -> list[str]:
    """Return the file's own definitions that one of them uses, directly or indirectly."""
    own, found, left = {*defined_names(module)}, set[str](), [name]
    while left:
        read = read_in(vars(module)[left.pop()], own)
        left += read - found
        found |= read
    return sorted(found - {name})[:100]


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
    found = {name: read_in(vars(module)[name], values) for name in defined_names(module)}
    return {name: sorted(read) for name, read in found.items() if read}


def read_in(value: object, names: set[str]) -> set[str]:
    """Return those of the module's names that the code of a function or a class reads.

    Names after a dot do not count: `torch.mean` does not use the file's own `mean`.
    """
    parts = vars(value).values() if isinstance(value, type) else [value]
    left = [part.__code__ for part in parts if isinstance(part, types.FunctionType)]
    found: set[str] = set()
    while left:
        code = left.pop()
        left += [inner for inner in code.co_consts if isinstance(inner, types.CodeType)]
        if not names.isdisjoint(code.co_names):  # includes attributes, so look closer on a match
            steps = dis.get_instructions(code)
            found |= {one.argval for one in steps if one.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    return found & names


def is_definition(statement: ast.stmt) -> bool:
    """Return True if a statement only defines something that an answer may need, at no cost.

    These are imports, functions, classes and simple values, and an `if` or a `try` with nothing
    else. The course's tools are left out, because only a notebook needs them.
    """
    if parts := branches(statement):
        return all(isinstance(part, ast.Pass) or is_definition(part) for part in parts)
    match statement:
        case ast.Import(names=names):
            return not any(alias.name.split(".")[0] == OWN_TOOLS for alias in names)
        case ast.ImportFrom(module=module):
            return (module or "").split(".")[0] != OWN_TOOLS
        case ast.Assign(value=value) | ast.AnnAssign(value=ast.expr() as value):
            return is_simple(value)
    return isinstance(statement, DEFINITIONS)


def is_simple(value: ast.expr) -> bool:
    """Return True for a literal, a lambda, or a name such as `torch.exp` or `-torch.inf`."""
    match value:
        case ast.Name() | ast.Lambda():
            return True
        case ast.UnaryOp(op=ast.USub(), operand=ast.Name() | ast.Attribute() as inner):
            return is_simple(inner)
        case ast.Attribute(value=ast.Name() | ast.Attribute() as inner):
            return is_simple(inner)
        case ast.Call(func=ast.Name(id="float"), args=[ast.Constant()], keywords=[]):
            return True
    try:
        ast.literal_eval(value)
        return True
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return False  # all errors that literal_eval is documented to raise
