"""The files of a download, and what course systems and class lists say about them.

A download is a zip, or the folder that it was unpacked to. Nothing is unpacked: a path is only
compared with the names that a course system gives. A file that cannot be read raises NotRead when
it is read, and affects no other file.
"""

import os
import re
import subprocess
import tempfile
import unicodedata
import zipfile
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from ..course import CourseError
from ..folders import LEFT_BEHIND
from ..lateness import read_time, written, zone_named
from ..sources.candidates import NO_ARCHIVE, File, read_bytes, read_entry
from .people import People
from .roster import Person, Roster, Row
from .worksheet import STATUS, read_date

LARGEST = 16 << 20  # bytes of one file
PACKAGES = {"venv", "env", "virtualenv", "site-packages", "node_modules", "conda-meta"}
LEFT_OUT = PACKAGES | LEFT_BEHIND  # these may hold thousands of files
SECONDS = 20  # for git


@dataclass(frozen=True)
class Download:
    """A download, the class, and what becomes of files that are not collected.

    files: by path. teams: the members of each team in teams.csv. zone: the time zone of Moodle's
    dates. lost: files that belong to no known person, by the reason. others: people with something
    else, such as an online text, by a sentence.
    """

    source: Path
    files: list[File]
    people: People
    roster: Roster
    teams: dict[str, tuple[Person, ...]]
    zone: str = ""
    lost: dict[str, list[File]] = field(default_factory=lambda: defaultdict(list))
    others: dict[str, list[Person]] = field(default_factory=lambda: defaultdict(list))

    def members(self, team: str) -> tuple[Person, ...]:
        """Return the members of a team in teams.csv."""
        return self.teams.get(letters(team), ())

    def date_in(self, row: Row, column: str) -> str:
        """Return the time in a cell of Moodle's worksheet, in UTC; "" if there is none.

        Of an hour that clocks show twice, the first one counts. Raises CourseError for a time that
        is not understood.
        """
        cell = row.cells.get(column, "").strip("-")
        local = read_date(cell)
        if local is None and (not cell or column == STATUS):
            return ""
        if local is None:
            where = f"the roster {self.roster.path}, line {row.line}"
            raise CourseError(f"{where}: the date {cell!r} in {column!r} is not understood")
        if not self.zone:
            raise CourseError(
                "the time zone of the worksheet's dates is not known; set zone in the Lateness of "
                "course_config.py, or give --zone Europe/Berlin"
            )
        try:
            return written(local.replace(tzinfo=zone_named(self.zone)))
        except OverflowError:  # in the first or the last hours of the calendar
            return ""


def submitted_by(people: tuple[Person, ...], name: str, file: File, at: str = "") -> File:
    """Return a file of a download as one of these people.

    name: the end of its path, which the learner chose. at: the time in UTC; "" if unknown.
    """
    time, above = read_time(at).timestamp() if at else 0.0, file.path.removesuffix(name)
    return replace(file, path=name, above=above, people=people, submitted=at, time=time)


def letters(name: str) -> str:
    """Return the letters and digits of a name in a fixed order, because systems change the rest.

    Accents do not count either.

    >>> letters("Lind, Ada_M.") == letters("adamlind")
    True
    """
    whole = unicodedata.normalize("NFKD", name).casefold()
    return "".join(sorted(filter(str.isalnum, whole)))


def files_in(source: Path) -> list[File]:
    """Return the files of a zip or a folder, and links, by path. Raises CourseError.

    Hidden files and installed packages are left out. At the top a dot may be part of a name.
    """
    try:
        found = in_folder(source) if source.is_dir() else in_zip(source)
        return sorted((one for one in found if is_wanted(one.path)), key=lambda one: one.path)
    except NO_ARCHIVE as error:
        why = getattr(error, "strerror", None) or str(error)
        raise CourseError(f"{source} is neither a folder nor a zip: {why}") from None


def is_wanted(path: str) -> bool:
    """Return False for hidden files and installed packages."""
    parts = path.split("/")
    return LEFT_OUT.isdisjoint(parts) and not any(part.startswith(".") for part in parts[1:])


def in_folder(source: Path) -> Iterator[File]:
    """Yield the files below a folder. Raises OSError."""
    os.scandir(source).close()  # os.walk would treat an unreadable folder as empty
    for where, folders, names in os.walk(source):
        folders[:] = [name for name in folders if name not in LEFT_OUT]
        above = Path(where).relative_to(source)
        for name in names:
            yield File((above / name).as_posix(), partial(read_bytes, Path(where, name)))


def in_zip(source: Path) -> Iterator[File]:
    """Yield the files of a zip. Raises one of NO_ARCHIVE."""
    archive = zipfile.ZipFile(source)
    for info in archive.infolist():
        if not info.is_dir():
            yield File(info.filename, partial(read_entry, archive, info))


def commit_dates(clone: Path) -> dict[str, str]:
    """Return the date of the last commit of each file in a learner's clone; {} if unknown.

    The learner's machine sets these dates. A clone contains no date that a server has set. Its
    `.git/config` can start programs, so git reads a copy without it, as git's manual advises, and
    refuses a clone that belongs to another user.
    """
    own = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_NO_LAZY_FETCH": "1"}
    own |= {"PATH": os.environ.get("PATH", ""), "GIT_ALLOW_PROTOCOL": "file"}
    log = "log -n 1000 --first-parent --no-renames --name-only -z --format=%x01%cI".split()
    try:
        with tempfile.TemporaryDirectory() as copy:
            for command in (["clone", "--bare", "--no-local", f"{clone}/.git", copy], log):
                git = ["git", f"--git-dir={copy}", *command]
                done = subprocess.run(
                    git, env=own, capture_output=True, timeout=SECONDS, check=True
                )
    except (OSError, subprocess.SubprocessError):  # no git, or no history that it can read
        return {}
    dates: dict[str, str] = {}
    for commit in done.stdout.split(b"\1")[1:]:  # the newest one comes first
        date, *paths = commit.decode(errors="replace").split("\0")
        for path in paths:
            dates.setdefault(path.removeprefix("\n"), date)
    return dates


def time_in(text: object) -> str:
    """Return a time of Gradescope or git in UTC; "" for anything else."""
    try:
        return written(read_time(re.sub(r"(\.\d{6})\d+", r"\1", str(text))))
    except ValueError:
        return ""
