"""Put small mistakes into the engine, one at a time, and count those that the tests notice.

    python tools/engine_mutants.py [--path tensorgrade/judging] [--tests tests/verdicts …]
                                   [--count 50] [--seed 1] [--everything]

Each mutant is one edit of one expression, in a copy of the repository. --path: edit only modules
below this folder. --tests: run only these folders of tests. The folder that is named after the
module's package runs first. --everything: run the slow tests as well.

Tests are collected once. Each mutant is tried in a fork of that process: there the edited function
gets its new code. Programs that tests start read the edited file. So a mutant takes seconds, but
one in a function that only runs while modules are imported goes unnoticed.

Mutants that survive are listed with their edit: each is a missing test, or an edit that changes
nothing.
"""

import argparse
import ast
import gc
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import _lru_cache_wrapper
from itertools import islice
from pathlib import Path
from types import CodeType, FunctionType

import pytest
from _pytest.main import pytest_runtestloop as run_tests

ROOT = Path(__file__).parents[1]
# Untracked folders that a test run needs: references, fingerprints and cached builds.
BUILT = ["graders/references", "exercises/references", ".tensorgrade"]
COURSES = [Path(), *(path.relative_to(ROOT) for path in (ROOT / "courses").iterdir())]
SLOWER = 4  # times the duration without a mutant; after that it counts as endless
OPERATORS = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.In: ast.NotIn,  # codespell:ignore notin
    ast.NotIn: ast.In,  # codespell:ignore notin
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.And: ast.Or,
    ast.Or: ast.And,
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

    def applied_to(self, text: bytes) -> bytes:
        """Return a file's content with the edit."""
        return text[: self.start] + self.after.encode() + text[self.end :]

    def __str__(self) -> str:
        return f"{self.path}:{self.line}  {self.before}  →  {self.after}"


def main() -> int:
    """Try the mutants, and print a line for each and the number that were caught."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--count", type=int, default=50, help="how many mutants")
    parser.add_argument("--seed", type=int, default=1, help="which ones")
    parser.add_argument("--everything", action="store_true", help="run the slow tests, too")
    parser.add_argument("--path", default="tensorgrade", help="edit modules of this folder")
    parser.add_argument("--tests", nargs="+", default=["tests"], help="run these folders of tests")
    asked = parser.parse_args()
    every = [*all_mutants(asked.path)]
    random.Random(asked.seed).shuffle(every)
    chosen = [*islice(filter(is_valid, every), asked.count)]
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder).resolve()
        copy_repository(copy)
        os.chdir(copy)
        os.environ |= {"PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
        sys.path.insert(0, str(copy))
        options = ["-qq", "--assert=plain", "-p", "no:cacheprovider"]
        options += ["-m", "not proof"] if asked.everything else []
        trials = Trials(chosen)
        pytest.main([*asked.tests, "-n0", *options], plugins=[trials])
    print(f"{trials.caught} of {len(chosen)} caught")
    return 0


class Trials:
    """A plugin for pytest: instead of running the tests once, run them for each mutant.

    Tests that fail without a mutant do not count, such as those that need a git repository.
    """

    def __init__(self, mutants: list[Mutant]):
        self.mutants = mutants
        self.copy, self.caught, self.seconds = Path.cwd(), 0, 0.0

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Print a line for each mutant."""
        begin = time.monotonic()
        broken = failing(session, session.items, most=0)
        self.seconds = SLOWER * (time.monotonic() - begin)
        healthy = [item for item in session.items if item.nodeid not in broken]
        print(f"{len(healthy)} tests; {len(broken)} others fail without a mutant", flush=True)
        for mutant in self.mutants:
            how = self.noticed(session, mutant, healthy)
            self.caught += bool(how)
            print(f"{how or 'SURVIVED':22} {mutant}", flush=True)
        return True

    def noticed(self, session: pytest.Session, mutant: Mutant, items: list[pytest.Item]) -> str:
        """Return which tests notice a mutant: "" if none do."""
        folder = Path("tests", *mutant.path.parts[1:2])
        own = [item for item in items if item.path.is_relative_to(self.copy / folder)]
        others = [item for item in items if item not in set(own)]
        with edited(self.copy, mutant) as functions:
            if failing(session, own, 1, self.seconds, functions):
                return "caught by its tests"
            if not failing(session, others, 1, self.seconds, functions):
                return ""
        return "caught by another test"


def all_mutants(folder: str) -> Iterator[Mutant]:
    """Yield every possible edit of a folder of the engine."""
    for path in tracked(f"{folder}/**.py"):
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


def is_valid(mutant: Mutant) -> bool:
    """Return True if the edited file is Python; quotes in an f-string can break it."""
    try:
        compile(mutant.applied_to((ROOT / mutant.path).read_bytes()), "", "exec")
    except SyntaxError:
        return False
    return True


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
        case ast.Compare(left, [operator], [right]) if other := OPERATORS.get(type(operator)):
            yield f"({ast.unparse(ast.Compare(left, [other()], [right]))})"
        case ast.BinOp(left, operator, right) if other := OPERATORS.get(type(operator)):
            yield f"({ast.unparse(ast.BinOp(left, other(), right))})"
        case ast.BoolOp(operator, values):
            yield f"({ast.unparse(ast.BoolOp(OPERATORS[type(operator)](), values))})"
        case ast.UnaryOp(ast.Not(), operand):
            yield f"({ast.unparse(operand)})"
        case ast.Constant(bool() as value):
            yield str(not value)
        case ast.Constant(int() as value):
            yield str(value + 1)
        case ast.IfExp(test, body, orelse):
            yield f"({ast.unparse(ast.IfExp(test, orelse, body))})"


def copy_repository(folder: Path) -> None:
    """Copy the tracked files and the files built from them."""
    for path in [*tracked(), *(course / name for course in COURSES for name in BUILT)]:
        there = folder / path
        there.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / path).is_dir():
            shutil.copytree(ROOT / path, there, dirs_exist_ok=True)
        elif (ROOT / path).exists():
            shutil.copy2(ROOT / path, there, follow_symlinks=False)


@contextmanager
def edited(copy: Path, mutant: Mutant) -> Iterator[dict[FunctionType, CodeType]]:
    """Edit a file of the copy in this context; yield the new code of its loaded functions."""
    path = copy / mutant.path
    text, before = path.read_bytes(), path.stat()
    new = mutant.applied_to(text)
    path.write_bytes(new)
    # Python compares the times of bytecode and file in whole seconds, and tests start programs
    # within the same second.
    os.utime(path, (before.st_atime, before.st_mtime + 10))
    try:
        yield new_code(str(path), new)
    finally:
        path.write_bytes(text)
        os.utime(path, (before.st_atime, before.st_mtime))


def new_code(path: str, text: bytes) -> dict[FunctionType, CodeType]:
    """Return the code that each loaded function of a file has in another version of the file."""
    left, codes = [compile(text, path, "exec", dont_inherit=True)], {}
    while left:
        inner = [one for one in left.pop().co_consts if isinstance(one, CodeType)]
        codes |= {(one.co_qualname, one.co_firstlineno): one for one in inner}
        left += inner
    gc.unfreeze()
    loaded = [one for one in gc.get_objects() if type(one) is FunctionType]
    gc.freeze()
    own = [one for one in loaded if one.__code__.co_filename == path]
    places = {one: (one.__code__.co_qualname, one.__code__.co_firstlineno) for one in own}
    return {one: codes[place] for one, place in places.items() if place in codes}


def failing(
    session: pytest.Session,
    items: list[pytest.Item],
    most: int = 0,
    seconds: float = 0,
    changed: dict[FunctionType, CodeType] | None = None,
) -> set[str]:
    """Run tests in a fork; return the names of those that fail.

    most: stop after so many failures (0: never). seconds: for all of them; a fork that takes longer
    (0: never) or crashes counts as a failure. changed: the functions with new code.
    """
    with tempfile.NamedTemporaryFile("r") as told:
        if child := os.fork():
            ended = wait(child, seconds)
            return {*told.read().splitlines()} if ended == 0 else {"did not finish"}
        try:
            os.setsid()
            for function, code in (changed or {}).items():
                function.__code__ = code
            run_in_child(session, items, most, Path(told.name))
            os._exit(0)
        finally:
            os._exit(1)


def run_in_child(session: pytest.Session, items: list, most: int, told: Path) -> None:
    """Run tests without output, and write the names of those that fail."""

    class Noted:
        def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
            if report.failed:
                with told.open("a") as file:
                    file.write(report.nodeid.replace("\n", " ") + "\n")

    gc.unfreeze()  # the tests froze all objects, and frozen ones are not listed
    for one in gc.get_objects():
        if type(one) is _lru_cache_wrapper and one.__module__.startswith("tensorgrade"):
            one.cache_clear()
    gc.freeze()
    plugins = session.config.pluginmanager
    plugins.unregister(name="terminalreporter")
    plugins.register(Noted())
    session.config.option.maxfail = most
    session.items = items
    with suppress(session.Failed):  # pytest stops after the first failure in this way
        run_tests(session)


def wait(child: int, seconds: float) -> int:
    """Return a fork's exit status; kill it and its group after some seconds (0: never)."""
    end = time.monotonic() + seconds
    while not (found := os.waitpid(child, os.WNOHANG))[0]:
        if seconds and time.monotonic() > end:
            os.killpg(child, signal.SIGKILL)
            return os.waitpid(child, 0)[1]
        time.sleep(0.05)
    return found[1]


def tracked(pattern: str = "") -> list[Path]:
    """Return the paths of the tracked files that match a pattern, or of all."""
    command = ["git", "ls-files", *([pattern] if pattern else [])]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return [Path(line) for line in done.stdout.splitlines() if (ROOT / line).exists()]


if __name__ == "__main__":
    sys.exit(main())
