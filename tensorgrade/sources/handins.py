"""What was handed in: `SUBMITTED/<student>/<chapter>/<chapter>.py` or `.ipynb`."""

import codecs
import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from ..course import Limits
from ..exchange.text import JOINERS, printable
from ..lateness import is_possible, now, read_time, written
from .beside import Beside

NOTHING = "nothing "  # how digests begin of hand-ins in which there is nothing
WEIGHTS = "+"  # what stands in a digest between that of the code and that of weights
LAST_WITHOUT_JOINERS = "\u05ff"  # scripts up to Hebrew are written without joiners
# Python calls these printable, and nobody sees them.
INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)


@dataclass(frozen=True)
class Handin:
    """What one learner handed in for one chapter. It travels to workers as bytes.

    filename, content: of the one file, or of the notebook. script: what was handed in beside a
    notebook, if anything. reason: why there is nothing to grade, as a sentence; empty where there
    is. missing: nothing was handed in at all. submitted: when, as lateness.py writes it; empty
    where nobody knows. time_note: why that is not the time that was said. by_file: whether that is
    the time of the file, for want of a `timestamp.txt`. beside: the files of
    weights that the chapter asks for, each of them there or with the reason why not.
    """

    student: str
    chapter: str
    filename: str = ""
    content: bytes = b""
    reason: str = ""
    missing: bool = False
    script: bytes = b""
    submitted: str = ""
    time_note: str = ""
    by_file: bool = False
    beside: tuple[Beside, ...] = field(default=(), repr=False)

    @property
    def digest(self) -> str:
        """Changes when the content, or the reason for its absence, changes.

        What weights change stands behind a sign of its own: whose code is the same can still be
        seen.
        """
        whole = b"\0".join((self.content, self.script, self.reason.encode()))
        digest = hashlib.sha256(whole).hexdigest()[:32]
        if not self.content:
            return f"{NOTHING}{digest}"
        files = [part for one in self.beside for part in (one.content, one.reason.encode())]
        sizes = " ".join(str(len(part)) for part in files).encode()
        weights = hashlib.sha256(b"\0".join((sizes, *files))).hexdigest()[:16]
        return f"{digest}{WEIGHTS}{weights}" if files else digest

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
    return "".join(
        c if is_seen(c) or is_joiner(whole, at) else c.encode("unicode_escape").decode()
        for at, c in enumerate(whole)
    )


def is_joiner(name: str, at: int) -> bool:
    """Return True if a character joins or parts letters of a script that needs it.

    >>> is_joiner("\u0646\u200c\u0647", 1), is_joiner("ad\u200ca", 2)
    (True, False)
    """
    around = (name[at - 1 : at], name[at + 1 : at + 2])
    return name[at] in JOINERS and all(one > LAST_WITHOUT_JOINERS for one in around)


def is_seen(character: str) -> bool:
    """Whether somebody who reads a name sees this character."""
    return character.isprintable() and not INVISIBLE.match(character)


def read_handin(student: str, folder: Path, limits: Limits) -> Handin:
    """The notebook or script in a chapter's folder, or both: which counts, its reader finds out."""
    try:
        found = files_in(student, folder, limits)
        files = [folder / f"{folder.name}.{kind}" for kind in ("ipynb", "py")]
        submitted, note = handed_in_at(folder, files)
        return replace(
            found, submitted=submitted, time_note=note, by_file=rests_on_file(folder, submitted)
        )
    except OSError as error:
        return Handin(student, folder.name, reason=f"The folder cannot be read: {error.strerror}.")


def files_in(student: str, folder: Path, limits: Limits) -> Handin:
    """What a chapter's folder holds; a sentence on what is there instead. Raises OSError."""
    chapter = folder.name
    notebook = read_file(student, folder / f"{chapter}.ipynb", limits.notebook_bytes)
    script = read_file(student, folder / f"{chapter}.py", limits.source_bytes)
    return of_both(notebook, script) or nothing_in(student, folder)


NOT_HANDED_IN = "Nothing was handed in for this chapter."


def nothing_in(student: str, folder: Path) -> Handin:
    """The hand-in in a folder without the chapter's file; an empty one is nothing at all."""
    if all(path.name == STAMP or path.name.startswith(".") for path in folder.iterdir()):
        return Handin(student, folder.name, reason=NOT_HANDED_IN, missing=True)
    return Handin(student, folder.name, reason=what_is_there(folder))


def of_both(notebook: Handin | None, script: Handin | None) -> Handin | None:
    """The hand-in that a notebook and a script are together."""
    if notebook is None or script is None:
        return notebook or script
    if notebook.reason or script.reason:
        return script if notebook.reason else notebook
    return replace(notebook, script=script.content)


STAMP = "timestamp.txt"  # as nbgrader's exchange writes it, and `tensorgrade collect`
NO_STAMP = ".no_timestamp"  # nobody knows: nbgrader's formgrader cannot read an empty stamp
REPLACED = ".time_replaced"  # `tensorgrade collect` says here why the stamp is not the system's
LONGEST_STAMP, LONGEST_NOTE = 64, 200


def handed_in_at(folder: Path, files: Iterable[Path]) -> tuple[str, str]:
    """Return when a chapter was submitted, and a sentence if an impossible time was replaced.

    That is what `timestamp.txt` says, else when the newest file was written. Empty if there is
    neither, and if `.no_timestamp` says that nobody knows. Nobody gains anything by a time that
    cannot be, or by an empty stamp: the file's own time counts.
    """
    text = stamp_in(folder)
    moment = stamped(text) if text else None
    if moment is not None:
        return written(moment), stamp_in(folder, REPLACED) or ""
    if text is None and (folder / NO_STAMP).exists():
        return "", ""
    told = (
        f"{STAMP} of {folder.name} tells no possible time; when the newest file was written counts"
    )
    times = [written_at(file) for file in files if file.exists()]
    return (written(max(times)) if times else ""), ("" if text is None else told)


def rests_on_file(folder: Path, submitted: str) -> bool:
    """Return True if a submission's time is only that of its file."""
    text = stamp_in(folder)
    return bool(submitted) and (text is None or stamped(text) is None)


def stamped(text: str) -> datetime | None:
    """Return the time in a stamp; None if nothing can have been submitted then."""
    try:
        moment = read_time(text) if len(text) <= LONGEST_STAMP else None
    except ValueError:
        return None
    return moment if moment is not None and is_possible(moment) else None


def written_at(file: Path) -> datetime:
    """Return when a file was written; if that cannot be, when it came here."""
    status = file.lstat()
    for seconds in (status.st_mtime, status.st_ctime):
        try:
            moment = datetime.fromtimestamp(int(seconds), UTC)
        except (ValueError, OverflowError, OSError):
            continue
        if is_possible(moment):
            return moment
    return now().replace(microsecond=0)


def stamp_in(folder: Path, name: str = STAMP) -> str | None:
    """Return the beginning of what a chapter's stamp says; None if it cannot be read."""
    stamp = folder / name
    most = LONGEST_STAMP if name == STAMP else LONGEST_NOTE
    try:
        if stamp.is_symlink() or not stamp.is_file():
            return None
        with stamp.open("rb") as file:
            return shown(file.read(most + 1).decode("ascii", "replace").strip())
    except OSError:
        return None


def as_meant(handin: Handin) -> tuple[Handin, str]:
    """A hand-in whose `.py` is a notebook, or no UTF-8, as what it is; and a sentence on that."""
    name, content = handin.filename, handin.content
    if not name.endswith(".py") or not content:
        return handin, ""
    if content.lstrip()[:1] == b"{" and b'"cells"' in content:
        notebook = f"{handin.chapter}.ipynb"
        return replace(handin, filename=notebook), f"{name} is a notebook, and read as one"
    try:
        content.decode()
    except UnicodeDecodeError:
        kind = "UTF-16" if content.startswith(UTF_16) else "no UTF-8"
        return handin, f"{name} is {kind}, and read all the same where it is text"
    return handin, ""


UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


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
    ours = (STAMP, NO_STAMP, REPLACED)
    names = sorted(shown(path.name) for path in folder.iterdir() if path.name not in ours)[:5]
    there = f"there is {', '.join(names)}" if names else "the folder is empty"
    return f"{no_file(folder.name)}; {there}."


def no_file(chapter: str) -> str:
    """How the reason begins where a chapter's folder holds other things than the chapter's file."""
    return f"There is no file {chapter}.py or {chapter}.ipynb"


def shown(name: str) -> str:
    """A file's name on one line, without anything that a terminal would obey."""
    return printable(name).replace("\n", "?").replace("\t", "?")
