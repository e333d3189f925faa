"""Write learners' folders in SUBMITTED: each as a whole, and never through a link."""

import os
import shutil
import tempfile
from itertools import count
from pathlib import Path

from ..folders import write_file
from ..lateness import read_time
from ..sources.submitted_files import STAMP, submission_time

REPLACED = ".replaced"  # earlier folders; grading ignores it


class NotWritten(Exception):
    """A folder cannot be written; the message says why."""


def refuse_links(submitted: Path, folder: Path) -> None:
    """Raise NotWritten if a part of a path below SUBMITTED is a link."""
    for part in (folder, *folder.parents):
        if part == submitted:
            return
        if part.is_symlink():
            raise NotWritten("has a link in its path")


def content_of(folder: Path) -> dict[str, bytes]:
    """Return the files in a folder but the time, by name; {} without it. Raises OSError."""
    if not folder.is_dir():
        return {}
    paths = [path for path in folder.iterdir() if path.name != STAMP]
    return {path.name: path.read_bytes() if is_plain(path) else b"" for path in paths}


def is_plain(path: Path) -> bool:
    """Return True for a file that is not a link."""
    return path.is_file() and not path.is_symlink()


def is_newer(folder: Path, time: str, turn: int, last: int) -> bool:
    """Return True if a folder was submitted after a time, or without times, after a number.

    last: the number of the submission in the folder; 0 if it is unknown.
    """
    at = submission_time(folder)[0]
    if at and time:
        return moment(at) > moment(time)
    return folder.is_dir() and last > turn > 0


def keep_earlier_time(folder: Path, time: str) -> None:
    """Date an unchanged file by the first time that it was submitted."""
    at = submission_time(folder)[0]
    if time and (not at or moment(time) < moment(at)):
        write_file(folder / STAMP, f"{time}\n".encode())


def replace_folder(submitted: Path, folder: Path, new: dict[str, bytes], time: str) -> None:
    """Write a folder as a whole, and move an earlier one to `.replaced`. Raises OSError."""
    made = Path(tempfile.mkdtemp(prefix=".tmp-", dir=submitted))
    try:
        for name, content in (new | ({STAMP: f"{time}\n".encode()} if time else {})).items():
            write_file(made / name, content)
        folder.parent.mkdir(exist_ok=True)
        made.chmod(folder.parent.stat().st_mode & 0o777)
        if folder.exists():
            own = submitted / REPLACED / folder.parent.name
            own.mkdir(parents=True, exist_ok=True)
            names = (own / f"{folder.name}-{number}" for number in count(1))
            os.replace(folder, next(path for path in names if not path.exists()))
        os.replace(made, folder)
    except OSError:
        shutil.rmtree(made, ignore_errors=True)
        raise


def write_files(
    submitted: Path, folder: Path, new: dict[str, bytes], time: str, chapter: str
) -> None:
    """Write files that mean nothing: a chapter's folder, or into the learner's. Raises OSError."""
    if chapter:
        replace_folder(submitted, folder, new, time)
        return
    folder.mkdir(exist_ok=True)
    for name, content in new.items():
        write_file(folder / name, content)


def moment(submitted: str) -> float:
    """Return a time in seconds since 1970; 0 if it is unknown."""
    return read_time(submitted).timestamp() if submitted else 0.0
