"""Submissions: `SUBMITTED/<student>/<chapter>/<chapter>.py` or `.ipynb`."""

import codecs
import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from ..course import Limits
from ..exchange.text import JOINERS, printable
from ..lateness import is_possible, now, read_time, with_zone, written
from ..runner.source import Unreadable, decode

NOTHING = "nothing "  # start of the digests of empty submissions
LAST_WITHOUT_JOINERS = "\u05ff"  # scripts up to Hebrew are written without joiners
# Python calls these characters printable although readers cannot see them.
INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)


@dataclass(frozen=True)
class SubmittedFiles:
    """One learner's submission for one chapter, which travels to workers as bytes.

    filename, content: of the only file, or of the notebook.
    script: a script submitted along with a notebook, if any.
    reason: a sentence on why there is nothing to grade; empty if there is something.
    missing: True if nothing was submitted at all. no_file: True if something was, but not the
        chapter's file.
    submitted: the time, in the format of lateness.py; empty if it is unknown.
    time_note: why `submitted` differs from the time that was stated.
    by_file: True if the time is that of the file, because there is no valid `timestamp.txt`.
    """

    student: str
    chapter: str
    filename: str = ""
    content: bytes = b""
    reason: str = ""
    missing: bool = False
    no_file: bool = False
    script: bytes = b""
    submitted: str = ""
    time_note: str = ""
    by_file: bool = False

    @property
    def digest(self) -> str:
        """Return a digest that changes with the content, or with the reason for its absence."""
        whole = b"\0".join((self.content, self.script, self.reason.encode()))
        digest = hashlib.sha256(whole).hexdigest()[:32]
        return digest if self.content else f"{NOTHING}{digest}"

    def without_notebook(self) -> "SubmittedFiles":
        """Return the script alone, for a notebook that cannot be read."""
        name = Path(self.filename).with_suffix(".py").name
        return replace(self, filename=name, content=self.script, script=b"")


def escaped(name: str) -> str:
    """Return a learner's name as rows, reports and gradebooks show it.

    Invisible characters are escaped, so that names that look the same remain distinct. Characters
    that join or separate letters stay between letters of scripts that need them.

    >>> escaped("José"), escaped("Jo\u00adsé"), escaped("ad\u200ca")
    ('José', 'Jo\\\\xadsé', 'ad\\\\u200ca')
    >>> escaped("\u0646\u200c\u0647") == "\u0646\u200c\u0647"
    True
    """
    whole = name.replace("\\", "\\\\")
    characters = []
    for at, c in enumerate(whole):
        around = (whole[at - 1 : at], whole[at + 1 : at + 2])
        joins = c in JOINERS and all(one > LAST_WITHOUT_JOINERS for one in around)
        characters.append(c if joins or is_seen(c) else c.encode("unicode_escape").decode())
    return "".join(characters)


def is_seen(character: str) -> bool:
    """Return True if readers can see this character."""
    return character.isprintable() and not INVISIBLE.match(character)


def read_submission_folder(student: str, folder: Path, limits: Limits) -> SubmittedFiles:
    """Return the notebook and the script in a chapter's folder.

    If there are both, `source_that_counts` (runner/reading.py) decides later which one is graded.
    """
    try:
        found = files_in(student, folder, limits)
        files = [folder / f"{folder.name}.{kind}" for kind in ("ipynb", "py")]
        submitted, note = submission_time(folder, files)
        return replace(
            found, submitted=submitted, time_note=note, by_file=rests_on_file(folder, submitted)
        )
    except OSError as error:
        return SubmittedFiles(
            student, folder.name, reason=f"The folder cannot be read: {error.strerror}."
        )


def files_in(student: str, folder: Path, limits: Limits) -> SubmittedFiles:
    """Return the submission in a chapter's folder, or the reason it is absent. Raises OSError."""
    chapter = folder.name
    notebook = read_file(student, folder / f"{chapter}.ipynb", limits.notebook_bytes)
    script = read_file(student, folder / f"{chapter}.py", limits.source_bytes)
    if found := of_both(notebook, script):
        return found
    if all(path.name == STAMP or path.name.startswith(".") for path in folder.iterdir()):
        return SubmittedFiles(student, folder.name, reason=NOT_SUBMITTED, missing=True)
    return SubmittedFiles(student, folder.name, reason=what_is_there(folder), no_file=True)


NOT_SUBMITTED = "There is no submission for this chapter."


def of_both(
    notebook: SubmittedFiles | None, script: SubmittedFiles | None
) -> SubmittedFiles | None:
    """Return one submission from a notebook and a script, of which each may be None.

    If only one of them can be read, return that one. If both can, the result holds both.
    """
    if notebook is None or script is None:
        return notebook or script
    if notebook.reason or script.reason:
        return script if notebook.reason else notebook
    return replace(notebook, script=script.content)


STAMP = "timestamp.txt"  # written by nbgrader's exchange and by `tensorgrade collect`
NO_STAMP = ".no_timestamp"  # an unknown time; nbgrader's formgrader cannot read an empty stamp
REPLACED = ".time_replaced"  # `tensorgrade collect` writes here why the stamp is not the system's
LONGEST_STAMP, LONGEST_NOTE = 64, 200


def submission_time(folder: Path, files: Iterable[Path]) -> tuple[str, str]:
    """Return when a chapter was submitted, and a sentence if an impossible time was replaced.

    The time comes from `timestamp.txt`, otherwise from the newest file. It is empty if there is
    neither, or if `.no_timestamp` marks it as unknown. For an impossible time or an empty stamp the
    file's own time counts, so that neither is an advantage.
    """
    text = stamp_in(folder)
    moment = stamped(text) if text else None
    if moment is not None:
        return written(moment), stamp_in(folder, REPLACED) or ""
    if text is None and (folder / NO_STAMP).exists():
        return "", ""
    told = f"{STAMP} of {folder.name} has no possible time; the newest file's own time counts"
    times = [written_at(file) for file in files if file.exists()]
    return (written(max(times)) if times else ""), ("" if text is None else told)


def rests_on_file(folder: Path, submitted: str) -> bool:
    """Return True if a submission's time is only that of its file."""
    text = stamp_in(folder)
    return bool(submitted) and (text is None or stamped(text) is None)


def lacks_zone(folder: Path) -> bool:
    """Return True if a chapter's stamp is a time without a time zone."""
    text = stamp_in(folder) or ""
    return bool(text) and stamped(text) is not None and with_zone(text, "UTC") != text


def stamped(text: str) -> datetime | None:
    """Return the time in a stamp; None if nothing can have been submitted then."""
    try:
        moment = read_time(text) if len(text) <= LONGEST_STAMP else None
    except ValueError:
        return None
    return moment if moment is not None and is_possible(moment) else None


def written_at(file: Path) -> datetime:
    """Return when a file was written; if that time is impossible, when it arrived here.

    If that time is impossible too, return the current time.
    """
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
    """Return the beginning of a chapter's stamp; None if it cannot be read."""
    stamp = folder / name
    most = LONGEST_STAMP if name == STAMP else LONGEST_NOTE
    try:
        if stamp.is_symlink() or not stamp.is_file():
            return None
        with stamp.open("rb") as file:
            return shown(file.read(most + 1).decode("ascii", "replace").strip())
    except OSError:
        return None


def recognize_format(submitted_files: SubmittedFiles) -> tuple[SubmittedFiles, str]:
    """Recognize a `.py` that is a notebook or not UTF-8; return it with a sentence about that."""
    name, content = submitted_files.filename, submitted_files.content
    if not name.endswith(".py") or not content:
        return submitted_files, ""
    if content.lstrip()[:1] == b"{" and b'"cells"' in content:
        notebook = f"{submitted_files.chapter}.ipynb"
        return replace(submitted_files, filename=notebook), f"{name} is a notebook, and read as one"
    try:
        content.decode()
        return submitted_files, ""
    except UnicodeDecodeError:
        return submitted_files, f"{name} {encoding_note(name, content)}"


def encoding_note(name: str, content: bytes) -> str:
    """Return what a script is that is not UTF-8, and if it can be read."""
    try:
        decode(content, name)
    except Unreadable:
        return "is not text in a known encoding, and cannot be read"
    return (
        f"is not UTF-8 but {'UTF-16' if content.startswith(UTF_16) else '8-bit text'}; it is read"
    )


UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def read_file(student: str, path: Path, most_bytes: int) -> SubmittedFiles | None:
    """Return the submission in one file, or the reason it cannot be read; None without a file."""
    nothing = SubmittedFiles(student, path.stem, path.name)
    if path.is_symlink():
        return replace(nothing, reason=f"{path.name} is a link, not a file.")
    if not path.is_file():
        return None
    if path.stat().st_size > most_bytes:
        return replace(
            nothing, reason=f"{path.name} has more than {most_bytes} bytes, which no answer needs."
        )
    content = path.read_bytes()
    return replace(nothing, content=content, reason=reason_if_empty(path.name, content))


def reason_if_empty(name: str, content: bytes) -> str:
    """Return a sentence on a file without any text, which is a failed upload; "" for others."""
    return "" if content.strip() else f"{name} is empty."


def what_is_there(folder: Path) -> str:
    """Return a sentence on the files found in place of the chapter's file."""
    visible = (path.name for path in folder.iterdir() if not path.name.startswith("."))
    names = sorted(shown(name) for name in visible if name != STAMP)[:5]
    there = f"there is {', '.join(names)}" if names else "the folder is empty"
    return f"There is no file {folder.name}.py or {folder.name}.ipynb; {there}."


def shown(name: str) -> str:
    """Return a file's name on one line, without control characters for a terminal."""
    return printable(name).replace("\n", "?").replace("\t", "?")
