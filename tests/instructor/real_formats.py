"""Downloads as course systems really write them, and a term that is graded from them.

The forms are those in the systems' own source code: Moodle 4.1 to 5.1, Canvas, Gradescope's export,
and clones of a classroom's repositories.
"""

import csv
import io
import re
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from ..support import rows_of
from . import runs
from .runs import CH1, CH2, MOST

DUE = {CH1: "2026-10-05 23:59", CH2: "2026-10-19 23:59"}
FIRST_WEEK, TWO_DAYS_LATE = datetime(2026, 10, 5, 14, 30), datetime(2026, 10, 7, 9, 5)
THIRD_WEEK = datetime(2026, 10, 19, 14, 30)
# Columns of Moodle's worksheet for user overrides and groups.
MORE = ("Allow submissions from", "Due date", "Cut-off date", "Group")
SUBMIT_ZIP = "attention-submission.zip"  # what `tensorgrade submit` writes
Files = dict[str, bytes]


def answer(by: str = "", worse: bool = False) -> bytes:
    """Return a file with all points, for fast runs. by: who wrote it. worse: with 10 fewer."""
    return f"{(MOST - 10) / MOST if worse else 1.0} {by}".encode()


def zipped(files: Files) -> bytes:
    """Return a zip with these files."""
    with zipfile.ZipFile(stream := io.BytesIO(), "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return stream.getvalue()


def write_files(folder: Path, files: Files) -> None:
    """Write files into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)


def table(path: Path, rows: Iterable[list]) -> Path:
    """Write a CSV file and return its path."""
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)
    return path


@dataclass
class Person:
    """A person in a course system. number: Moodle's for one assignment; elsewhere the user's.

    cells: what Moodle's worksheet shows in these columns.
    """

    first: str
    last: str
    number: int
    when: datetime | None = FIRST_WEEK
    login: str = ""
    cells: dict[str, str] = field(default_factory=dict)

    def __post_init__(self):
        self.name, self.email = f"{self.first} {self.last}", f"{self.first.lower()}@uni.edu"
        self.login = self.login or self.first.lower()


def people(first_number: int, *names: str, **more) -> list[Person]:
    """Return persons with numbers in a row."""
    return [Person(*name.split(" ", 1), at, **more) for at, name in enumerate(names, first_number)]


def moodle_zip(path: Path, entries: Iterable[tuple[str, int | None, Files]]) -> Path:
    """Write a download: the name of a person or a group, its number, and its files.

    Moodle puts a space for "_" in names, and removes what file systems do not like. The number is
    a participant's, or the group's own; people without a group have none.
    """
    files = {}
    for name, number, own in entries:
        start = name.replace("_", " ") + ("" if number is None else f"_{number}")
        folder = re.sub(r"[\x00-\x1f&<>\"`|':\\/]", "", start) + "_assignsubmission_file"
        files |= {f"{folder}/{file}": content for file, content in own.items()}
    path.write_bytes(zipped(files))
    return path


def moodle_date(when: datetime | None) -> str:
    """Return a time as Moodle shows it in English."""
    if when is None:
        return "-"
    return f"{when:%A}, {when.day} {when:%B %Y}, {when.hour % 12 or 12}:{when:%M} {when:%p}"


def worksheet(path: Path, persons: list[Person], identity=("Email address",)) -> Path:
    """Write a grading worksheet. identity: the columns that the site shows about people."""
    more = [title for title in MORE if title in persons[0].cells]
    titles = ["Identifier", "Full name", *identity, "Status", *more, "Grade", "Maximum grade"]
    titles += ["Grade can be changed", "Last modified (submission)", "Last modified (grade)"]
    titles += ["Feedback comments"]
    rows = [titles]
    for one in persons:
        cells = {
            "Identifier": f"Participant {one.number}",
            "Full name": one.name,
            "Email address": one.email,
            "Username": one.login,
            "Status": "Submitted for grading" if one.when else "No submission",
            "Maximum grade": "100.00",
            "Grade can be changed": "Yes",
            "Last modified (submission)": moodle_date(one.when),
            "Last modified (grade)": "-",
        } | one.cells
        rows.append([cells.get(title, "") for title in titles])
    return table(path, rows)


def canvas_zip(path: Path, entries: Iterable[tuple[Person, str, bytes]]) -> Path:
    """Write a download: a person, the file's name and its content.

    Canvas keeps letters, digits and "_" of "Last, First", except "_" around a number.
    """
    files = {}
    for at, (one, file, content) in enumerate(entries, 9001):
        name = re.sub(r"_(\d+)_", r"\1", f"{one.last}, {one.first}").lower()
        files[f"{re.sub('[^a-z0-9_]', '', name)}_{one.number}_{at}_{file}"] = content
    path.write_bytes(zipped(files))
    return path


def canvas_gradebook(path: Path, persons: list[Person]) -> Path:
    """Write a gradebook."""
    titles = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "Homework (7001)"]
    rows = [titles, ["    Points Possible", "", "", "", "", "100.00"]]
    for one in persons:
        name = f"{one.last}, {one.first}"
        rows.append([name, one.number, f"s{one.number}", one.login, "Lab 1", ""])
    return table(path, rows)


def gradescope_export(folder: Path, entries: Iterable[tuple[list[Person], str, Files]]) -> Path:
    """Write an export: the persons of a submission, its time and its files."""
    lines = ["---"]
    for at, (persons, when, files) in enumerate(entries, 1):
        lines += [f"submission_{at}:", "  :submitters:"]
        for one in persons:
            lines += [f"  - :name: {one.name}", f"    :sid: '{one.login}'"]
            lines += [f"    :email: {one.email}"]
        lines += [f"  :created_at: {when}", "  :score: 0.0", "  :status: processed"]
        write_files(folder / f"submission_{at}", files)
    (folder / "submission_metadata.yml").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


class Term(runs.Term):
    """A course with deadlines in Berlin, and a class whose files say what they are worth."""

    def settings(self, **lateness: object) -> None:
        """Set the deadlines, and more of lateness."""
        rule = {"zone": "Europe/Berlin", "deadlines": DUE, "share_a_day": 0.2, "most": 0.6}
        super().settings(**rule | lateness)

    def collect(self, source: Path, system: str, roster: Path, *options) -> tuple[int, str]:
        """Sort a download into the class."""
        told = ("--from", system, "--roster", roster, *options)
        done = self.run("collect", source, self.submitted, *told)
        return done.returncode, done.stdout + done.stderr

    def submit(self, learner: str, when: str, content: bytes, chapter: str = CH1) -> None:
        """Put a file of a chapter into the class."""
        files = {f"{chapter}.py": content, "timestamp.txt": when.encode()}
        write_files(self.submitted / learner / chapter, files)

    def found(self) -> dict[tuple[str, str], float]:
        """Return the points by login and chapter; an e-mail address counts as its login."""
        found: dict[tuple[str, str], float] = {}
        for (student, chapter, _), row in rows_of(self.out).items():
            key = student.partition("@")[0], chapter
            found[key] = round(found.get(key, 0) + row["points"], 3)
        return found
