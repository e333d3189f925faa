"""SUBMITTED: a learner's folder of a chapter is written as a whole, and never through a link.

`collected.csv` there has a line for each file of each download, and what became of it.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

from rich.table import Table
from rich.text import Text

from ..folders import write_file
from ..lateness import in_zone
from ..sources.candidates import shown
from ..sources.finding import PEOPLE
from ..sources.submitted_files import STAMP, escaped, submission_time
from ..views.csv_cells import read_table, write_table

REPLACED = ".replaced"  # earlier folders; grading ignores it
COLLECTED = "collected.csv"
LINES = ("download", "file", "student", "chapter", "submitted", "submission", "result")
USED = "used"
SAME, OLDER = f"{USED}, as before", "older than the file in SUBMITTED, which stays"


class NotWritten(Exception):
    """A folder cannot be written; the message says why."""


def store(
    submitted: Path, folder: Path, new: dict[str, bytes], time: str, is_older: bool = False
) -> str:
    """Write a folder, unless it has the same files or newer ones; return USED, SAME or OLDER.

    new: the files. time: when they were submitted; "" if unknown. The same files keep the first
    time. is_older: what is there is newer although a time is unknown. An earlier folder is moved to
    `.replaced`. Raises NotWritten.
    """
    if folder.is_symlink() or folder.parent.is_symlink():
        raise NotWritten("has a link in its path")
    at = submission_time(folder)
    try:
        if new == content_of(folder):
            if time and (not at or time < at):
                write_file(folder / STAMP, f"{time}\n".encode())
            return SAME
        if at > time if at and time else is_older and folder.is_dir():
            return OLDER
        replace_folder(submitted, folder, new | ({STAMP: f"{time}\n".encode()} if time else {}))
        return USED
    except OSError as error:
        raise NotWritten(f"cannot be written: {error.strerror}") from None


def content_of(folder: Path) -> dict[str, bytes]:
    """Return the files in a folder but the time, by name; {} without it. Raises OSError."""
    paths = [path for path in folder.iterdir() if path.name != STAMP] if folder.is_dir() else []
    are_plain = {path: path.is_file() and not path.is_symlink() for path in paths}
    return {path.name: path.read_bytes() if plain else b"" for path, plain in are_plain.items()}


def replace_folder(submitted: Path, folder: Path, new: dict[str, bytes]) -> None:
    """Write a folder as a whole, and move an earlier one to `.replaced`. Raises OSError."""
    made = Path(tempfile.mkdtemp(prefix=".tmp-", dir=submitted))
    try:
        for name, content in new.items():
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


@contextmanager
def copy_of(submitted: Path) -> Iterator[Path]:
    """Give a copy of SUBMITTED and people.csv, which is deleted afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, submitted.name)
        if submitted.is_dir():
            shutil.copytree(submitted, copy, symlinks=True)
        people = submitted.absolute().parent / PEOPLE
        if people.is_file():
            shutil.copy(people, folder)
        yield copy


# --- collected.csv -------------------------------------------------------------------------------


def collected_lines(submitted: Path) -> list[dict[str, str]]:
    """Return the lines of collected.csv. Raises CourseError."""
    return [line for _, line in read_table(submitted / COLLECTED, LINES)]


def add_lines(submitted: Path, lines: list[dict[str, str]]) -> None:
    """Add lines to collected.csv, in place of earlier ones about the same files."""
    both = [*collected_lines(submitted), *lines]
    every = {tuple(line[column] for column in LINES[:4]): line for line in both}
    write_table(submitted / COLLECTED, LINES, every.values())


def where_files_went(submitted: Path, student: str, chapter: str) -> list[str]:
    """Return what became of a learner's files in all downloads, for a chapter or for none."""
    return [
        f"{line['download']}: {line['file']}: {line['result']}"
        for line in collected_lines(submitted)
        if escaped(line["student"]) == student and line["chapter"] in ("", chapter)
    ]


def table(lines: list[dict[str, str]], zone: str = "") -> Table:
    """Return a table of the lines about files that count or are kept. zone: that of times."""
    made = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for title in ("learner", "file", "chapter", "submitted", ""):
        made.add_column(title, overflow="fold")
    for line in lines:
        if line["student"] and not line["result"].startswith("left out"):
            when = in_zone(line["submitted"], zone) or "unknown"
            cells = (line["student"], line["file"], line["chapter"], when, line["result"])
            made.add_row(*(Text(brief(cell, 100)) for cell in cells))  # it is no markup
    return made


def brief(name: str, most: int = 45) -> str:
    """Return a name on one line, with its middle left out if it is long."""
    plain = shown(name)
    return plain if len(plain) <= most else f"{plain[: most // 2]}…{plain[-(most // 2) :]}"
