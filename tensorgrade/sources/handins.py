"""What was handed in: `SUBMITTED/<student>/<chapter>/<chapter>.py` or `.ipynb`."""

import hashlib
import re
from dataclasses import dataclass, replace
from pathlib import Path

from ..course import Limits
from ..exchange.text import printable

NOTHING = "nothing "  # how digests begin of hand-ins in which there is nothing
# Python calls these printable, and nobody sees them.
INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)


@dataclass(frozen=True)
class Handin:
    """What one learner handed in for one chapter. It travels to workers as bytes.

    filename, content: of the one file, or of the notebook. script: what was handed in beside a
    notebook, if anything. reason: why there is nothing to grade, as a sentence; empty where there
    is. missing: nothing was handed in at all.
    """

    student: str
    chapter: str
    filename: str = ""
    content: bytes = b""
    reason: str = ""
    missing: bool = False
    script: bytes = b""

    @property
    def digest(self) -> str:
        """Changes when the content, or the reason for its absence, changes."""
        whole = b"\0".join((self.content, self.script, self.reason.encode()))
        digest = hashlib.sha256(whole).hexdigest()[:32]
        return digest if self.content else f"{NOTHING}{digest}"

    def without_notebook(self) -> "Handin":
        """The script alone, where a notebook beside it cannot be read."""
        name = Path(self.filename).with_suffix(".py").name
        return replace(self, filename=name, content=self.script, script=b"")


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


def read_handin(student: str, folder: Path, limits: Limits) -> Handin:
    """The notebook or script in a chapter's folder, or both: which counts, its reader finds out."""
    try:
        return files_in(student, folder, limits)
    except OSError as error:
        return Handin(student, folder.name, reason=f"The folder cannot be read: {error.strerror}.")


def files_in(student: str, folder: Path, limits: Limits) -> Handin:
    """What a chapter's folder holds; a sentence on what is there instead. Raises OSError."""
    chapter = folder.name
    notebook = read_file(student, folder / f"{chapter}.ipynb", limits.notebook_bytes)
    script = read_file(student, folder / f"{chapter}.py", limits.source_bytes)
    if notebook is None or script is None:
        return notebook or script or Handin(student, chapter, reason=what_is_there(folder))
    if notebook.reason or script.reason:
        return script if notebook.reason else notebook
    return replace(notebook, script=script.content)


def read_file(student: str, path: Path, most_bytes: int) -> Handin | None:
    """The hand-in in one file, with a reason where it cannot be read; None without a file."""
    nothing = Handin(student, path.stem, path.name)
    if path.is_symlink():
        return replace(nothing, reason=f"{path.name} is a link, not a file.")
    if not path.is_file():
        return None
    if path.stat().st_size > most_bytes:
        return replace(
            nothing, reason=f"{path.name} has more than {most_bytes} bytes, which no answer needs."
        )
    return replace(nothing, content=path.read_bytes())


def what_is_there(folder: Path) -> str:
    """A sentence on what stands where the chapter's file should."""
    names = sorted(shown(path.name) for path in folder.iterdir())[:5]
    there = f"there is {', '.join(names)}" if names else "the folder is empty"
    return f"There is no file {folder.name}.py or {folder.name}.ipynb; {there}."


def shown(name: str) -> str:
    """A file's name on one line, without anything that a terminal would obey."""
    return printable(name).replace("\n", "?").replace("\t", "?")
