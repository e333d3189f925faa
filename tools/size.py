"""Measure how large the engine is, how finely it is cut, and how much of it the tests know.

    python tools/size.py [--list]

The table is for comparisons over time. Fewer lines are a consequence of a simpler engine, not the
goal. --list: name the small functions with one caller, and the modules that tests import.
"""

import argparse
import ast
import subprocess
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).parents[1]
FEW_LINES = 3
# Words that a newcomer searches for in the names of modules.
WORDS = ["redact", "sanitize", "similar", "cache", "retry", "diverge", "submission", "message"]
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--list", action="store_true", help="name what is counted, too")
    asked = parser.parse_args()
    engine, tests = modules("tensorgrade"), modules("tests")
    small, known = used_once(engine), imported_modules(tests.values(), engine)
    once = plain_calls(engine, small)
    found = [word for word in WORDS if any(word in path.as_posix() for path in engine)]
    table = Table("what", "number")
    rows = [
        ("engine: lines", lines(engine)),
        ("engine: statements", sum(map(statements, engine.values()))),
        ("engine: modules", len(engine)),
        (f"engine: functions of at most {FEW_LINES} lines with one use", len(small)),
        ("those that only one call uses: no hook, override or cache", len(once)),
        (f"search terms found among its file names ({len(WORDS)})", len(found)),
        ("tests: lines", lines(tests)),
        ("tests: modules of the engine that they import", len(known)),
    ]
    for what, number in rows:
        table.add_row(what, f"{number:,}")
    Console().print(table)
    if asked.list:
        print(*once, *sorted(known), sep="\n")


def modules(folder: str) -> dict[Path, ast.Module]:
    """Return the syntax trees of a folder's tracked modules, by path."""
    listed = subprocess.run(
        ["git", "ls-files", f"{folder}/**.py"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    paths = [Path(line) for line in listed.stdout.splitlines() if (ROOT / line).exists()]
    return {path: ast.parse((ROOT / path).read_text(encoding="utf-8")) for path in paths}


def lines(paths: dict[Path, ast.Module]) -> int:
    """Return the number of lines of some files."""
    return sum(len((ROOT / path).read_text(encoding="utf-8").splitlines()) for path in paths)


def statements(module: ast.Module) -> int:
    """Return the number of statements of a module, without docstrings."""
    return sum(isinstance(one, ast.stmt) and not is_text(one) for one in ast.walk(module))


def is_text(statement: ast.AST) -> bool:
    """Return True if a statement is a docstring."""
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def used_once(engine: dict[Path, ast.Module]) -> list[str]:
    """Return the place and name of each small function that the engine uses in one place."""
    nodes = [node for module in engine.values() for node in ast.walk(module)]
    used = Counter(node.id for node in nodes if isinstance(node, ast.Name))
    used.update(node.attr for node in nodes if isinstance(node, ast.Attribute))
    return [
        f"{path}:{node.lineno} {node.name}"
        for path, module in engine.items()
        for node in ast.walk(module)
        if isinstance(node, FUNCTIONS) and used[node.name] == 1 and is_small(node)
        if not node.name.startswith("__")
    ]


def plain_calls(engine: dict[Path, ast.Module], small: list[str]) -> list[str]:
    """Return the small functions whose code could be written at their only call instead.

    The others are passed on as values, are decorated, or share their name with other methods, as
    the `wording` of each message does: their callers need a function.
    """
    nodes = [node for module in engine.values() for node in ast.walk(module)]
    functions = [node for node in nodes if isinstance(node, FUNCTIONS)]
    called = {ast.unparse(node.func).split(".")[-1] for node in nodes if isinstance(node, ast.Call)}
    several = Counter(node.name for node in functions)
    decorated = {node.name for node in functions if node.decorator_list}
    names = {name for name in called - decorated if several[name] == 1}
    return [place for place in small if place.split()[-1] in names]


def is_small(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Return True if a function has few lines, apart from its head and its docstring."""
    body = [one for one in function.body if not is_text(one)]
    return bool(body) and (body[-1].end_lineno or 0) - body[0].lineno < FEW_LINES


def imported_modules(tests: Iterable[ast.Module], engine: dict[Path, ast.Module]) -> set[str]:
    """Return the modules of the engine, apart from the package itself, that some tests import."""
    dotted = {".".join(path.with_suffix("").parts).removesuffix(".__init__") for path in engine}
    nodes = [node for module in tests for node in ast.walk(module)]
    names = {alias.name for n in nodes if isinstance(n, ast.Import) for alias in n.names}
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and not node.level:
            names |= {f"{node.module}.{alias.name}" for alias in node.names} | {str(node.module)}
    return names & dotted - {"tensorgrade"}


if __name__ == "__main__":
    main()
