"""Find a learner's files that may be a chapter's, and order them: the first readable one counts.

`collect`, `grade` and the packages for course systems all use this module. Examples of accepted
names are `ch1 (1).py`, `ch1.py.txt` and `CH1.PY`, in any folder or in a zip. Only names and bytes
are read here. The learner's own process opens the text.
"""

import io
import os
import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import IO

from ..course import Limits
from ..exchange.text import printable, short

# Suffixes that browsers, Finder, Explorer and course systems append to a name already in use.
COPY = r"(?:[ _-]*\(\d+\)|[ _-]+\d{1,3}|[ _-]*(?:copy|kopie)(?:[ _-]*\(?\d+\)?)?)?"
KINDS = {"py": "py", "txt": "py", "py.txt": "py", "ipynb": "ipynb", "ipynb.txt": "ipynb"}
CODE = ("ipynb", "py")
ARCHIVES = (".rar", ".7z", ".tar", ".tgz", ".gz", ".bz2", ".xz")
DEEPEST = 3  # folders between the learner's and the file
MOST_MEMBERS = 1000
MOST_ZIPS = 20  # zips that are opened for one learner
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # other methods can expand without limit
MEMBER = b"PK\x01\x02"  # the first bytes of each entry in a zip's table of contents
NO_ARCHIVE = (
    *(OSError, RuntimeError, ValueError, LookupError, EOFError, OverflowError),
    *(zipfile.BadZipFile, zlib.error, struct.error),
)
LONGEST_SHOWN = 120  # characters of a name in a zip
SAME_MOMENT = 2.0  # seconds: copied files differ slightly in time, and zips store even seconds


class NotRead(Exception):
    """A file cannot be read; the message continues a sentence that begins with its name."""


@dataclass(frozen=True)
class File:
    """A file of a learner.

    path: the learner's own, with slashes. read: returns the content; raises NotRead, also for more
    bytes than asked for. time: seconds since 1970; 0 if unknown. turn: the course system's number
    of a submission, which is larger for later ones.

    Of a candidate also: chapter. kind: `py` or `ipynb`. copy: the number of a copy.

    In a download also: people: whose it is. above: the beginning of the path there. submitted: the
    time as a text, "" if unknown. team: of several people. late: the system marks it as late.
    """

    path: str
    read: Callable[[int], bytes] = field(compare=False)
    time: float = 0.0
    turn: int = 0
    chapter: str = ""
    kind: str = ""
    copy: int = 0
    people: tuple[dict[str, str], ...] = field(default=(), compare=False)
    above: str = ""
    submitted: str = ""
    team: str = ""
    late: bool = False

    @property
    def name(self) -> str:
        """The name without folders."""
        return self.path.rpartition("/")[2]

    @property
    def shown(self) -> str:
        """The path on one line."""
        return shown(self.path)

    @property
    def counts_as(self) -> str:
        """The name that a candidate should have."""
        return f"{self.chapter}.{self.kind}"

    @property
    def is_exact(self) -> bool:
        """Return True if a candidate's name and place are already right."""
        return self.path == f"{self.chapter}/{self.counts_as}"

    def age(self, latest: float) -> tuple[float, int, int, bool]:
        """Return the sort key of versions: the time, the system's number, and that of a copy.

        latest: the time of the newest version.
        """
        time = latest if latest - self.time < SAME_MOMENT else self.time
        return time, self.turn, self.copy, self.is_exact


@dataclass
class Found:
    """What a learner's files may be. others: no candidate. unopened: the paths of archives."""

    candidates: list[File] = field(default_factory=list)
    others: list[File] = field(default_factory=list)
    unopened: list[str] = field(default_factory=list)

    def of(self, chapter: str, kind: str = "") -> list[File]:
        """Return the candidates of a chapter, the one that counts first."""
        own = [c for c in self.candidates if c.chapter == chapter and kind in ("", c.kind)]
        latest = max((one.time for one in own), default=0.0)
        return sorted(own, key=lambda one: one.age(latest), reverse=True)


def are_tied(first: File, second: File) -> bool:
    """Return True if nothing decides which of two versions is newer."""
    latest = max(first.time, second.time)
    return first.age(latest) == second.age(latest)


def candidates_in(
    files: Iterable[File], chapters: Collection[str], limits: Limits, asked: str = ""
) -> Found:
    """Return the candidates for these chapters among a learner's files, also those in zips.

    asked: a chapter to which a single script and a single notebook belong under any name, if no
    file has its name.
    """
    found, zips = Found(), 0
    for file in files:
        before, name = len(found.candidates), file.name.lower()
        if name.endswith(ARCHIVES):
            found.unopened.append(file.shown)
        elif name.endswith(".zip") and (zips := zips + 1) <= MOST_ZIPS:
            add_zip(found, file, chapters, limits)
        elif candidate := meaning(file, chapters):
            found.candidates.append(candidate)
        if len(found.candidates) == before:
            found.others.append(file)
    for kind in CODE if asked and not found.of(asked) else ():
        own = [file for file in found.others if file.name.lower().endswith(f".{kind}")]
        if len(own) == 1:
            found.candidates.append(replace(own[0], chapter=asked, kind=kind))
            found.others.remove(own[0])
    return found


def add_zip(found: Found, file: File, chapters: Collection[str], limits: Limits) -> None:
    """Add the candidates in a zip. A zip in a zip stays closed."""
    try:
        content = file.read(limits.file_bytes)
        if content.count(MEMBER) > MOST_MEMBERS:
            raise NotRead("holds too many files")
        archive = zipfile.ZipFile(io.BytesIO(content))
    except (NotRead, *NO_ARCHIVE):
        found.unopened.append(file.shown)
        return
    for info in archive.infolist():
        path, read = f"{file.path}/{info.filename}", partial(read_entry, archive, info)
        inside = replace(file, path=path, read=read)
        if inside.name.lower().endswith((".zip", *ARCHIVES)):
            found.unopened.append(short(inside.shown, LONGEST_SHOWN))
        elif all(map(is_visible, info.filename.split("/"))):
            found.candidates += filter(None, [meaning(inside, chapters)])


def meaning(file: File, chapters: Collection[str]) -> File | None:
    """Return the candidate that a file is by its name; None if it names no chapter.

    None also for the substitutes that learners were given: these have an earlier chapter's name,
    and are in `given/<chapter>/` of the kit.

    >>> [meaning(File(path, bytes), ["ch1"]) is not None for path in ("CH1 (1).py", "ch1.py.txt",
    ...     "a/ch1 - Copy.ipynb", "given/ch1.py", "my_ch1.py", "kit/given/ch4/ch1.py")]
    [True, True, True, True, False, False]
    """
    folders, name = file.path.split("/")[:-1], file.name.lower()
    stem, _, ending = name.partition(".")
    is_given = folders[-2:-1] == ["given"] and not name.startswith(folders[-1])
    if ending in KINDS and not is_given:
        for chapter in chapters:
            if found := re.fullmatch(f"{re.escape(chapter.lower())}({COPY})", stem):
                numbers = re.findall(r"\d+", found[1])
                copy = int(numbers[-1][-9:]) if numbers else int(bool(found[1]))
                return replace(file, chapter=chapter, kind=KINDS[ending], copy=copy)
    return None


def files_below(folder: Path, above: str = "") -> Iterator[File]:
    """Yield a folder's visible files, and links, in a fixed order; no deeply nested ones."""
    try:
        with os.scandir(folder) as scanned:
            entries = sorted(scanned, key=lambda entry: entry.name)
    except OSError:
        return
    for entry in filter(lambda entry: is_visible(entry.name), entries):
        if entry.is_dir(follow_symlinks=False):
            if above.count("/") < DEEPEST:
                yield from files_below(Path(entry.path), f"{above}{entry.name}/")
        else:
            time = entry.stat(follow_symlinks=False).st_mtime
            yield File(above + entry.name, partial(read_bytes, Path(entry.path)), time)


def is_visible(name: str) -> bool:
    """Return True unless a file or folder is hidden, or made by Python or a zip program."""
    return not name.startswith(".") and name not in ("__MACOSX", "__pycache__")


def read_bytes(path: Path, most: int) -> bytes:
    """Return the content of a regular file. Raises NotRead, also for a link."""
    flags = [getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY")]
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | sum(flags)), "rb") as file:
            if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return bounded(file, most)
            raise NotRead("is not a regular file")
    except OSError as error:
        is_link = path.is_symlink()
        why = "is a link, not a file" if is_link else f"cannot be read: {error.strerror}"
        raise NotRead(why) from None


def read_entry(archive: zipfile.ZipFile, info: zipfile.ZipInfo, most: int) -> bytes:
    """Return the content of a zip's entry. Raises NotRead.

    Only methods whose output is bounded are used. The declared size may be wrong.
    """
    if stat.S_ISLNK(info.external_attr >> 16):
        raise NotRead("is a link, not a file")
    if info.compress_type not in METHODS:
        raise NotRead("is compressed in a way that is not read; make a usual zip")
    try:
        with archive.open(info) as file:
            return bounded(file, most)
    except NO_ARCHIVE:
        raise NotRead("is damaged or encrypted") from None


def bounded(file: IO[bytes], most: int) -> bytes:
    """Return the content of an open file. Raises NotRead if it has more than `most` bytes."""
    content = file.read(most + 1)
    if len(content) > most:
        raise NotRead(f"has more than {most} bytes, which no answer needs")
    return content


def shown(name: str) -> str:
    """Return a file's name on one line, without control characters for a terminal."""
    return printable(name).replace("\n", "?").replace("\t", "?")
