"""Writes what was collected into SUBMITTED: each file for itself, under a temporary name first.

A file that cannot be written costs only itself. Nothing is written through a link.
"""

import os
import tempfile
from pathlib import Path

from ..course import CourseError
from ..sources.handins import NO_STAMP, REPLACED, STAMP
from .collecting import MOST_KEPT, Place, Plan, brief, moment
from .downloads import Unreadable
from .folder_names import safe

OLDER = ".older"  # holds versions that count no more; grading looks into nothing hidden


class NotWritten(Exception):
    """A file cannot be written; the message says why."""


def write(found: Plan, submitted: Path) -> list[str]:
    """Write what was found; add losses to the plan. Returns notes on files that were kept instead.

    A different version that is there already is kept, and goes on to count if it is newer.
    Raises CourseError if there can be no folder.
    """
    notes = []
    try:
        submitted.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CourseError(f"{submitted} cannot be written: {error.strerror}") from None
    for place in found.places + found.aside:
        path = place.path(submitted)
        try:
            notes += write_one(place, path, submitted)
        except OSError as error:
            found.failed += 1
            found.lost.append(f"{brief(str(path), 150)} cannot be written: {error.strerror}")
        except (NotWritten, Unreadable) as error:
            found.failed += 1
            found.lost.append(f"{brief(str(path), 150)} {error}; it is left out")
    return notes


def write_one(place: Place, path: Path, submitted: Path) -> list[str]:
    """Write one file and its time. Raises OSError, NotWritten or Unreadable."""
    one, folder = place.submitted, path.parent
    content = one.entry.read()
    check_no_links(submitted, path, folder / OLDER)
    stamp = read_stamp(folder)
    is_same = path.exists() and path.read_bytes() == content
    if path.exists() and not is_same:
        if stamp and one.time and moment(stamp) > moment(one.time):
            return [f"{brief(str(path), 150)} is newer than what is collected now, and stays"]
        keep_older(folder, path.name, path.read_bytes())
    folder.mkdir(parents=True, exist_ok=True)
    for older in place.instead_of:
        keep_older(folder, safe(older.name), older.entry.read())
    if not is_same:
        write_file(path, content)
    if is_same and one.time_note and stamp:
        return []  # the time of collecting is that of the first time
    if place.chapter:
        write_stamp(folder, one.time, one.time_note)
    if one.time:
        os.utime(path, (moment(one.time),) * 2)
    return []


def check_no_links(submitted: Path, *paths: Path) -> None:
    """Raise NotWritten if any part of a path below SUBMITTED is a link."""
    for path in paths:
        below = path.relative_to(submitted).parts
        for depth in range(1, len(below) + 1):
            if submitted.joinpath(*below[:depth]).is_symlink():
                raise NotWritten("has a link in its path")


def read_stamp(folder: Path) -> str:
    """Return when the files in a folder were submitted; empty if it does not say."""
    stamp = folder / STAMP
    if stamp.is_symlink() or not stamp.is_file():
        return ""
    with stamp.open("rb") as file:
        return file.read(100).decode("ascii", "replace").strip()


def write_file(path: Path, content: bytes) -> None:
    """Write a file under a temporary name and rename it. Raises OSError."""
    number, name = tempfile.mkstemp(dir=path.parent, prefix=".tmp-")
    try:
        with os.fdopen(number, "wb") as file:
            file.write(content)
        os.chmod(name, 0o666 & ~current_umask())  # mkstemp makes files for one user alone
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def current_umask() -> int:
    """Return the mask for new files."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def write_stamp(folder: Path, submitted: str, replaced: str) -> None:
    """Say when a chapter was submitted, or that nobody knows; what was said before goes."""
    content = {
        STAMP: f"{submitted}\n" if submitted else "",
        NO_STAMP: "" if not submitted else None,
        REPLACED: f"{replaced}\n" if replaced else None,
    }
    for name, text in content.items():
        if text is None or (name == STAMP and not text):
            (folder / name).unlink(missing_ok=True)
        else:
            write_file(folder / name, text.encode())


def keep_older(parent: Path, name: str, content: bytes) -> None:
    """Keep a version that does not count, unless it is kept already. Raises OSError."""
    folder = parent / OLDER
    if folder.is_symlink():
        raise NotWritten("has a link in its path")
    folder.mkdir(parents=True, exist_ok=True)
    kept = [path for path in folder.iterdir() if path.is_file() and not path.is_symlink()]
    same = [p for p in kept if p.stat().st_size == len(content) and p.read_bytes() == content]
    if same or len(kept) >= 5 * MOST_KEPT:
        return
    numbers = [path.name.partition("-")[0] for path in kept]
    number = max((int(one) for one in numbers if one.isdecimal() and len(one) < 9), default=0) + 1
    write_file(folder / f"{number}-{name}", content)
