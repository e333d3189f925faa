"""Finds what was handed in: `SUBMITTED/<student>/<chapter>/<chapter>.py` or `.ipynb`."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from ..course import Course
from ..submission import Unreadable, decode
from ..observation import printable


@dataclass(frozen=True)
class Handin:
    """What one learner handed in for one chapter. It travels to workers as bytes.

    reason: why there is nothing to grade, as a sentence; empty where there is.
    """

    student: str
    chapter: str
    filename: str = ""
    content: bytes = b""
    reason: str = ""

    @property
    def digest(self) -> str:
        """Changes when the content, or the reason for its absence, changes."""
        return hashlib.sha256(self.content + self.reason.encode()).hexdigest()[:32]


def find_handins(submitted: Path, course: Course) -> tuple[list[Handin], list[str]]:
    """All hand-ins in a fixed order, and a note on every folder that is none."""
    chapters = {chapter.name for chapter in course.chapters}
    handins, notes = [], []
    for student in sorted(folder for folder in submitted.iterdir() if real_folder(folder)):
        for folder in sorted(student.iterdir()):
            if folder.name in chapters and real_folder(folder):
                handins.append(read_handin(student.name, folder, course.limits.source_bytes, names_in(course, folder.name)))
            else:
                name = f"{student.name}/{shown(folder.name)}"
                notes.append(f"{name} is no chapter of this course; it was left out")
    return handins, notes


def names_in(course: Course, chapter: str) -> set[str]:
    """The names of a chapter's exercises."""
    return {exercise.name for exercise in course.chapter(chapter).exercises}


def real_folder(path: Path) -> bool:
    """A folder that lies here itself (a link could lead anywhere), with a name that can be shown."""
    usable = path.name.isprintable() and not path.name.startswith(".")
    return usable and path.is_dir() and not path.is_symlink()


def read_handin(student: str, folder: Path, most_bytes: int, exercises: set[str]) -> Handin:
    """The notebook or script in a chapter's folder.

    Where there are both, the notebook counts if any exercise is written in it, else the script.
    """
    chapter = folder.name
    found = [read_file(student, chapter, folder / f"{chapter}{suffix}", most_bytes) for suffix in (".ipynb", ".py")]
    there = [handin for handin in found if handin is not None]
    if len(there) == 2 and not is_begun(there[0], exercises):
        return there[1]
    return there[0] if there else Handin(student, chapter, reason=what_is_there(folder))


def read_file(student: str, chapter: str, path: Path, most_bytes: int) -> Handin | None:
    """The hand-in in one file, with a reason where it cannot be read; None where there is no file."""
    if path.is_symlink():
        return Handin(student, chapter, path.name, reason=f"{path.name} is a link, not a file.")
    if not path.is_file():
        return None
    if path.stat().st_size > 8 * most_bytes:
        return Handin(student, chapter, path.name, reason=f"{path.name} is too large to be an answer.")
    return Handin(student, chapter, path.name, path.read_bytes())


def is_begun(notebook: Handin, exercises: set[str]) -> bool:
    """Whether any exercise is written in a notebook; one that cannot be read is not begun."""
    from ..extracting import source_from_notebook, written

    if notebook.reason:
        return False
    try:
        text = decode(notebook.content, notebook.filename)
        return bool(exercises & written(source_from_notebook(text, notebook.filename)))
    except Unreadable:
        return False


def what_is_there(folder: Path) -> str:
    """A sentence on what stands where the chapter's file should."""
    names = sorted(shown(path.name) for path in folder.iterdir())[:5]
    found = f"there is {', '.join(names)}" if names else "the folder is empty"
    return f"There is no file {folder.name}.py or {folder.name}.ipynb; {found}."


def shown(name: str) -> str:
    """A file's name on one line, without anything that a terminal would obey."""
    return printable(name).replace("\n", "?").replace("\t", "?")
