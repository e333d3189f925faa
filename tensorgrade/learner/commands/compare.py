"""Show the reference solution beside the learner's own."""

import ast
import zipfile
from random import Random

from rich.console import Console
from rich.syntax import Syntax
from rich.text import Text

from ...course import CourseError
from ...practice.variants import definition
from ..kit import Kit, definition_in
from .review_items import Workshop

MARKER = "### "
NO_SOLUTIONS = (
    "there are no solutions in this kit; if your instructor hands out solutions.zip, put it into "
    "this folder"
)


def compare(kit: Kit, exercise: str, console: Console) -> None:
    """Print the versions of an exercise.

    Raises CourseError if there are no solutions, or if the exercise does not pass yet.
    """
    chapter = kit.course.exercise(exercise)[0].name
    files = solutions_in(kit)
    own = kit.text(chapter)
    versions = versions_in(files, chapter, exercise)
    if not versions:
        raise CourseError(f"the solutions have nothing for {exercise}")
    workshop = Workshop(kit, Random())
    try:
        if not workshop.passes(chapter, exercise, own):
            raise CourseError(f"{exercise} does not pass yet; compare it after that")
    finally:
        workshop.close()
    for title, code in {"yours": shown(own, exercise), **versions}.items():
        console.print(Text(f"\n{title}", "bold"))
        console.print(Syntax(code, "python", theme="ansi_dark", padding=(0, 2), word_wrap=True))


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


def versions_in(files: dict[str, str], chapter: str, exercise: str) -> dict[str, str]:
    """Return the reference solution, and PyTorch's own, if they exist."""
    reference = files.get(f"solutions/{chapter}.py", "")
    if not definition(reference, exercise):
        return {}
    found = {"the reference solution": shown(reference, exercise)}
    text = files.get(f"solutions/torch/{chapter}.py", "")
    if definition(text, exercise):
        found["PyTorch's own"] = shown(text, exercise)
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
