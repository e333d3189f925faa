"""The learner's kit: its files, the place of an exercise in them, and the original stubs."""

import os
import re
import shlex
import shutil
import subprocess
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ..course import Course, CourseError
from ..folders import OWN_FOLDER, keep_copy, original_of
from ..project import load_course
from ..runner.edits import definition_of
from ..runner.source import Unreadable, decode
from ..runner.syntax import first_line

NOT_WRITTEN = re.compile(r"^[ \t]+raise NotImplementedError\b", re.M)
# How editors take the line to open; all others get the file only.
WITH_PLUS = {"vi", "vim", "nvim", "nano", "emacs", "emacsclient", "micro", "kak", "joe", "gedit"}
WITH_COLON = {"subl", "hx", "helix", "zed"}
WITH_GOTO = {"code", "code-insiders", "codium", "cursor"}
NO_EDITOR = "No editor is known. Set the variable EDITOR, such as EDITOR=nano, or use VS Code."


@dataclass(frozen=True)
class Kit:
    """The folder that a learner unpacked."""

    root: Path

    @property
    def exercises(self) -> Path:
        """Return the folder with the learner's files and the checks."""
        return self.root / "exercises"

    @property
    def own(self) -> Path:
        """Return the folder for files that only this machine needs."""
        return self.root / OWN_FOLDER

    @cached_property
    def course(self) -> Course:
        """Return the course."""
        return load_course(self.exercises)

    def path(self, chapter: str) -> Path:
        """Return the path of the learner's script for a chapter."""
        return self.exercises / f"{chapter}.py"

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


def find_kit() -> Kit:
    """Return the kit in the current folder or the one above. Raises CourseError without one."""
    for root in (Path.cwd(), Path.cwd().parent):
        if (root / "exercises" / "course.json").is_file():
            return Kit(root)
    raise CourseError("there is no exercises/course.json here; go to the course's folder first")


def definition_in(text: str, name: str) -> str:
    """Return the text of the last definition of a name; "" if there is none.

    In a text that is not valid Python, a definition ends before the next line that is not indented.

    >>> definition_in("x = 1\\ndef f():\\n    return 2\\n", "f")
    'def f():\\n    return 2'
    >>> definition_in("def f():\\n    return (2\\n\\ndef g(): 1", "f")
    'def f():\\n    return (2'
    """
    if node := definition_of(text, name, 0):
        return "\n".join(text.split("\n")[first_line(node) - 1 : node.end_lineno])
    start = rf"^(?:@.*\n)*(?:async def|def|class) {re.escape(name)}\b.*"
    found = re.findall(rf"{start}(?:\n(?:[ \t)\]}}].*|))*", text, re.M)
    return found[-1].rstrip() if found else ""


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


def line_to_edit(text: str, name: str) -> int:
    """Return the line of an exercise to open: the line to replace, or else its first line.

    >>> line_to_edit("import torch\\n\\ndef f():\\n    raise NotImplementedError\\n", "f")
    4
    """
    own = definition_in(text, name)
    if not own:
        return 1
    start = text.rfind(own)
    written = NOT_WRITTEN.search(own)
    return text.count("\n", 0, start + (written.end() if written else 0)) + 1


def editor_command(path: Path, line: int) -> list[str]:
    """Return the command that opens a file at a line; [] if no editor is known.

    In VS Code's terminal that is VS Code. Otherwise it is $VISUAL or $EDITOR, or VS Code if it is
    installed.
    """
    named = os.environ.get("VISUAL") or os.environ.get("EDITOR") or ""
    code = shutil.which("code")
    if code and (os.environ.get("TERM_PROGRAM") == "vscode" or not named):
        return [code, "--goto", f"{path}:{line}"]
    words = shlex.split(named, posix=os.name != "nt")
    if not words:
        return []
    editor = Path(words[0].strip('"')).stem.lower()
    if editor in WITH_GOTO:
        return [*words, "--goto", f"{path}:{line}"]
    if editor in WITH_COLON:
        return [*words, f"{path}:{line}"]
    return [*words, f"+{line}", str(path)] if editor in WITH_PLUS else [*words, str(path)]


def open_in_editor(path: Path, line: int) -> bool:
    """Open a file at a line and wait for the editor. Return False if no editor is known.

    Raises CourseError if the editor cannot be started.
    """
    command = editor_command(path, line)
    if not command:
        return False
    try:
        subprocess.run(command, check=False)
    except OSError as error:
        raise CourseError(f"{command[0]} cannot be started: {error.strerror}") from None
    return True
