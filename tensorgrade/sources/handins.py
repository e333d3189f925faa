"""What was handed in: `SUBMITTED/<student>/<chapter>/<chapter>.py` or `.ipynb`."""

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

from ..exchange.text import printable
from .notebooks import source_in, written
from .submission import Unreadable

NOTHING = "nothing "  # how digests begin of hand-ins in which there is nothing
# Python calls these printable, and nobody sees them.
INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)


@dataclass(frozen=True)
class Handin:
    """What one learner handed in for one chapter. It travels to workers as bytes.

    reason: why there is nothing to grade, as a sentence; empty where there is. missing: nothing
    was handed in at all.
    """

    student: str
    chapter: str
    filename: str = ""
    content: bytes = b""
    reason: str = ""
    missing: bool = False

    @property
    def digest(self) -> str:
        """Changes when the content, or the reason for its absence, changes."""
        digest = hashlib.sha256(self.content + self.reason.encode()).hexdigest()[:32]
        return digest if self.content else f"{NOTHING}{digest}"


def escaped(name: str) -> str:
    """A learner's name as it stands in rows, reports and gradebooks, whatever the folder's name.

    What cannot be seen is written out, so that two names that look alike are told apart.

    >>> escaped("José"), escaped("Jo\u00adsé")
    ('José', 'Jo\\\\xadsé')
    """
    whole = name.replace("\\", "\\\\")
    return "".join(c if is_seen(c) else c.encode("unicode_escape").decode() for c in whole)


def is_seen(character: str) -> bool:
    """Whether somebody who reads a name sees this character."""
    return character.isprintable() and not INVISIBLE.match(character)


def read_handin(student: str, folder: Path, most_bytes: int, exercises: set[str]) -> Handin:
    """The notebook or script in a chapter's folder; where there are both, the one that counts."""
    chapter = folder.name
    try:
        return file_that_counts(student, folder, most_bytes, exercises)
    except OSError as error:
        return Handin(student, chapter, reason=f"The folder cannot be read: {error.strerror}.")


def file_that_counts(student: str, folder: Path, most_bytes: int, exercises: set[str]) -> Handin:
    """The notebook or the script; a sentence on what is there instead. Raises OSError."""
    chapter = folder.name
    notebook, script = (
        read_file(student, chapter, folder / f"{chapter}{suffix}", most_bytes)
        for suffix in (".ipynb", ".py")
    )
    if notebook is not None and script is not None:
        return notebook if notebook_counts(notebook.content, exercises) else script
    return notebook or script or Handin(student, chapter, reason=what_is_there(folder))


def read_file(student: str, chapter: str, path: Path, most_bytes: int) -> Handin | None:
    """The hand-in in one file, with a reason where it cannot be read; None without a file."""
    if path.is_symlink():
        return Handin(student, chapter, path.name, reason=f"{path.name} is a link, not a file.")
    if not path.is_file():
        return None
    if path.stat().st_size > 8 * most_bytes:
        return Handin(
            student, chapter, path.name, reason=f"{path.name} is too large to be an answer."
        )
    return Handin(student, chapter, path.name, path.read_bytes())


def notebook_counts(notebook: bytes, exercises: set[str]) -> bool:
    """Of a notebook and a script handed in together, whether the notebook is what counts.

    It does if any exercise is written in it. Who fetches a chapter and works in a script hands in
    an untouched notebook beside it; a helper alone, or a file that nobody can read, is no answer.
    """
    try:
        return bool(exercises & written(source_in(notebook, "the notebook.ipynb").text))
    except (Unreadable, RecursionError):  # an answer too deep to be looked at is none
        return False


def what_is_there(folder: Path) -> str:
    """A sentence on what stands where the chapter's file should."""
    names = sorted(shown(path.name) for path in folder.iterdir())[:5]
    there = f"there is {', '.join(names)}" if names else "the folder is empty"
    return f"There is no file {folder.name}.py or {folder.name}.ipynb; {there}."


def shown(name: str) -> str:
    """A file's name on one line, without anything that a terminal would obey."""
    return printable(name).replace("\n", "?").replace("\t", "?")
