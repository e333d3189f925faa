"""Find the top-level statements that a definition depends on, by their names.

The search covers one module, or follows imports between the engine's modules.
"""

import ast
from collections.abc import Iterable, Mapping
from functools import lru_cache

DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
IMPORTS = (ast.Import, ast.ImportFrom)


def reached(module: ast.Module, roots: Iterable[str]) -> list[ast.stmt]:
    """Return the statements that bind these names, and all statements that they use in turn.

    The order is that of the file.

    >>> text = "import math\\na = 1\\nb = 2\\ndef f():\\n    return a + math.pi"
    >>> [ast.unparse(statement) for statement in reached(ast.parse(text), ["f"])][:2]
    ['import math', 'a = 1']
    """
    wanted, found, more = set(roots), set(), True
    while more:
        new = [s for s in module.body if s not in found and bound_by(s) & wanted]
        found.update(new)
        wanted = wanted.union(*map(used_by, new))
        more = bool(new)
    return [statement for statement in module.body if statement in found]


def without_unreached(text: str, roots: Iterable[str]) -> str:
    """Return a text without definitions that neither these names nor loading the text can reach.

    Comments between statements are removed as well. The rest keeps its line numbers.

    >>> without_unreached("a = g\\ndef f(): pass\\n# no\\ndef g():\\n    return 1", ["a"])
    'a = g\\n\\n\\ndef g():\\n    return 1\\n'
    """
    module = ast.parse(text)
    loaded = [s for s in module.body if not isinstance(s, DEFINITIONS)]
    kept = reached(module, set(roots).union(*map(used_by, loaded))) + loaded
    inside = {line: one for one in module.body for line in lines_of(one)}
    lines = enumerate(text.splitlines(), start=1)
    return "".join((line if is_kept(line, inside.get(n), kept) else "") + "\n" for n, line in lines)


def is_kept(line: str, statement: ast.stmt | None, kept: list[ast.stmt]) -> bool:
    """Return True if a line is in a kept statement, or indented outside of any statement.

    Such an indented line is a comment, for example the end mark of a statement.
    """
    return statement in kept if statement else line.startswith(" ")


def lines_of(statement: ast.stmt) -> range:
    """Return the line numbers of a statement, including its decorators."""
    decorators = getattr(statement, "decorator_list", ())
    first = min([statement.lineno, *(decorator.lineno for decorator in decorators)])
    return range(first, (statement.end_lineno or first) + 1)


@lru_cache(maxsize=10_000)  # asked again for every name that is found
def bound_by(statement: ast.stmt) -> set[str]:
    """Return the names that a top-level statement binds."""
    if isinstance(statement, DEFINITIONS):
        return {statement.name}
    inner = list(ast.walk(statement))
    names = {n.id for n in inner if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    aliases = {(n.asname or n.name).split(".")[0] for n in inner if isinstance(n, ast.alias)}
    return names | aliases | {n.name for n in inner if isinstance(n, DEFINITIONS)}


@lru_cache(maxsize=10_000)
def used_by(statement: ast.stmt) -> set[str]:
    """Return all names in a statement."""
    return {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}


def reached_in_files(
    files: Mapping[str, ast.Module], roots: Mapping[str, Iterable[str]]
) -> dict[str, list[ast.stmt]]:
    """Return the statements that some names of some files reach, by the path of their files.

    files: modules by their path, such as `exchange/cases.py`. Relative imports between them are
    followed. A reached file always includes its statements that bind no name, because they run when
    it is imported.

    >>> files = {"a/b.py": ast.parse("from ..c import f\\ng = f"), "c.py": ast.parse("f = h = 1")}
    >>> [ast.unparse(s) for s in reached_in_files(files, {"a/b.py": ["g"]})["c.py"]]
    ['f = h = 1']
    """
    wanted = {path: set(names) | idle(files[path]) for path, names in roots.items()}
    found: dict[str, list[ast.stmt]] = {}
    waiting = list(wanted)
    while waiting:
        path = waiting.pop()
        body = [s for s in files[path].body if not bound_by(s) and not is_text(s)]
        found[path] = [*reached(files[path], wanted[path]), *body]
        for other, names in imported_by(path, found[path], files):
            new = names | idle(files[other])
            if not new <= wanted.setdefault(other, set()):
                wanted[other] |= new
                waiting.append(other)
    return found


def idle(module: ast.Module) -> set[str]:
    """Return the names used by the statements of a module that bind no name and run on import."""
    return set().union(*(used_by(s) for s in module.body if not bound_by(s)))


def is_text(statement: ast.stmt) -> bool:
    """Return True if a statement is a docstring."""
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def imported_by(
    path: str, statements: list[ast.stmt], files: Mapping[str, ast.Module]
) -> list[tuple[str, set[str]]]:
    """Return (file, names in it) for the imports of some statements of a file from these files."""
    nodes = [node for statement in statements for node in ast.walk(statement)]
    used = {node.id for node in nodes if isinstance(node, ast.Name)}
    found = []
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.level:
            folder = path.split("/")[: -node.level]
            origin = "/".join([*folder, *(node.module or "").split(".")]).strip("/")
            for alias in node.names:
                if (name := alias.asname or alias.name) not in used:
                    continue
                whole, part = f"{origin}/{alias.name}.py".lstrip("/"), f"{origin}.py"
                if whole in files:  # a module whose attributes are used
                    found.append((whole, attributes(nodes, name)))
                elif part in files:
                    found.append((part, {alias.name}))
    return found


def attributes(nodes: list[ast.AST], name: str) -> set[str]:
    """Return the attributes of a name that are used in some nodes."""
    found = (node for node in nodes if isinstance(node, ast.Attribute))
    return {n.attr for n in found if isinstance(n.value, ast.Name) and n.value.id == name}
