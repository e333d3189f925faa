"""The learner's kit: its files, an exercise in them, its stub, its solution, and the editor."""

import os
import re
import shlex
import shutil
import subprocess
import zipfile
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ..course import Course, CourseError
from ..folders import keep_copy, original_of
from ..project import load_course
from ..runner.source import Unreadable, decode
from ..views.words import definition_in

# How editors take the line to open; all others get the file only.
WITH_PLUS = {"vi", "vim", "nvim", "nano", "emacs", "emacsclient", "micro"}
WITH_GOTO = ("code", "codium", "cursor")
NO_EDITOR = "No editor is known. Set the variable EDITOR, such as EDITOR=nano, or use VS Code."
NO_SOLUTIONS = (
    "there are no solutions in this kit; if your instructor hands out solutions.zip, put it into "
    "this folder"
)
MARKERS = re.compile(r"^ *### .*\n?", re.M)  # the lines around a solution


@dataclass(frozen=True)
class Kit:
    """The folder that a learner unpacked. own: the learner's scripts, if elsewhere."""

    root: Path
    own: Path | None = None

    @property
    def exercises(self) -> Path:
        """Return the folder with the checks."""
        return self.root / "exercises"

    @property
    def scripts(self) -> Path:
        """Return the folder with the learner's scripts."""
        return self.own or self.exercises

    @cached_property
    def course(self) -> Course:
        """Return the course."""
        return load_course(self.exercises)

    def path(self, chapter: str) -> Path:
        """Return the path of the learner's script for a chapter."""
        return self.scripts / f"{chapter}.py"

    def notebook(self, chapter: str) -> Path:
        """Return the path of the learner's notebook for a chapter."""
        return self.root / "notebooks" / f"{chapter}.ipynb"

    def text(self, chapter: str) -> str:
        """Return the text of the learner's script. Raises CourseError if it cannot be read."""
        path = self.path(chapter)
        if not path.exists():
            raise self.missing(chapter)
        try:
            return decode(path.read_bytes(), path.name)
        except (OSError, Unreadable) as error:
            raise CourseError(str(error)) from None

    def missing(self, chapter: str) -> CourseError:
        """Return the error for a chapter's script that is missing, with the remedy."""
        return CourseError(
            f"there is no file exercises/{chapter}.py; `tensorgrade reset {chapter}` restores it"
        )

    def original(self, chapter: str) -> str:
        """Return a chapter's original script. Raises CourseError if it is missing."""
        path = original_of(self.root, chapter)
        if not path.is_file():
            is_kit = not (self.root / "course_config.py").exists()
            again = "unpack the kit again in another folder and copy it from there"
            raise CourseError(
                f"{path} is missing; {again if is_kit else '`tensorgrade build` makes it'}"
            )
        return path.read_text(encoding="utf-8")


def reset(kit: Kit, name: str) -> Path | None:
    """Restore the original of an exercise or of a chapter. Return the path of a backup copy.

    If the file is missing, restore its chapter and return None. Raises CourseError if the name is
    unknown, or if the file no longer defines the exercise.
    """
    whole = kit.course.chapter_called(name)
    chapter = (whole or kit.course.exercise(name)[0]).name
    original, path = kit.original(chapter), kit.path(chapter)
    saved, new = None, original
    if path.exists():
        now = kit.text(chapter)
        new = original if whole else with_original(now, original, name, path.name)
        saved = keep_copy(kit.root, path)
    path.write_text(new, encoding="utf-8")
    return saved


def with_original(text: str, original: str, name: str, file: str) -> str:
    """Return a text with the original of one definition. Raises CourseError."""
    own, stub = definition_in(text, name), definition_in(original, name)
    if not own or text.count(own) != 1:
        raise CourseError(
            f"{file} has no definition of {name} that can be replaced; "
            f"`tensorgrade reset {file.removesuffix('.py')}` puts the whole chapter back"
        )
    return text.replace(own, stub)


def open_in_editor(path: Path, line: int) -> str:
    """Open a file at a line, wait for the editor, and return what to say about it.

    The editor is $VISUAL, $EDITOR or VS Code. Raises CourseError if it cannot be started.
    """
    named = os.environ.get("VISUAL") or os.environ.get("EDITOR") or shutil.which("code")
    if not named:
        return NO_EDITOR
    words = [named] if shutil.which(named) else shlex.split(named, posix=os.name != "nt")
    editor = Path(words[0]).stem.lower()
    place = [f"+{line}", str(path)] if editor in WITH_PLUS else [str(path)]
    if editor.startswith(WITH_GOTO):
        place = ["--goto", f"{path}:{line}"]
    try:
        subprocess.run([*words, *place], check=False)
    except OSError as error:
        raise CourseError(f"{words[0]} cannot be started: {error.strerror}") from None
    return f"opened line {line}"


def solutions_of(kit: Kit, exercise: str) -> dict[str, str]:
    """Return an exercise's solution by its title, and PyTorch's own version if there is one.

    Raises CourseError if the kit has no solutions, or none for this exercise.
    """
    folder, file = solutions_in(kit.root), f"{kit.course.exercise(exercise)[0].name}.py"
    found = {}
    for title, path in (
        ("The solution", folder / file),
        ("PyTorch's own", folder / "torch" / file),
    ):
        code = definition_in(path.read_text(encoding="utf-8"), exercise) if path.is_file() else ""
        if code:
            found[title] = MARKERS.sub("", code).rstrip("\n")
    if "The solution" not in found:
        raise CourseError(f"the solutions have nothing for {exercise}")
    return found


def solutions_in(root: Path) -> Path | zipfile.Path:
    """Return the folder of the solutions, in the kit or in `solutions.zip`. Raises CourseError."""
    if (root / "solutions").is_dir():
        return root / "solutions"
    if not (root / "solutions.zip").is_file():
        raise CourseError(NO_SOLUTIONS)
    try:
        return zipfile.Path(root / "solutions.zip", "solutions/")
    except zipfile.BadZipFile:
        raise CourseError("solutions.zip is damaged; download it again") from None
