"""The files of a download, and what becomes of them.

A download is a zip, or the folder that it was unpacked to. Nothing is unpacked: a path is only
compared with the names that a course system gives. A file that cannot be read raises NotRead when
it is read, and affects no other file.
"""

import os
import subprocess
import tempfile
import unicodedata
import zipfile
from collections import defaultdict
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from ..course import Course, CourseError
from ..exchange.text import short
from ..folders import LEFT_BEHIND
from ..sources.candidates import NO_ARCHIVE, File, read_bytes, read_entry, shown
from ..sources.finding import TEAMS, About, at_most
from ..sources.submitted_files import escaped
from ..views.words import plural
from .people import People, Person, Roster
from .rules import read_teams

LINES = ("download", "file", "student", "chapter", "submitted", "submission", "result")
PACKAGES = {"venv", "env", "virtualenv", "site-packages", "node_modules", "conda-meta"}
LEFT_OUT = PACKAGES | LEFT_BEHIND  # these may hold thousands of files
SECONDS = 20  # for git
LONGEST_NOTE = 300  # characters: two lines of a wide terminal


@dataclass
class Download:
    """A download, its class, and what becomes of each file.

    files: by path. submitted: the folder to write to. only: the asked chapter; "" for all of them.
    zone: the time zone of Moodle's dates. turns: the system's number of the submission that counts
    so far, by learner and chapter. others: people with something else, such as an online text, by a
    sentence.

    lines: those of collected.csv. lost: the paths of files that could not be read, assigned or
    written, by the learner and the reason. notes: sentences. done: what became of learners'
    chapters, and the team that submitted them together. teams: the members of each team in
    teams.csv, by the letters of its name.
    """

    source: Path
    files: list[File]
    submitted: Path
    course: Course
    people: People
    roster: Roster
    only: str = ""
    zone: str = ""
    turns: dict[About, int] = field(default_factory=dict)
    others: dict[str, list[Person]] = field(default_factory=lambda: defaultdict(list))
    lines: list[dict[str, str]] = field(default_factory=list)
    lost: dict[tuple[str, str], list[str]] = field(default_factory=lambda: defaultdict(list))
    notes: list[str] = field(default_factory=list)
    done: dict[About, tuple[str, str]] = field(default_factory=dict)
    teams: dict[str, tuple[Person, ...]] = field(init=False)

    def __post_init__(self) -> None:
        """Read teams.csv. Raises CourseError."""
        found: dict[str, dict[str, Person]] = defaultdict(dict)
        known = {escaped(row["student"]): row for row in self.people.rows}
        for (student, chapter), team in read_teams(self.submitted, self.course).items():
            if student not in known:
                raise CourseError(f"{TEAMS} names {student}, who is not in people.csv")
            if self.only in ("", chapter):
                found[letters(team)][student] = known[student]
        self.teams = {team: tuple(members.values()) for team, members in found.items()}

    @property
    def chapter(self) -> str:
        """The asked chapter, or the only one that was collected; "" if there are several."""
        collected = {self.only} if self.only else {chapter for _, chapter in self.done}
        return collected.pop() if len(collected) == 1 else ""

    def tell(self, file: File, result: str, student: str = "", chapter: str = "") -> None:
        """Add a line to collected.csv."""
        path, turn = shown(file.above + file.path), str(file.turn or "")
        cells = (self.source.name, path, student, chapter, file.submitted, turn, result)
        self.lines.append(dict(zip(LINES, cells, strict=True)))

    def lose(self, file: File, why: str, student: str = "", chapter: str = "") -> None:
        """Add a line, and a sentence, on a file that is lost."""
        self.tell(file, f"left out: {why}", student, chapter)
        self.lost[student, why].append(brief(file.above + file.path, 90))

    def told(self) -> list[str]:
        """Return all sentences, shortened, and at most a few of each kind."""
        lost = []
        for (_, why), (first, *others) in self.lost.items():
            more = f" and {plural(len(others), 'more file')} are" if others else " is"
            lost.append(f"{first}{more} left out: {why}")
        return [short(note, LONGEST_NOTE) for kind in (lost, self.notes) for note in at_most(kind)]


def brief(name: str, most: int = 45) -> str:
    """Return a name on one line, with its middle left out if it is long."""
    plain = shown(name)
    return plain if len(plain) <= most else f"{plain[: most // 2]}…{plain[-(most // 2) :]}"


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
    found = []
    try:
        if source.is_dir():
            os.scandir(source).close()  # os.walk would treat an unreadable folder as empty
            for where, folders, names in os.walk(source):
                folders[:] = [name for name in folders if name not in LEFT_OUT]
                for path in (Path(where, name) for name in names):
                    name = path.relative_to(source).as_posix()
                    found.append(File(name, partial(read_bytes, path)))
        else:
            archive = zipfile.ZipFile(source)
            entries = [info for info in archive.infolist() if not info.is_dir()]
            found += [File(one.filename, partial(read_entry, archive, one)) for one in entries]
    except NO_ARCHIVE as error:
        why = getattr(error, "strerror", None) or str(error)
        raise CourseError(f"{source} is neither a folder nor a zip: {why}") from None
    split = [(one, one.path.split("/")) for one in sorted(found, key=lambda one: one.path)]
    return [
        one
        for one, parts in split
        if LEFT_OUT.isdisjoint(parts) and not any(part.startswith(".") for part in parts[1:])
    ]


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
