"""The imports between the engine's modules, read from its files without running them."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]


def dotted(path: Path) -> str:
    """The name that a file is imported by."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {dotted(path): path for path in sorted((ROOT / "tensorgrade").rglob("*.py"))}


def imported_names(module: str) -> Iterator[str]:
    """The full name of everything that a module imports, inside functions too."""
    path = MODULES[module]
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            around = package.split(".")[: package.count(".") + 2 - node.level]
            origin = ".".join([*(around if node.level else ()), *filter(None, [node.module])])
            yield from (f"{origin}.{alias.name}" for alias in node.names)


def module_of(name: str) -> str | None:
    """The engine's module that an imported name is, or lies in; None for what is not the engine's.

    >>> module_of("tensorgrade.course.Course"), module_of("torch.nn")
    ('tensorgrade.course', None)
    """
    outer = name.rpartition(".")[0]
    return name if name in MODULES else outer if outer in MODULES else None


def imports_of(module: str) -> set[str]:
    """The engine's modules that a module imports, itself left out."""
    return {found for name in imported_names(module) if (found := module_of(name))} - {module}


@cache
def imports() -> dict[str, set[str]]:
    """The same for all modules: once, by the first who asks, and not by all who collect tests."""
    return {module: imports_of(module) for module in MODULES}


def importers_of(module: str) -> set[str]:
    """The engine's modules that import a module."""
    return {other for other, used in imports().items() if module in used}
