"""Show the solution of an exercise that passes."""

import zipfile

from rich.console import Console
from rich.syntax import Syntax
from rich.text import Text

from ...attempts.results import State, state_of
from ...course import CourseError
from ..kit import Kit, definition_in
from ..watch.checker import Checker

MARKER = "### "
NO_SOLUTIONS = (
    "there are no solutions in this kit; if your instructor hands out solutions.zip, put it into "
    "this folder"
)


def show_solution(kit: Kit, exercise: str, console: Console) -> None:
    """Print the solution of an exercise, and PyTorch's own version if there is one.

    Raises CourseError if there are no solutions, or if the exercise does not pass yet.
    """
    chapter = kit.course.exercise(exercise)[0].name
    files = solutions_in(kit)
    found = {
        "The solution": definition_in(files.get(f"solutions/{chapter}.py", ""), exercise),
        "PyTorch's own": definition_in(files.get(f"solutions/torch/{chapter}.py", ""), exercise),
    }
    if not found["The solution"]:
        raise CourseError(f"the solutions have nothing for {exercise}")
    if not passes(kit, chapter, exercise):
        raise CourseError(f"{exercise} does not pass yet; its solution is shown after that")
    for title, code in found.items():
        kept = [line for line in code.split("\n") if not line.strip().startswith(MARKER)]
        if code:
            text = "\n".join(kept)
            shown = Syntax(text, "python", theme="ansi_dark", padding=(0, 2), word_wrap=True)
            console.print(Text(f"\n{title}", "bold"), shown, sep="\n")


def passes(kit: Kit, chapter: str, exercise: str) -> bool:
    """Return True if the learner's own exercise passes. Raises CourseError without its file."""
    kit.text(chapter)
    checker = Checker(kit.exercises, kit.exercises)
    try:
        return state_of(checker.check(chapter)[0][exercise]) == State.DONE
    finally:
        checker.close()


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
