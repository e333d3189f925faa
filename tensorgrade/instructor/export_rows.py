"""The rows that an export is about, and how its files are written."""

from dataclasses import dataclass, field
from pathlib import Path

from ..course import Chapter, Course, CourseError
from ..folders import write_file
from ..sources.finding import PEOPLE, named
from .folder_names import safe
from .people import Person as Known
from .report.page import Person, people_of
from .roster import Roster


@dataclass(frozen=True)
class Export:
    """The data to export.

    rows: those that count. known: people by the name that rows have. roster: may be empty; listed:
    the person of each of its rows. chapter: None for all. overwrite: replace typed cells, and let
    many grades fall. section: the section whose rows these are; "" for the whole class. column: the
    column of Canvas' gradebook to fill, if its name is not the chapter's title. lessons: the
    address of the lessons, for links on learners' pages. notes: sentences for the instructor.
    """

    out: Path
    course: Course
    rows: list[dict]
    known: dict[str, Known]
    roster: Roster
    listed: list[Known]
    chapter: Chapter | None = None
    overwrite: bool = False
    section: str = ""
    column: str = ""
    lessons: str = ""
    notes: list[str] = field(default_factory=list)

    @property
    def folder(self) -> Path:
        """The folder for exported files."""
        whole = self.out / "export"
        return whole / safe(self.section) if self.section else whole

    def only(self) -> Chapter:
        """Return the only chapter of the rows. Raises CourseError if there are several."""
        names = sorted({row["chapter"] for row in self.rows})
        if self.chapter is None and len(names) != 1:
            raise CourseError(f"choose one of several chapters with --chapter: {', '.join(names)}")
        return self.chapter or self.course.chapter(names[0])

    def addressed(self) -> list[dict]:
        """Return the rows of people in people.csv, and add a note on others."""
        strange = sorted({row["student"] for row in self.rows} - self.known.keys())
        if strange:
            self.notes.append(f"not in {PEOPLE}, so not in the file: {named(strange)}")
        return [row for row in self.rows if row["student"] in self.known]

    def people(self) -> dict[str, Person]:
        """Return all people with rows of the one chapter."""
        chapter = self.only()
        rows = [row for row in self.addressed() if row["chapter"] == chapter.name]
        people = people_of(rows, chapter.points)
        for person in people.values():
            person.points = round(person.points, 6)
        return people


def write(path: Path, text: str) -> list[Path]:
    """Write a text to a file. Characters that cannot be UTF-8, such as in names, become "?"."""
    write_file(path, text.encode("utf-8", "replace"))
    return [path]


def total(rows: list[dict], name: str) -> float:
    """Return the sum of a column, without rounding errors."""
    return round(sum(row.get(name, 0.0) for row in rows), 6)
