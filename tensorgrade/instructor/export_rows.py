"""The rows that an export is about, their people, and how its files are written."""

from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

from ..course import Chapter, Course, CourseError
from ..folders import write_file
from ..sources.finding import PEOPLE, named
from ..sources.submitted_files import escaped
from ..views.words import plural
from .people import People, read_people, safe
from .people import Person as Known
from .report.page import Person, people_of
from .results import Results, rows_of
from .roster import Roster


@dataclass(frozen=True)
class Export:
    """The data to export.

    rows: those that count. known: the people of people.csv by the name that rows have; without the
    file, each folder is a learner. roster: may be empty. chapter: None for all. overwrite: replace
    typed cells, and let many grades fall. section: the section whose rows these are; "" for the
    whole class. column: the column of Canvas' gradebook to fill, if its name is not the chapter's
    title. lessons: the address of the lessons, for links on learners' pages. notes: sentences for
    the instructor.
    """

    out: Path
    course: Course
    rows: list[dict]
    known: dict[str, Known]
    roster: Roster
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
        if not self.known:
            return self.rows
        strange = sorted({row["student"] for row in self.rows} - self.known.keys())
        if strange:
            self.notes.append(f"not in {PEOPLE}, so not in the file: {named(strange)}")
        return [row for row in self.rows if row["student"] in self.known]

    def people(self) -> dict[str, Person]:
        """Return all people with rows of the one chapter."""
        chapter = self.only()
        rows = [row for row in self.addressed() if row["chapter"] == chapter.name]
        return people_of(rows, chapter.points)

    def note_unlisted(self, students: Collection[str]) -> None:
        """Add a note on graded learners who are missing from the course system's list."""
        listed = {escaped(row.person["student"]) for row in self.roster.rows}
        if missing := sorted(set(students) - listed):
            self.notes.append(f"not on the roster, so not in the file: {named(missing)}")


def people_in(out: Path, roster: Roster) -> People:
    """Return the people of the class, and set those of the roster's rows. Raises CourseError.

    The roster updates people.csv if there is one.
    """
    people = read_people(out)
    people.folders = {student for student, _ in Results(out).attempts()}
    has_people = bool(people.rows)
    people.update(roster)
    if has_people and roster.rows:
        people.save()
    return people


def counted_rows(
    out: Path, course: Course, own: Collection[str], only: Chapter | None, partial: bool
) -> tuple[list[dict], list[str]]:
    """Return the rows that count, and notes. own: the only learners; all if empty.

    Raises CourseError if some submissions are not graded yet, unless partial.
    """
    rows = [row for row in rows_of(out, course) if not own or row["student"] in own]
    rows = [row for row in rows if only is None or row["chapter"] == only.name]
    waiting = [about for about in Results(out).waiting() if not own or about[0] in own]
    left = sorted("/".join(about) for about in waiting if only is None or about[1] == only.name)
    if not left:
        return rows, []
    what = f"{plural(len(left), 'submission')} {'is' if len(left) == 1 else 'are'} not graded yet"
    if not partial:
        advice = "wait until the run ends, or run `tensorgrade grade` again"
        raise CourseError(f"{what}: {named(left)}; {advice}, or export without them with --partial")
    return rows, [f"{what}, so the export has no new points for {named(left)}"]


def write(path: Path, text: str) -> list[Path]:
    """Write a text to a file. Characters that cannot be UTF-8, such as in names, become "?"."""
    write_file(path, text.encode("utf-8", "replace"))
    return [path]
