"""Show the reference solution beside the learner's own, with times."""

import ast
import zipfile
from dataclasses import dataclass, field
from random import Random
from statistics import median
from time import perf_counter
from typing import Any

import torch
from rich.console import Console
from rich.syntax import Syntax
from rich.text import Text

from ...attempts.in_process import InProcess
from ...course import CourseError
from ...exchange.cases import Case, spoken
from ...practice.questions import is_simple
from ...practice.variants import definition
from ..kit import Kit, definition_in
from .review_items import Workshop

ROUNDS = 200
SECONDS = 1.0  # for one version
MARKER = "### "
NO_SOLUTIONS = (
    "there are no solutions in this kit; if your instructor hands out solutions.zip, put it into "
    "this folder"
)


@dataclass(frozen=True)
class Version:
    """One way to write an exercise. text: the whole chapter with it."""

    title: str
    code: str
    text: str = field(repr=False)


def compare(kit: Kit, exercise: str, console: Console) -> None:
    """Print the versions of an exercise and their times.

    Raises CourseError if there are no solutions, or if the exercise does not pass yet.
    """
    chapter = kit.course.exercise(exercise)[0].name
    files = solutions_in(kit)
    own = kit.text(chapter)
    versions = [Version("yours", shown(own, exercise), own)]
    versions += versions_in(files, chapter, exercise)
    if len(versions) == 1:
        raise CourseError(f"the solutions have nothing for {exercise}")
    workshop = Workshop(kit, Random())
    try:
        if not workshop.passes(chapter, exercise, own):
            raise CourseError(f"{exercise} does not pass yet; compare it after that")
        calls = workshop.attempt(chapter, own).references.of(exercise)
        cases = [case for case, right in calls if is_simple(case, right)]
        sizes = [sum(tensor.numel() for _, tensor in case.passed_tensors) for case in cases]
        case = cases[sizes.index(max(sizes))] if cases else None
        times = [seconds_of(workshop, chapter, one.text, case) for one in versions]
    finally:
        workshop.close()
    for version, seconds in zip(versions, times, strict=True):
        print_version(console, version, seconds)
    if case and any(times):
        console.print(Text(f"Times: the median of {ROUNDS} calls of {spoken(case)}", "dim"))


def solutions_in(kit: Kit) -> dict[str, str]:
    """Return the texts of the solutions by path, from `solutions/` or `solutions.zip`.

    Raises CourseError if the kit has neither, or if the zip is damaged.
    """
    folder, archive = kit.root / "solutions", kit.root / "solutions.zip"
    if folder.is_dir():
        paths = sorted(folder.rglob("*.py"))
        return {p.relative_to(kit.root).as_posix(): p.read_text(encoding="utf-8") for p in paths}
    if not archive.is_file():
        raise CourseError(NO_SOLUTIONS)
    try:
        with zipfile.ZipFile(archive) as file:
            names = [name for name in sorted(file.namelist()) if name.endswith(".py")]
            return {name: file.read(name).decode() for name in names}
    except (zipfile.BadZipFile, UnicodeDecodeError, OSError):
        raise CourseError("solutions.zip is damaged; download it again") from None


def versions_in(files: dict[str, str], chapter: str, exercise: str) -> list[Version]:
    """Return the reference solution, and PyTorch's own, if they exist."""
    reference = files.get(f"solutions/{chapter}.py", "")
    if not definition(reference, exercise):
        return []
    found = [Version("the reference solution", shown(reference, exercise), reference)]
    text = files.get(f"solutions/torch/{chapter}.py", "")
    if definition(text, exercise):
        whole = f"{reference}\n\n{text}"
        found.append(Version("PyTorch's own", shown(text, exercise), whole))
    return found


def shown(text: str, exercise: str) -> str:
    """Return a definition without the lines that mark the part to write, and without docstring."""
    code = definition_in(text, exercise)
    kept = [line for line in code.split("\n") if not line.strip().startswith(MARKER)]
    return without_docstrings("\n".join(kept))


def without_docstrings(code: str) -> str:
    """Return code without the docstrings of its functions and classes."""
    texts: set[int] = set()  # the docstrings' lines
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and ast.get_docstring(node):
            text = node.body[0]
            texts |= {*range(text.lineno, (text.end_lineno or text.lineno) + 1)}
    lines = enumerate(code.split("\n"), 1)
    return "\n".join(line for at, line in lines if at not in texts)


def seconds_of(workshop: Workshop, chapter: str, text: str, case: Case | None) -> float | None:
    """Return the median time of a case's call in a version; None if it cannot run."""
    if case is None:
        return None
    backend = InProcess(workshop.attempt(chapter, text).backend.submission)  # type: ignore[attr-defined]
    loaded = backend.load()
    if backend.case_runner is None or loaded.failure_of(case.exercise):
        return None
    runner, spent = backend.case_runner, [0.0]
    call = runner.call

    def timed(*arguments: Any) -> Any:
        begun = perf_counter()
        try:
            return call(*arguments)
        finally:
            spent[-1] = perf_counter() - begun

    runner.call = timed  # type: ignore[assignment,method-assign]
    torch.set_num_threads(1)
    found: list[float] = []
    begun = perf_counter()
    while len(found) < ROUNDS and perf_counter() - begun < SECONDS:
        if backend.run_one(case).error:
            return None
        found.append(spent[-1])
    return median(found)


def print_version(console: Console, version: Version, seconds: float | None) -> None:
    """Print one version with its time."""
    title = Text(f"\n{version.title}", "bold")
    if seconds is not None:
        title.append(f"  {1e6 * seconds:.0f} µs", "not bold")
    console.print(title)
    code = without_docstrings(version.code)
    console.print(Syntax(code, "python", theme="ansi_dark", padding=(0, 2), word_wrap=True))
