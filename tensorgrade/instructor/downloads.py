"""The files of a download: a zip, or the folder that it was unpacked to. Nothing is unpacked.

A path is only compared with the names that a course system gives, and never opened for writing. A
file that cannot be read raises NotRead when it is read, and affects no other file.
"""

import os
import zipfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from ..course import CourseError
from ..folders import LEFT_BEHIND
from ..sources.candidates import NO_ARCHIVE, File, read_bytes, read_entry

LARGEST = 16 << 20  # bytes of one file
PACKAGES = {"venv", "env", "virtualenv", "site-packages", "node_modules", "conda-meta"}
LEFT_OUT = PACKAGES | LEFT_BEHIND  # these may hold thousands of files


def files_in(source: Path) -> list[File]:
    """Return the files of a zip or a folder, by path. Raises CourseError.

    Hidden files and installed packages are left out. At the top a dot may be part of a name.
    """
    try:
        found = in_folder(source) if source.is_dir() else in_zip(zipfile.ZipFile(source))
        return sorted((one for one in found if is_wanted(one.path)), key=lambda one: one.path)
    except NO_ARCHIVE as error:
        why = getattr(error, "strerror", None) or str(error)
        raise CourseError(f"{source} is neither a folder nor a zip: {why}") from None


def is_wanted(path: str) -> bool:
    """Return False for hidden files and installed packages."""
    first, *rest = path.split("/")
    return LEFT_OUT.isdisjoint((first, *rest)) and not any(part.startswith(".") for part in rest)


def in_folder(source: Path) -> Iterator[File]:
    """Yield the files below a folder, and links, which cannot be read. Raises OSError."""
    os.scandir(source).close()  # os.walk would treat an unreadable folder as empty
    for where, folders, names in os.walk(source):
        folders[:] = [name for name in folders if name not in LEFT_OUT]
        above = Path(where).relative_to(source)
        for name in names:
            yield File((above / name).as_posix(), partial(read_bytes, Path(where, name)))


def in_zip(archive: zipfile.ZipFile) -> Iterator[File]:
    """Yield the files of a zip, and links, which cannot be read."""
    for info in archive.infolist():
        if not info.is_dir():
            yield File(info.filename, partial(read_entry, archive, info))
