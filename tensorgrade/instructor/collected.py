"""`SUBMITTED/collected.csv`: a line for each file of each download, and what became of it."""

from pathlib import Path

from rich.table import Table
from rich.text import Text

from ..folders import write_file
from ..lateness import in_zone
from ..sources.candidates import shown
from ..sources.submitted_files import escaped
from ..views.csv_cells import in_csv, read_table

COLLECTED = "collected.csv"
LINES = ("download", "file", "student", "chapter", "submitted", "submission", "result")
USED = "used"


def collected_lines(submitted: Path) -> list[dict[str, str]]:
    """Return the lines of collected.csv. Raises CourseError."""
    return [line for _, line in read_table(submitted / COLLECTED, LINES)]


def turns_in(submitted: Path) -> dict[tuple[str, str], int]:
    """Return the system's number of the submission that counts, by learner and chapter."""
    return {
        (line["student"], line["chapter"]): int(line["submission"])
        for line in collected_lines(submitted)
        if line["result"].startswith(USED) and line["submission"].isdecimal()
    }


def where_files_went(submitted: Path, student: str, chapter: str) -> list[str]:
    """Return what became of a learner's files in all downloads, for a chapter or for none."""
    return [
        f"{line['download']}: {line['file']}: {line['result']}"
        for line in collected_lines(submitted)
        if escaped(line["student"]) == student and line["chapter"] in ("", chapter)
    ]


def write_lines(submitted: Path, lines: list[dict[str, str]]) -> None:
    """Add lines to collected.csv, in place of earlier ones about the same files."""
    about = LINES[:4]
    new = {tuple(line[column] for column in about) for line in lines}
    before = collected_lines(submitted)
    kept = [line for line in before if tuple(line[column] for column in about) not in new]
    cells = [[line[column] for column in LINES] for line in kept + lines]
    write_file(submitted / COLLECTED, in_csv(LINES, cells).encode("utf-8", "replace"))


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
