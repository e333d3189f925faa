"""Read a download of a course system: a folder or a zip, whose files do not affect each other.

A file that cannot be read raises Unreadable when it is read, and affects no other file. Links are
not followed, and no file is read beyond its declared size.
"""

import io
import os
import stat
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import IO

from ..course import CourseError
from ..folders import LEFT_BEHIND

# Folders of installed packages, by name or by a file in them. They hold thousands of files.
ENVIRONMENTS = {"venv", "env", "virtualenv", "site-packages", "node_modules", "conda-meta"}
MARKS_AN_ENVIRONMENT = {"pyvenv.cfg", "conda-meta"}
DEEPEST, LONGEST_PATH = 60, 4000  # folders, characters
PIECE = 1 << 20
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # other methods can expand without limit
ENCRYPTED, UTF_8_NAME = 1, 8  # flags of an entry, in the first and in the second byte
MEMBER, END_OF_ZIP = b"PK\x01\x02", b"PK\x05\x06"
# Errors from reading a damaged or falsified entry of a zip.
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

    path: its path in the download, with slashes. size: its declared size in bytes. open: opens the
    content.
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
        """Read the content to the end and discard it. Raises Unreadable."""
        for _ in self.pieces():
            pass


@dataclass
class Skipped:
    """The files that are not collected. counts: by kind. paths: files that may be a submission."""

    counts: Counter[str] = field(default_factory=Counter)
    paths: list[str] = field(default_factory=list)

    def add(self, kind: str, path: str = "") -> None:
        """Count one more file of a kind. path: given if the file may be a submission."""
        self.counts[kind] += 1
        self.paths += [path] if path else []


@dataclass
class Download:
    """The content of a download. entries: sorted by path. root: None for a zip."""

    root: Path | None = None
    entries: list[Entry] = field(default_factory=list)
    skipped: Skipped = field(default_factory=Skipped)

    def visible(self, entry: Entry, own: list[str]) -> Entry:
        """Return a learner's entry. For a skipped one, count it and return an empty folder.

        The folder shows who the learner is even if all files are skipped. own: the parts of the
        path that the learner chose.
        """
        return entry if is_wanted(own, self.skipped) else Entry(entry.path)

    @property
    def notes(self) -> list[str]:
        """A sentence on all skipped files."""
        told = [f"{kind} ({count})" for kind, count in sorted(self.skipped.counts.items())]
        return [f"skipped: {', '.join(told)}"] if told else []


def is_wanted(parts: list[str], skipped: Skipped) -> bool:
    """Return False for hidden files and virtual environments, and count them.

    parts: the parts of a path below a learner's folder.
    """
    if not ENVIRONMENTS.isdisjoint(parts):
        skipped.add(ENVIRONMENT)
        return False
    if any(part.startswith(".") for part in parts):
        skipped.add(HIDDEN)
        return False
    return True


def read_download(source: Path) -> Download:
    """Return the files of a folder or a zip, sorted by path. Raises CourseError."""
    download = Download(source if source.is_dir() else None)
    try:
        found = (in_folder if source.is_dir() else in_zip)(source, download.skipped)
        download.entries = sorted(found, key=by_path)
    except (OSError, *DAMAGED) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise CourseError(f"{source} is neither a folder nor a zip: {why}") from None
    return download


def by_path(entry: Entry) -> str:
    """Return the sort key of entries."""
    return entry.path


def in_folder(source: Path, skipped: Skipped) -> Iterator[Entry]:
    """Yield the files below a folder, and folders without files to collect. Raises OSError."""
    os.scandir(source).close()  # os.walk would treat an unreadable folder as empty

    def count(error: OSError) -> None:
        skipped.add(FOLDERS)

    for where, folders, files in os.walk(source, onerror=count):
        above = os.path.relpath(where, source).replace(os.sep, "/") + "/"
        above = "" if above == "./" else above
        if above.count("/") > 1 and MARKS_AN_ENVIRONMENT.intersection(files + folders):
            skipped.add(ENVIRONMENT)
            folders.clear()
            yield Entry(above.rstrip("/"))
            continue
        links = [name for name in folders if os.path.islink(os.path.join(where, name))]
        for name in links:
            skipped.add(LINKS, above + name)
        folders[:] = [name for name in folders if name not in links and name not in LEFT_BEHIND]
        if above:  # at the top, a leading dot may be part of a login
            folders[:] = [name for name in folders if is_wanted([name], skipped)]
        names = [name for name in files if name not in LEFT_BEHIND]
        found = [e for name in names for e in file_in(Path(where, name), above + name, skipped)]
        yield from found
        if above and not found and not folders:
            yield Entry(above.rstrip("/"))


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
    """Open a file, unless a link has replaced it. Raises OSError."""
    return os.fdopen(os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0)), "rb")


def in_zip(source: Path, skipped: Skipped) -> Iterator[Entry]:
    """Yield the files of a zip, and the folders without files to collect.

    Raises OSError or one of DAMAGED.
    """
    archive = open_zip(source)
    infos = [(i.filename.strip("/"), i) for i in archive.infolist() if is_safe_entry(i, skipped)]
    environments = environments_in(path for path, _ in infos)
    folders: set[str] = set()
    files = []
    for path, info in infos:
        above = [path, *folders_above(path)] if info.is_dir() else folders_above(path)
        folders |= {one for one in above if is_collected(one, environments)}
        if not environments.isdisjoint(folders_above(path)):
            skipped.add(ENVIRONMENT)
        elif not info.is_dir() and is_collected(path, environments):
            files.append(Entry(path, info.file_size, partial(open_entry, archive, info)))
    yield from files
    filled = {one for path in [*folders, *(f.path for f in files)] for one in folders_above(path)}
    yield from map(Entry, folders - filled)


def is_collected(path: str, environments: set[str]) -> bool:
    """Return True unless a path is inside an environment or was left behind by a program."""
    return environments.isdisjoint(folders_above(path)) and LEFT_BEHIND.isdisjoint(path.split("/"))


def open_zip(source: Path) -> zipfile.ZipFile:
    """Open a zip, even if a name in it is wrongly marked as UTF-8."""
    try:
        return zipfile.ZipFile(source)
    except UnicodeDecodeError:
        return zipfile.ZipFile(io.BytesIO(with_honest_names(source.read_bytes())))


def with_honest_names(content: bytes) -> bytearray:
    """Return a zip with the UTF-8 flag removed from every entry whose name is not UTF-8."""
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


def is_safe_entry(info: zipfile.ZipInfo, skipped: Skipped) -> bool:
    """Return True if an entry of a zip may be collected; otherwise count it.

    Links, paths that leave the zip, and paths that are too long or too deep may not.
    """
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
    """Return the paths of the folders around an entry of a zip."""
    name = name.rstrip("/")
    return [name[:at] for at, character in enumerate(name) if character == "/"]


def environments_in(paths: Iterable[str]) -> set[str]:
    """Return the folders of a zip that are virtual environments, below learners' folders.

    >>> environments_in(["r/ada/env/conda-meta/history", "r/pyvenv.cfg"])
    {'r/ada/env'}
    """
    found = set()
    for path in paths:
        parts = path.split("/")
        marks = [n for n, part in enumerate(parts) if n > 1 and part in MARKS_AN_ENVIRONMENT]
        found |= {"/".join(parts[:n]) for n in marks}
    return found


def open_entry(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> IO[bytes]:
    """Open an entry whose compression method has bounded output.

    Raises Unreadable or one of DAMAGED.
    """
    if info.compress_type not in METHODS:
        raise Unreadable("is compressed in a way that is not read")
    if info.flag_bits & ENCRYPTED:
        raise Unreadable("is encrypted")
    return archive.open(info)
