"""Reads a download of a course system: the files in a folder or a zip, each one guarded.

A file that cannot be read raises Unreadable when it is read, and affects no other file. No link
is followed, and no file is read beyond its declared size.
"""

import io
import os
import stat
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import IO

from ..course import CourseError

# Folders of installed packages, by name or by a file in them. They hold thousands of files.
ENVIRONMENTS = {"venv", "env", "virtualenv", "site-packages", "node_modules", "conda-meta"}
MARKS_AN_ENVIRONMENT = {"pyvenv.cfg", "conda-meta"}
# What programs leave behind, of which nothing has to be said.
JUNK = {"__MACOSX", "__pycache__", ".git", ".DS_Store", ".ipynb_checkpoints"}
DEEPEST, LONGEST_PATH = 60, 4000  # folders, characters
PIECE = 1 << 20
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # other methods can expand without a bound
ENCRYPTED, UTF_8_NAME = 1, 8  # flags of an entry, in the first and in the second byte
MEMBER, END_OF_ZIP = b"PK\x01\x02", b"PK\x05\x06"
# What reading a damaged or lying entry of a zip raises.
DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    RuntimeError,
    ValueError,
    IndexError,
    OverflowError,
)

LINKS = "links"
HIDDEN = "hidden files"
ENVIRONMENT = "virtual environments"
OUTSIDE = "paths that leave the download"
TOO_DEEP = "paths that are too long"
FOLDERS = "unreadable folders"
STRANGE = "special files"


class Unreadable(Exception):
    """A file cannot be read; the message says why."""


@dataclass(frozen=True)
class Entry:
    """A file of a download, or an empty folder.

    path: in the download, with slashes. size: declared, in bytes. open: returns the content.
    """

    path: str
    size: int = 0
    open: Callable[[], IO[bytes]] | None = field(default=None, compare=False)

    @property
    def parts(self) -> list[str]:
        """The names of the folders and of the file."""
        return self.path.split("/")

    @property
    def is_folder(self) -> bool:
        """Return True for an empty folder."""
        return self.open is None

    def pieces(self) -> Iterator[bytes]:
        """Yield the content, piece by piece. Raises Unreadable."""
        if self.open is None:
            raise Unreadable("is a folder")
        left = self.size
        try:
            with self.open() as file:
                while piece := file.read(min(PIECE, left + 1)):
                    left -= len(piece)
                    if left < 0:
                        raise Unreadable("is larger than it says")
                    yield piece
        except OSError as error:
            raise Unreadable(f"cannot be read: {error.strerror or error}") from None
        except DAMAGED:
            raise Unreadable("is damaged") from None

    def read(self) -> bytes:
        """Return the content. Raises Unreadable."""
        return b"".join(self.pieces())

    def check(self) -> None:
        """Read the content and forget it. Raises Unreadable."""
        for _ in self.pieces():
            pass


@dataclass
class Skipped:
    """What was not looked at. counts: by kind. paths: of what can be somebody's submission."""

    counts: Counter[str] = field(default_factory=Counter)
    paths: list[str] = field(default_factory=list)

    def add(self, kind: str, path: str = "") -> None:
        """Count one more; keep the path of what nobody put aside on purpose."""
        self.counts[kind] += 1
        self.paths += [path] if path else []


@dataclass
class Download:
    """Everything a course system gave out. entries: files and empty folders, by path."""

    entries: list[Entry] = field(default_factory=list)
    skipped: Skipped = field(default_factory=Skipped)

    def below(self, entry: Entry, depth: int) -> bool:
        """Return True if a learner's entry is to be looked at; count it otherwise.

        depth: how many parts of its path come from the course system.
        """
        return is_looked_at(entry.parts[depth:], self.skipped)

    @property
    def notes(self) -> list[str]:
        """A sentence on everything that was skipped."""
        told = [f"{kind} ({count})" for kind, count in sorted(self.skipped.counts.items())]
        return [f"skipped: {', '.join(told)}"] if told else []


def is_looked_at(parts: list[str], skipped: Skipped) -> bool:
    """Return True if a path below a learner's folder is of interest; count it otherwise."""
    if not ENVIRONMENTS.isdisjoint(parts):
        skipped.add(ENVIRONMENT)
        return False
    if any(part.startswith(".") for part in parts):
        skipped.add(HIDDEN)
        return False
    return True


def read_download(source: Path) -> Download:
    """Return the files of a folder or a zip, sorted by path. Raises CourseError."""
    download = Download()
    try:
        found = (in_folder if source.is_dir() else in_zip)(source, download.skipped)
        there = (entry for entry in found if JUNK.isdisjoint(entry.parts))
        download.entries = sorted(there, key=by_path)
    except (OSError, *DAMAGED) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise CourseError(f"{source} is neither a folder nor a zip: {why}") from None
    return download


def by_path(entry: Entry) -> str:
    """Return what entries are sorted by."""
    return entry.path


def in_folder(source: Path, skipped: Skipped) -> Iterator[Entry]:
    """Yield the files and the empty folders below a folder. Raises OSError."""
    os.scandir(source).close()  # os.walk would take an unreadable folder for an empty one

    def count(error: OSError) -> None:
        skipped.add(FOLDERS)

    for where, folders, files in os.walk(source, onerror=count):
        above = os.path.relpath(where, source).replace(os.sep, "/") + "/"
        above = "" if above == "./" else above
        if above.count("/") > 1 and MARKS_AN_ENVIRONMENT.intersection(files + folders):
            skipped.add(ENVIRONMENT)
            folders.clear()
            continue
        links = [name for name in folders if os.path.islink(os.path.join(where, name))]
        for name in links:
            skipped.add(LINKS, above + name)
        if above and not files and not folders:
            yield Entry(above.rstrip("/"))
        folders[:] = [name for name in folders if enters(name, above, skipped, links)]
        for name in files:
            yield from file_in(Path(where, name), above + name, skipped)


def enters(name: str, above: str, skipped: Skipped, links: list[str]) -> bool:
    """Return True if a folder is walked into. At the top, a leading dot may be a learner's."""
    if name in links or name in JUNK:
        return False
    return is_looked_at([name], skipped) if above else True


def file_in(path: Path, name: str, skipped: Skipped) -> Iterator[Entry]:
    """Yield a regular file of a folder; count anything else."""
    try:
        status = path.lstat()
    except OSError:
        skipped.add(STRANGE, name)
        return
    if stat.S_ISREG(status.st_mode):
        yield Entry(name, status.st_size, partial(open_file, path))
    else:
        skipped.add(LINKS if stat.S_ISLNK(status.st_mode) else STRANGE, name)


def open_file(path: Path) -> IO[bytes]:
    """Open a file, but no link that has taken its place. Raises OSError."""
    return os.fdopen(os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0)), "rb")


def in_zip(source: Path, skipped: Skipped) -> Iterator[Entry]:
    """Yield the files and the empty folders of a zip. Raises OSError or one of DAMAGED."""
    archive = open_zip(source)
    infos = [info for info in archive.infolist() if has_a_path(info, skipped)]
    filled = {folder for info in infos for folder in folders_above(info.filename)}
    environments = {folder_of(info.filename) for info in infos if is_mark(info.filename)}
    for info in infos:
        path = info.filename.strip("/")
        if not environments.isdisjoint(folders_above(path)):
            skipped.add(ENVIRONMENT)
        elif not info.is_dir():
            yield Entry(path, info.file_size, partial(open_entry, archive, info))
        elif path not in filled:
            yield Entry(path)


def open_zip(source: Path) -> zipfile.ZipFile:
    """Open a zip, even if a name in it claims to be UTF-8 and is not."""
    try:
        return zipfile.ZipFile(source)
    except UnicodeDecodeError:
        return zipfile.ZipFile(io.BytesIO(with_honest_names(source.read_bytes())))


def with_honest_names(content: bytes) -> bytearray:
    """Return a zip without the claim that a name is UTF-8, for each entry of which it is false."""
    zipped = bytearray(content)
    (at,) = struct.unpack_from("<I", zipped, zipped.rfind(END_OF_ZIP) + 16)
    while zipped[at : at + 4] == MEMBER:
        name, extra, comment = struct.unpack_from("<HHH", zipped, at + 28)
        (header,) = struct.unpack_from("<I", zipped, at + 42)
        if not is_utf_8(zipped[at + 46 : at + 46 + name]):
            for flags in (at + 9, header + 7):
                zipped[flags] &= ~UTF_8_NAME & 0xFF
        at += 46 + name + extra + comment
    return zipped


def is_utf_8(name: bytes | bytearray) -> bool:
    """Return True if a name can be read as UTF-8."""
    try:
        name.decode()
    except UnicodeDecodeError:
        return False
    return True


def has_a_path(info: zipfile.ZipInfo, skipped: Skipped) -> bool:
    """Return True if an entry of a zip is no link and its path stays inside; count it otherwise."""
    name = info.filename.rstrip("/")
    if len(name) > LONGEST_PATH or name.count("/") > DEEPEST:
        skipped.add(TOO_DEEP, name)
    elif any(part in ("", ".", "..") for part in name.split("/")):
        skipped.add(OUTSIDE, name)
    elif stat.S_ISLNK(info.external_attr >> 16):
        skipped.add(LINKS, name)
    else:
        return True
    return False


def folders_above(name: str) -> list[str]:
    """Return the paths of the folders that an entry of a zip is in."""
    name = name.rstrip("/")
    return [name[:at] for at, character in enumerate(name) if character == "/"]


def folder_of(name: str) -> str:
    """Return the path of the folder that an entry of a zip is in."""
    return name.rpartition("/")[0]


def is_mark(name: str) -> bool:
    """Return True for a file that only virtual environments have, below a learner's folder."""
    return name.count("/") > 1 and name.rpartition("/")[2] in MARKS_AN_ENVIRONMENT


def open_entry(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> IO[bytes]:
    """Open an entry that is compressed in a way that can be bounded.

    Raises Unreadable or one of DAMAGED.
    """
    if info.compress_type not in METHODS:
        raise Unreadable("is compressed in a way that is not read")
    if info.flag_bits & ENCRYPTED:
        raise Unreadable("is encrypted")
    return archive.open(info)
