"""Files that are nearly called, or lie nearly where, a chapter's file should: found, not guessed.

`ch1 (1).py`, `ch1.py.txt`, `CH1.PY`, a folder too deep or too shallow, a zip. Names and bytes
are all that is looked at; who opens the text is the learner's own process.
"""

import os
import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from io import BytesIO
from itertools import islice
from pathlib import Path

from ..course import Limits
from .beside import Beside, file_beside, missing, of_content, too_large
from .handins import Handin, of_both, read_file, shown

# What browsers, Finder, Explorer and course systems put behind a name that is taken.
COPY = r"(?:[ _-]*\(\d+\)|[ _-]+\d{1,3}|[ _-]*(?:copy|kopie)(?:[ _-]*\(?\d+\)?)?)?"
KINDS = {"py": "py", "txt": "py", "py.txt": "py", "ipynb": "ipynb", "ipynb.txt": "ipynb"}
CODE = ("ipynb", "py")
DEEPEST = 3  # folders between the learner's and the file
MOST_FILES = 300
MOST_MEMBERS = 1000
MOST_ARCHIVES = 20  # of one learner's that are looked into
MOST_LEFT = 2  # versions that do not count, by name
# What reading a zip ends in where it is none, or is damaged or encrypted.
DAMAGED = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, OverflowError)
NO_ARCHIVE = (OSError, RuntimeError, ValueError, KeyError, *DAMAGED)
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
MEMBER = b"PK\x01\x02"  # what begins each entry of a zip's table of contents
SAME_MOMENT = 2.0  # seconds; copying writes some files after others, and zips count in twos


@dataclass(frozen=True)
class Version:
    """A file that is meant as a chapter's.

    kind: `py` or `ipynb`; of a file of weights, its name. where: its path in the learner's folder.
    path: it, or the zip that it is in as `member`. modified: seconds since 1970. exact: it needs no
    rescue.
    """

    chapter: str
    kind: str
    where: str
    path: Path
    modified: float
    member: str = ""
    exact: bool = False

    @property
    def counts_as(self) -> str:
        """The name that the file should have."""
        return f"{self.chapter}.{self.kind}" if self.kind in CODE else self.kind


# Files of weights by their names: the chapter, and the most bytes (course.py).
Files = Mapping[str, tuple[str, int]]
NONE: Files = {}


def chapter_of(name: str, chapters: set[str], beside: Files = NONE) -> tuple[str, str] | None:
    """The chapter and the kind that a file's name means, if any.

    beside: files of weights, whose kind is their name.

    >>> chapter_of("CH1 (1).py", {"ch1"}), chapter_of("ch1 - Copy.ipynb", {"ch1"})
    (('ch1', 'py'), ('ch1', 'ipynb'))
    >>> chapter_of("ch1.py.txt", {"ch1"}), chapter_of("my_ch1.py", {"ch1", "ch11"})
    (('ch1', 'py'), None)
    >>> chapter_of("net (2).safetensors", {"ch1"}, {"net.safetensors": ("ch1", 100)})
    ('ch1', 'net.safetensors')
    """
    stem, dot, kind = name.lower().partition(".")
    for file, (chapter, _) in beside.items() if kind == WEIGHTS else ():
        if chapter in chapters and is_copy(stem, file.removesuffix(f".{WEIGHTS}")):
            return chapter, file
    if not dot or kind not in KINDS:
        return None
    for chapter in chapters:
        if is_copy(stem, chapter):
            return chapter, KINDS[kind]
    return None


WEIGHTS = "safetensors"


def is_copy(stem: str, name: str) -> bool:
    """Whether a file's name, in small letters and without its ending, is this one or a copy's."""
    return bool(re.fullmatch(re.escape(name.lower()) + COPY, stem))


def versions_in(
    folder: Path, chapters: set[str], limits: Limits, beside: Files = NONE
) -> list[Version]:
    """All versions of all chapters in a learner's folder, and of the files beside them.

    What cannot be read is passed over.
    """
    found, archives = [], 0
    for number, (entry, where) in enumerate(files_below(folder)):
        if number >= MOST_FILES:
            break
        meant = None
        if not is_given(where.split("/")):
            meant = chapter_of(entry.name, chapters, beside)
        is_zip = entry.name.lower().endswith(".zip")
        if not meant and not is_zip:
            continue
        modified = entry.stat(follow_symlinks=False).st_mtime
        if meant:
            version = Version(*meant, where, Path(entry.path), modified)
            exact = where == f"{version.chapter}/{version.counts_as}"
            found.append(replace(version, exact=exact))
        elif (archives := archives + 1) <= MOST_ARCHIVES:
            found += versions_in_zip(Path(entry.path), where, modified, (chapters, beside), limits)
    return found


def files_below(folder: Path, depth: int = 0, above: str = "") -> Iterator[tuple[os.DirEntry, str]]:
    """Files with their paths, in a fixed order; no links, nothing hidden, nothing far down."""
    try:
        with os.scandir(folder) as scanned:
            entries = sorted(scanned, key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        if entry.is_symlink() or not is_meant(entry.name):
            continue
        if entry.is_file():
            yield entry, above + entry.name
        elif entry.is_dir() and depth < DEEPEST:
            yield from files_below(Path(entry.path), depth + 1, f"{above}{entry.name}/")


def is_meant(name: str) -> bool:
    """Whether somebody put it there, and not an editor or a zip program."""
    return not name.startswith(".") and name not in ("__MACOSX", "__pycache__")


def is_given(parts: Sequence[str]) -> bool:
    """Whether a file is a stand-in that learners were given: it has an earlier chapter's name.

    It lies in whatever holds the checks: `checks.zip`, the kit, a repository made of it.

    >>> is_given("exercises/given/ch4/ch3.py".split("/"))
    True
    >>> is_given("given/ch3.py".split("/")), is_given("given/ch3/ch3.py".split("/"))
    (False, False)
    """
    return len(parts) > 2 and parts[-3] == "given" and not parts[-1].startswith(parts[-2])


def versions_in_zip(
    path: Path, where: str, modified: float, names: tuple[set[str], Files], limits: Limits
) -> list[Version]:
    """The versions in a zip; none where it is no zip, or a larger one than any answer needs."""
    found = []
    for info in members(path, limits):
        parts = info.filename.split("/")
        ours = is_given(parts) or not all(map(is_meant, parts))
        meant = None if ours else chapter_of(parts[-1], *names)
        if meant and not stat.S_ISLNK(info.external_attr >> 16):
            place = f"{where}/{info.filename}"
            found.append(Version(*meant, place, path, modified, info.filename))
    return found


def members(path: Path, limits: Limits) -> list[zipfile.ZipInfo]:
    """What a zip says that it holds."""
    try:
        if path.stat().st_size > limits.folder_bytes:
            return []
        content = path.read_bytes()
        if content.count(MEMBER) > MOST_MEMBERS:
            return []
        with zipfile.ZipFile(BytesIO(content)) as archive:
            return archive.infolist()
    except NO_ARCHIVE:
        return []


def opens(content: bytes) -> bool:
    """Return True if this is a zip that can be opened, or has more members than are looked at."""
    if content.count(MEMBER) > MOST_MEMBERS:
        return True
    try:
        zipfile.ZipFile(BytesIO(content)).close()
    except NO_ARCHIVE:
        return False
    return True


def damaged_zips(folder: Path, limits: Limits) -> list[str]:
    """Return the paths of zips in a learner's folder that cannot be opened."""
    files = islice(files_below(folder), MOST_FILES)
    zips = [(entry, where) for entry, where in files if entry.name.lower().endswith(".zip")]
    return [
        shown(where)
        for entry, where in zips[:MOST_ARCHIVES]
        if entry.stat().st_size <= limits.folder_bytes and not opens(Path(entry.path).read_bytes())
    ]


def rescued(
    student: str, versions: list[Version], limits: Limits, beside: Files = NONE
) -> tuple[Handin, str]:
    """The hand-in in the versions of one chapter, and a sentence on what counts and what does not;
    empty where there is nothing to tell.

    Of a kind the newest counts; of those of one moment, the one with the right name.
    """
    chapter = versions[0].chapter
    files = {name: most for name, (whose, most) in beside.items() if whose == chapter}
    chosen = {kind: newest(of) for kind in (*CODE, *files) if (of := of_kind(versions, kind))}
    read = {k: read_version(student, v, limits) for k, v in chosen.items() if k in CODE}
    handin = of_both(read.get("ipynb"), read.get("py")) or Handin(student, chapter)
    carried = tuple(
        read_beside(chosen[name], most) if name in chosen else missing(name)
        for name, most in files.items()
    )
    taken = [v for v in chosen.values() if not v.exact]
    counted = set(chosen.values())
    left = [v for v in versions if v not in counted]
    told = [
        f"{shown(v.where)} counts as {v.counts_as}"
        for v in taken
        if v.where != v.counts_as  # in the learner's folder: nobody mistakes that
    ]
    told += [f"{shown(v.where)} is older and does not count" for v in left[:MOST_LEFT]]
    if len(left) > MOST_LEFT:
        told.append(f"{len(left) - MOST_LEFT} more are older and do not count")
    sentence = f"{student}: {'; '.join(told)}" if told else ""
    return replace(handin, beside=carried), sentence


def of_kind(versions: list[Version], kind: str) -> list[Version]:
    """The versions that are scripts, or notebooks."""
    return [version for version in versions if version.kind == kind]


def newest(versions: list[Version]) -> Version:
    """The version that counts."""
    latest = max(version.modified for version in versions)
    last = [v for v in versions if latest - v.modified < SAME_MOMENT]
    return next((v for v in last if v.exact), max(last, key=lambda v: v.modified))


def read_version(student: str, version: Version, limits: Limits) -> Handin | None:
    """A version's bytes, under the chapter's own file name; a reason where they cannot be read."""
    most = limits.notebook_bytes if version.kind == "ipynb" else limits.source_bytes
    name = f"{version.chapter}.{version.kind}"
    if not version.member:
        read = read_file(student, version.path, most)
        return read and replace(read, chapter=version.chapter, filename=name)
    nothing = Handin(student, version.chapter, name)
    try:
        return replace(nothing, content=content_of_member(version, most))
    except TooLarge:
        return replace(nothing, reason=f"{shown(version.where)} has more than {most} bytes.")
    except Unread as why:
        return replace(nothing, reason=f"{shown(version.where)} {why}.")


def read_beside(version: Version, most: int) -> Beside:
    """A version of a file of weights, under the name that it should have."""
    if not version.member:
        return file_beside(version.path, most, version.kind)
    try:
        return of_content(version.kind, content_of_member(version, most))
    except TooLarge:
        return too_large(version.kind, most)
    except Unread as why:
        return Beside(version.kind, reason=f"{shown(version.where)} {why}.")


class Unread(Exception):
    """A file in a zip cannot be read; the message says why, without a subject."""


class TooLarge(Exception):
    """A file in a zip has more bytes than it may have."""


def content_of_member(version: Version, most: int) -> bytes:
    """Return a file in a zip. Raises Unread or TooLarge.

    Only what is stored or deflated is read: other methods expand a kilobyte to gigabytes at once.
    A declared size can be a lie, so that the real one is bounded, too.
    """
    try:
        with zipfile.ZipFile(version.path) as archive:
            info = archive.getinfo(version.member)
            if info.compress_type not in METHODS:
                raise Unread("is compressed in a way that is not read; make a usual zip")
            if info.file_size > most:
                raise TooLarge
            with archive.open(info) as file:
                content = file.read(most + 1)
    except NO_ARCHIVE:
        raise Unread("cannot be read out of its zip") from None
    if len(content) > most:
        raise TooLarge
    return content
