"""Put small mistakes into the engine, one at a time, and count those that the tests notice.

    python tools/engine_mutants.py [--count 50] [--seed 1] [--everything] [--near]

Each mutant is one edit of one expression, in a copy of the repository. The tests that import the
edited module run first. If they pass, the rest of the default run decides. --everything: run the
slow tests as well. --near: stop after the tests that import the module, which is a lower bound.

Mutants that survive are listed with their edit: each is a missing test, or an edit that changes
nothing.
"""

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
# Untracked folders that a test run needs: references, fingerprints and cached builds.
BUILT = ["graders/references", "exercises/references", ".tensorgrade"]
COURSES = [Path(), *(path.relative_to(ROOT) for path in (ROOT / "courses").iterdir())]
SECONDS = 1200  # for one test run; a mutant may loop forever
OPERATORS = {
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Gt: ">=",
    ast.GtE: ">",
    ast.In: "not in",
    ast.NotIn: "in",  # codespell:ignore notin
    ast.Is: "is not",
    ast.IsNot: "is",
    ast.Add: "-",
    ast.Sub: "+",
    ast.Mult: "+",
    ast.And: "or",
    ast.Or: "and",
}


@dataclass(frozen=True)
class Mutant:
    """An edit of one expression. start, end: its place in the file's bytes."""

    path: Path
    line: int
    start: int
    end: int
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}  {self.before}  →  {self.after}"


def main() -> int:
    """Try the mutants, and print a line for each and the number that were caught."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--count", type=int, default=50, help="how many mutants")
    parser.add_argument("--seed", type=int, default=1, help="which ones")
    parser.add_argument("--everything", action="store_true", help="run the slow tests, too")
    parser.add_argument("--near", action="store_true", help="run only the module's own tests")
    asked = parser.parse_args()
    chosen = random.Random(asked.seed).sample([*all_mutants()], asked.count)
    caught = 0
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        copy_repository(copy)
        for mutant in chosen:
            how = try_out(copy, mutant, asked.everything, asked.near)
            caught += bool(how)
            print(f"{how or 'SURVIVED':22} {mutant}", flush=True)
    print(f"{caught} of {len(chosen)} caught")
    return 0


def all_mutants() -> Iterator[Mutant]:
    """Yield every possible edit of the engine's code."""
    for path in tracked("tensorgrade/**.py"):
        text = (ROOT / path).read_bytes()
        starts = [0]
        for line in text.splitlines(keepends=True):
            starts.append(starts[-1] + len(line))
        for node, after in edits(ast.parse(text)):
            start = starts[node.lineno - 1] + node.col_offset
            end = starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)
            before = text[start:end].decode()
            if "\n" not in before and before != after:
                yield Mutant(path, node.lineno, start, end, before, after)


def edits(module: ast.Module) -> Iterator[tuple[ast.expr, str]]:
    """Yield (expression, replacement) for each edit inside the functions of a module."""
    functions = [n for n in ast.walk(module) if isinstance(n, (ast.FunctionDef))]
    inside = {node for function in functions for one in function.body for node in ast.walk(one)}
    for node in ast.walk(module):
        if node in inside and isinstance(node, ast.expr):
            yield from ((node, after) for after in replacements(node))


def replacements(node: ast.expr) -> Iterator[str]:
    """Yield the texts that replace an expression."""
    match node:
        case ast.Compare(left, [operator], [right]) if type(operator) in OPERATORS:
            yield f"{ast.unparse(left)} {OPERATORS[type(operator)]} {ast.unparse(right)}"
        case ast.BinOp(left, operator, right) if type(operator) in OPERATORS:
            yield f"({ast.unparse(left)} {OPERATORS[type(operator)]} {ast.unparse(right)})"
        case ast.BoolOp(operator, values):
            other = f" {OPERATORS[type(operator)]} "
            yield f"({other.join(f'({ast.unparse(value)})' for value in values)})"
        case ast.UnaryOp(ast.Not(), operand):
            yield f"({ast.unparse(operand)})"
        case ast.Constant(bool() as value):
            yield str(not value)
        case ast.Constant(int() as value):
            yield str(value + 1)
        case ast.IfExp(test, body, orelse):
            yield f"({ast.unparse(orelse)} if {ast.unparse(test)} else {ast.unparse(body)})"


def copy_repository(folder: Path) -> None:
    """Copy the tracked files and the files built from them."""
    for path in [*tracked(), *(course / name for course in COURSES for name in BUILT)]:
        there = folder / path
        there.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / path).is_dir():
            shutil.copytree(ROOT / path, there, dirs_exist_ok=True)
        elif (ROOT / path).exists():
            shutil.copy2(ROOT / path, there, follow_symlinks=False)


def try_out(copy: Path, mutant: Mutant, everything: bool, only_near: bool) -> str:
    """Return which tests notice a mutant: "" if none do."""
    path = copy / mutant.path
    text = path.read_bytes()
    path.write_bytes(text[: mutant.start] + mutant.after.encode() + text[mutant.end :])
    options = ["-m", ""] if everything else []
    try:
        near = [str(one) for one in tests_of(mutant.path)]
        if near and fails(copy, [*near, *options]):
            return "caught by its tests"
        if only_near:
            return ""
        return "caught by another test" if fails(copy, ["tests", *options]) else ""
    finally:
        path.write_bytes(text)


def tests_of(path: Path) -> list[Path]:
    """Return the test files that import a module; if there are none, the folder of its package."""
    package, name = ".".join(path.parent.parts), path.stem
    found = []
    for test in tracked("tests/**/test_*.py"):
        imports = [
            node
            for node in ast.walk(ast.parse((ROOT / test).read_text(encoding="utf-8")))
            if isinstance(node, ast.ImportFrom)
        ]
        if any(
            node.module == f"{package}.{name}"
            or (node.module == package and any(alias.name == name for alias in node.names))
            for node in imports
        ):
            found.append(test)
    folder = Path("tests", *path.parts[1:2])
    return found or [folder] * (ROOT / folder).is_dir()


def fails(copy: Path, arguments: list[str]) -> bool:
    """Return True if a test run in the copy fails, or does not finish in time."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *arguments]
    environment = os.environ | {"PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(
            command, cwd=copy, env=environment, capture_output=True, timeout=SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return True
    return done.returncode not in (0, 5)  # 5: all tests of these files are slow ones


def tracked(pattern: str = "") -> list[Path]:
    """Return the paths of the tracked files that match a pattern, or of all."""
    command = ["git", "ls-files", *([pattern] if pattern else [])]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return [Path(line) for line in done.stdout.splitlines() if (ROOT / line).exists()]


if __name__ == "__main__":
    sys.exit(main())
