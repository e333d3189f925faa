"""The imports between the engine's modules, read from its files without running them."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from ..support import ROOT


def dotted(path: Path) -> str:
    """Return the name that a file is imported by."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {dotted(path): path for path in sorted((ROOT / "tensorgrade").rglob("*.py"))}


def imported_names(module: str) -> Iterator[str]:
    """Yield the full name of everything that a module imports, inside functions too."""
    path = MODULES[module]
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            around = package.split(".")[: package.count(".") + 2 - node.level]
            origin = ".".join([*(around if node.level else ()), *filter(None, [node.module])])
            yield from (f"{origin}.{alias.name}" for alias in node.names)


@cache
def imports() -> dict[str, set[str]]:
    """Return the engine's modules that each of its modules imports."""
    return {module: engines(imported_names(module)) - {module} for module in MODULES}


def engines(names: Iterator[str]) -> set[str]:
    """Return the engine's modules that imported names are, or are in."""
    places = ((name, name.rpartition(".")[0]) for name in names)
    return {next(filter(MODULES.__contains__, place), "") for place in places} - {""}
