"""How course systems give out what a class handed in: whose each file is, and when it came.

Moodle, Canvas and Gradescope give a zip (or the folder that it was unpacked to), git hosts a
folder for each learner. File names and times are read here; what is in learners' files is not.
"""

import re
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path, PurePosixPath

import yaml

from ..course import CourseError
from ..lateness import written, zone_named
from ..sources.near_misses import is_meant
from .roster import Roster


@dataclass(frozen=True)
class Piece:
    """A file of a download. path: in it, with slashes. size: in bytes. read: gives them."""

    path: str
    size: int
    read: Callable[[], bytes]

    @property
    def parts(self) -> tuple[str, ...]:
        """The path's folders and the file's name."""
        return PurePosixPath(self.path).parts


@dataclass(frozen=True)
class Arrived:
    """A file and whose it is.

    student: the name for rows. known_as: what the system calls them. name: the file's, as it was
    handed in. submitted: as lateness.py writes it; empty where the system does not say. turn:
    grows with each version of a file. remark: what else the system says.
    """

    student: str
    known_as: str
    name: str
    piece: Piece
    submitted: str = ""
    turn: int = 0
    remark: str = ""


@dataclass(frozen=True)
class Download:
    """What a system gave out, a roster that may be empty, and the time zone of the system."""

    pieces: list[Piece]
    roster: Roster
    zone: str = "UTC"


def pieces_in(source: Path) -> list[Piece]:
    """All files of a folder or a zip, in the order of their paths. Raises CourseError."""
    try:
        if source.is_dir():
            files = [path for path in sorted(source.rglob("*")) if path.is_file()]
            found = [piece_of(path, source) for path in files if not path.is_symlink()]
        else:
            found = pieces_in_zip(source)
    except (OSError, zipfile.BadZipFile) as error:
        why = getattr(error, "strerror", None) or error
        raise CourseError(f"{source} is neither a folder nor a zip: {why}") from None
    return [piece for piece in found if all(map(is_meant, piece.parts))]


def piece_of(path: Path, folder: Path) -> Piece:
    """A file in a folder."""
    return Piece(path.relative_to(folder).as_posix(), path.stat().st_size, path.read_bytes)


def pieces_in_zip(source: Path) -> list[Piece]:
    """The files in a zip. Raises OSError, BadZipFile."""
    archive = zipfile.ZipFile(source)
    infos = sorted(archive.infolist(), key=lambda info: info.filename)
    return [
        Piece(info.filename, info.file_size, partial(archive.read, info))
        for info in infos
        if not info.is_dir()
    ]


MOODLE = re.compile(r"(?P<name>.+?)_(?P<id>\d+)_assignsubmission_(?P<kind>[a-z]+)_?(?P<file>.*)")
# How Moodle's grading worksheet writes when something was handed in, in English.
MOODLE_TIMES = ("%A, %d %B %Y, %I:%M %p", "%A, %d %B %Y, %H:%M", "%d %B %Y, %I:%M %p")


def moodle(download: Download) -> Iterator[Arrived]:
    """`Ada Lovelace_12345_assignsubmission_file_/ch1.py`, or without folders.

    The number is the one that the grading worksheet calls `Participant 12345`; with that
    worksheet as roster, names and times are known.
    """
    for piece in download.pieces:
        depth = next((n for n, part in enumerate(piece.parts) if MOODLE.fullmatch(part)), None)
        if depth is None:
            continue
        found = MOODLE.fullmatch(piece.parts[depth])
        if found is None or found["kind"] != "file":
            continue
        name = piece.parts[-1] if depth < len(piece.parts) - 1 else found["file"]
        row = moodle_row(download.roster, found["name"], found["id"])
        student = named(download.roster, row) or f"{found['name']}_{found['id']}"
        said = row.get("last modified (submission)", "-")
        at = moodle_time(said, download.zone)
        remark = "" if at or said == "-" else "its worksheet says no time in English"
        yield Arrived(student, found["name"], name, piece, at, remark=remark)


def moodle_row(roster: Roster, name: str, number: str) -> dict[str, str]:
    """What a roster says of somebody: by the number, else by the full name."""
    row = roster.find("identifier", f"Participant {number}") or roster.find("full name", name)
    if row is None:
        both = [r for r in roster.rows if full_name(r).casefold() == name.casefold()]
        row = both[0] if len(both) == 1 else None
    return row or {}


def full_name(row: dict[str, str]) -> str:
    """First and last name of a participants' list."""
    return f"{row.get('first name', '')} {row.get('last name', '')}".strip()


def moodle_time(text: str, zone: str) -> str:
    """When something was handed in, from a worksheet's words; empty where it says nothing known."""
    for form in MOODLE_TIMES:
        try:
            return written(datetime.strptime(text, form).replace(tzinfo=zone_named(zone)))
        except ValueError:
            continue
    return ""


CANVAS = re.compile(r"(?P<name>[^_]+)_(?P<late>LATE_)?(?P<user>\d+)_(?P<id>\d+)_(?P<file>.+)")


def canvas(download: Download) -> Iterator[Arrived]:
    """`lovelaceada_LATE_101_456_ch1.py`; with the gradebook's CSV as roster, logins are known."""
    for piece in download.pieces:
        found = CANVAS.fullmatch(piece.parts[-1])
        if found is None:
            continue
        row = download.roster.find("id", found["user"]) or {}
        student = named(download.roster, row) or f"{found['name']}_{found['user']}"
        remark = "late, says Canvas" if found["late"] else ""
        turn = int(found["id"])
        yield Arrived(student, found["name"], found["file"], piece, turn=turn, remark=remark)


GRADESCOPE = re.compile(r"submission_\d+")
METADATA = "submission_metadata.yml"


def gradescope(download: Download) -> Iterator[Arrived]:
    """`assignment_1_export/submission_2/ch1.py`; `submission_metadata.yml` says whose it is."""
    told = gradescope_metadata(download)
    for piece in download.pieces:
        key = next((part for part in piece.parts[:-1] if GRADESCOPE.fullmatch(part)), "")
        entry = told.get(key) or {}
        at = entry.get(":created_at")
        for person in entry.get(":submitters") or []:
            sid, email = str(person.get(":sid") or ""), str(person.get(":email") or "")
            name = str(person.get(":name") or "")
            row = download.roster.find("sid", sid) or download.roster.find("email", email) or {}
            student = named(download.roster, row) or sid or email or name
            when = written(aware(at)) if isinstance(at, datetime) else ""
            yield Arrived(student, name or email, piece.parts[-1], piece, when)


def gradescope_metadata(download: Download) -> dict[str, dict]:
    """What Gradescope says of each submission. Raises CourseError."""
    file = next((piece for piece in download.pieces if piece.parts[-1] == METADATA), None)
    if file is None:
        raise CourseError(f"there is no {METADATA}; take Gradescope's export of submissions whole")
    try:
        told = yaml.safe_load(file.read())
    except yaml.YAMLError as error:
        raise CourseError(f"{file.path} cannot be read: {str(error).splitlines()[0]}") from None
    if not isinstance(told, dict) or not all(isinstance(v, dict) for v in told.values()):
        raise CourseError(f"{file.path} does not say whose each submission is")
    return told


def aware(moment: datetime) -> datetime:
    """A moment in its time zone; UTC without one."""
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


LOGINS = ("github_username", "username")  # the second in Classroom 50's own list


def git(download: Download) -> Iterator[Arrived]:
    """A folder or a repository for each learner, beside each other.

    What all folders' names begin with, up to a dash, is the assignment's name. A clone does not
    say when something was pushed. The hosts' logins know no capitals; a roster says how they are
    written.
    """
    folders = sorted({piece.parts[0] for piece in download.pieces if len(piece.parts) > 1})
    prefix = common_prefix(folders)
    for piece in download.pieces:
        if len(piece.parts) > 1:
            login = piece.parts[0].removeprefix(prefix)
            found = (download.roster.find(column, login) for column in LOGINS)
            row = next(filter(None, found), {})
            student = named(download.roster, row) or login
            yield Arrived(student, piece.parts[0], piece.parts[-1], piece)


def common_prefix(names: list[str]) -> str:
    """What several names begin with, up to its last dash.

    >>> common_prefix(["hw-1-ada", "hw-1-adam"]), common_prefix(["ada", "adam"])
    ('hw-1-', '')
    """
    if len(names) < 2:
        return ""
    first, last = min(names), max(names)
    same = next(
        (n for n, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first)
    )
    return first[: first.rfind("-", 0, same) + 1]


def named(roster: Roster, row: dict[str, str]) -> str:
    """What a roster calls somebody; empty where it does not know them."""
    return row.get(roster.column, "")


LAYOUTS: dict[str, Callable[[Download], Iterator[Arrived]]] = {
    "moodle": moodle,
    "canvas": canvas,
    "gradescope": gradescope,
    "git": git,
}
