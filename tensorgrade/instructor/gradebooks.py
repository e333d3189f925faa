"""Fill in the lists of course systems: Moodle's grading worksheet and Canvas' gradebook.

A cell counts as typed by a person if it is neither empty nor the value in an earlier file of
OUT/export/. Without `--overwrite`, nothing is written over typed cells, or if many grades fall.
"""

import codecs
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from html import escape, unescape
from math import inf
from pathlib import Path

from ..course import Chapter, CourseError
from ..sources.finding import named
from ..sources.submitted_files import escaped
from ..views.csv_cells import as_csv, harmless, lines_of, separator_of
from .export_rows import Export, write
from .points_breakdown import is_changed, late, points_steps
from .report.page import Person, people_of
from .roster import IDENTIFYING, Row
from .rules import total
from .submitted_folder import brief
from .worksheet import IDENTIFIER, NO

MOST_TOLD = 10
GRADE, COMMENT, MAXIMUM = "grade", "feedback comments", "maximum grade"
KEPT = (*IDENTIFYING, IDENTIFIER)  # Moodle finds people by these cells
CANVAS = (
    *("student", "lastname", "firstname", "id", "sis user id", "sis login id"),
    *("integration id", "root account", "section"),
)
CANVAS_EXCUSED = "EX"


@dataclass(frozen=True)
class Cell:
    """A cell of a list that an export fills in.

    who: a learner. column: of the file. now: what the list has. before: what an earlier file of
    ours had. new: what the cell gets.
    """

    who: str
    column: str
    now: str
    before: str
    new: object

    @property
    def was(self) -> float | None:
        """The grade so far; None if there is none."""
        now = as_number(self.now)
        return as_number(self.before) if now is None else now

    @property
    def changes(self) -> bool:
        """Return True if the grade becomes another one."""
        return not same_cell("" if self.was is None else f"{self.was}", str(self.new))

    @property
    def falls(self) -> bool:
        """Return True if the grade becomes lower."""
        new = as_number(str(self.new))
        return self.changes and new is not None and self.was is not None and new < self.was

    @property
    def is_typed(self) -> bool:
        """Return True if a person filled it in."""
        ours = (str(self.new), self.before)
        return self.now not in ("", "-") and not any(same_cell(self.now, one) for one in ours)


def as_number(cell: str) -> float | None:
    """Return the number in a cell; None if it holds none."""
    try:
        return float(cell.replace(",", "."))
    except ValueError:
        return None


def same_cell(one: str, other: str) -> bool:
    """Return True if two cells are equal, although Moodle rounds grades and adds tags to comments.

    >>> same_cell("66,67", "66.666667"), same_cell("<p>Well<br />done</p>", "Well\\ndone")
    (True, True)
    """
    first, second = as_number(one), as_number(other)
    if first is not None and second is not None:
        return abs(first - second) < 0.006
    bare = (re.sub(r"\s+", "", unescape(re.sub(r"<[^>]*>", "", cell))) for cell in (one, other))
    return next(bare) == next(bare)


def check_cells(what: Export, cells: list[Cell]) -> None:
    """Add a note on what changes.

    Raises CourseError, without --overwrite, for typed cells and if over a tenth of the grades fall.
    """
    grades = [one for one in cells if one.column.casefold() != COMMENT]
    falling = [one for one in grades if one.falls]
    some = ", ".join(f"{one.who} {one.was:g} → {one.new}" for one in falling[:MOST_TOLD])
    changed = sum(one.changes for one in grades)
    typed = [
        f"{one.who}: {one.column} {brief(one.now)} (ours: {brief(str(one.new))})"
        for one in cells
        if one.is_typed
    ]
    if typed and not what.overwrite:
        more = f"; and {len(typed) - MOST_TOLD} more" if len(typed) > MOST_TOLD else ""
        why = f"people typed these cells: {'; '.join(typed[:MOST_TOLD])}{more}"
        raise CourseError(f"{why}. Nothing is written; --overwrite replaces them")
    if 10 * len(falling) > len(grades) and not what.overwrite:
        why = f"grades of {len(falling)} of {len(grades)} would fall: {some}"
        raise CourseError(f"{why}. Nothing is written; if this is right, give --overwrite")
    told = f"grades of {changed} change, {len(falling)} fall"
    what.notes.append(f"{told}: {some}" if some else told)


def earlier_cells(paths: Iterable[Path], key: str) -> dict[str, dict[str, str]]:
    """Return the cells in our earlier files, by the cell of a key column and by lower-case column.

    Canvas adds a number to the name of a new column, which is left out here.
    """
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for path in filter(Path.is_file, paths):
        (_, header), *lines = lines_of(path)
        names = [title(name).casefold() for name in header]
        for _, line in lines:
            own = dict(zip(names, line, strict=False))
            found[own[key]] |= own
    return found


def title(column: str) -> str:
    """Return the name of a column without Canvas' number."""
    return re.sub(r" \(\d+\)$", "", column)


def note_unlisted(what: Export, students: Collection[str]) -> None:
    """Add a note on graded learners who are missing from the course system's list."""
    listed = {escaped(row.person["student"]) for row in what.roster.rows}
    if missing := sorted(set(students) - listed):
        what.notes.append(f"not on the roster, so not in the file: {named(missing)}")


def scale(what: Export, chapter: Chapter, most: str) -> float:
    """Return the factor from a chapter's points to a course system's maximum. Add a note on it.

    Course systems do not scale grades. Full marks in a chapter of 35 points would become 35 of 100,
    and Moodle ignores grades above its maximum. most: the maximum as the roster gives it. The
    factor is 1 if it is not a positive number.
    """
    number = as_number(most) or 0.0
    if not 0 < number < inf:
        about = f"points of {chapter.name} are out of {chapter.points:g}"
        what.notes.append(f"{about}; the roster does not give the course system's maximum grade")
        return 1.0
    if number != chapter.points:
        told = f"the {chapter.points:g} points of {chapter.name} are scaled to {number:g}"
        what.notes.append(f"{told}, the maximum grade in the course system")
    return number / chapter.points


def scaled_points(rows: list[dict], chapter: Chapter, by: float = 1.0) -> float | None:
    """Return a learner's points times a factor; None if everything is excused.

    If some exercises are excused, the others are worth the chapter's full points.
    """
    excused = sum(row["override"]["of"] for row in rows if row.get("override"))
    excused -= sum(row["max_points"] for row in rows if row.get("override"))
    if excused >= chapter.points:
        return None
    return round(by * total(rows) * chapter.points / (chapter.points - excused), 6)


# --- Moodle --------------------------------------------------------------------------------------


def moodle_csv(what: Export) -> list[Path]:
    """Write a grading worksheet for one assignment: the roster's own columns, filled in.

    Grades are out of each row's Maximum grade. Raises CourseError for another roster, and if there
    is nothing to fill in.
    """
    chapter, people = what.only(), what.people()
    what.roster.check_worksheet()
    path = what.folder / f"moodle-{chapter.name}.csv"
    roster, can = what.roster, fillable(what)
    earlier = earlier_cells([path], roster.header[0].casefold())
    cells, lines = [], []
    for row in roster.rows:
        student, line = escaped(row.person["student"]), []
        new = filled_in(what, chapter, people[student], row.cells) if student in people else {}
        for column, name, now in zip(roster.columns, roster.header, row.raw, strict=False):
            if column in can and column in new:
                before = earlier[row.raw[0]].get(name.casefold(), "")
                cells.append(Cell(student, column, now.strip(), before, new[column]))
                line.append(new[column])
            else:
                line.append(now if column in KEPT else harmless(now))
        lines.append(line)
    check_cells(what, cells)
    note_unlisted(what, people.keys())
    given = roster.path.read_bytes()
    text = as_csv(roster.header, lines, separator_of(given.decode("utf-8-sig")))
    return write(path, f"\ufeff{text}" if given.startswith(codecs.BOM_UTF8) else text)


def fillable(what: Export) -> list[str]:
    """Return the columns to fill in. Raises CourseError if there are none.

    An assignment with a scale has no maximum grade, and its grades are words.
    """
    columns = what.roster.columns
    can = [name for name in (GRADE, COMMENT) if name in columns]
    if GRADE in can and MAXIMUM not in columns:
        can.remove(GRADE)
        what.notes.append("the worksheet has no maximum grade, as with a scale, so grades stay")
    if COMMENT not in can:
        what.notes.append("the worksheet has no column of feedback comments, so none are written")
    if not can:
        there = ", ".join(what.roster.header)
        raise CourseError(f"the worksheet has no column that can be filled in; it has {there}")
    return can


def filled_in(
    what: Export, chapter: Chapter, person: Person, cells: dict[str, str]
) -> dict[str, object]:
    """Return the new values of a learner's row, by column; {} if Moodle does not allow a change."""
    if cells.get("grade can be changed", "").casefold() in NO:
        what.notes.append(f"Moodle does not allow to change the grade of {person.name}; it stays")
        return {}
    by = scale(what, chapter, cells[MAXIMUM]) if MAXIMUM in cells else 1.0
    points = scaled_points(person.rows, chapter, by)
    return {GRADE: "" if points is None else points, COMMENT: feedback(person)}


def feedback(person: Person) -> str:
    """Return a line for each exercise, and one on the late penalty, in Moodle's HTML."""
    lines = []
    for row in person.rows:
        explained = is_changed(row) or row["mistakes"]  # by all steps to the points
        told = " ".join([row["message"], *(points_steps(row) if explained else ())])
        lines.append(f"{row['exercise']}: {row['points']:g} of {row['max_points']:g}. {told}")
    if penalty := total(person.rows, "penalty"):
        when = late(person.rows[0]["late_seconds"])
        lines.append(f"Submitted {when} late: {penalty:g} points deducted (included above).")
    return "<br>".join(escape(line, quote=False).replace("\n", "<br>") for line in lines)


# --- Canvas --------------------------------------------------------------------------------------


def canvas_csv(what: Export) -> list[Path]:
    """Write a CSV that Canvas' gradebook imports, with a column for each chapter.

    The roster is the gradebook's own export, because Canvas finds people by its ids. An existing
    column keeps its possible points, and the grades are scaled to these.
    """
    roster, name = what.roster, f"canvas-{what.chapter.name}" if what.chapter else "canvas"
    if "id" not in roster.columns or not {"student", "lastname"} & set(roster.columns):
        raise CourseError("give Canvas' own list with --roster: its gradebook, exported as CSV")
    people = people_of(what.addressed(), 0)
    rows = {escaped(row.person["student"]): row for row in roster.rows}
    if what.section:
        rows = {student: row for student, row in rows.items() if student in people}
    at = [n for n, column in enumerate(roster.columns) if column in CANVAS]
    header, possible = [roster.header[n] for n in at], ["    Points Possible", *[""] * len(at[1:])]
    lines: list[list[object]] = [[cell_at(row.raw, n) for n in at] for row in rows.values()]
    cells = []
    for chapter, place in canvas_columns(what):
        header.append(roster.header[place] if place >= 0 else chapter.title)
        possible.append(cell_at(roster.possible, place) or f"{chapter.points:g}")
        by = scale(what, chapter, possible[-1])
        column = canvas_cells(what, chapter, place, header[-1], by, rows, people)
        for line, cell in zip(lines, column, strict=True):
            line.append(harmless(cell.now) if cell.new is None else cell.new)
        cells += [cell for cell in column if cell.new is not None]
    check_cells(what, cells)
    note_unlisted(what, people.keys())
    return write(what.folder / f"{name}.csv", as_csv(header, [possible, *lines]))


def canvas_cells(
    what: Export,
    chapter: Chapter,
    place: int,
    column: str,
    by: float,
    rows: dict[str, Row],
    people: dict[str, Person],
) -> list[Cell]:
    """Return a cell of a chapter's column for each row; `new` is None if nothing is graded.

    place: of the column in the gradebook. by: the factor of points. rows: by learner.
    """
    earlier, cells = earlier_cells(sorted(what.folder.glob("canvas*.csv")), "id"), []
    for student, row in rows.items():
        new: object = None
        if student in people and (graded := people[student].chapters.get(chapter.name)):
            points = scaled_points(graded, chapter, by)
            new = CANVAS_EXCUSED if points is None else points
        before = earlier[row.cells["id"]].get(title(column).casefold(), "")
        cells.append(Cell(student, column, cell_at(row.raw, place), before, new))
    return cells


def cell_at(cells: Sequence[str], at: int) -> str:
    """Return a cell of a row; "" for -1, and if the row is too short."""
    return cells[at].strip() if 0 <= at < len(cells) else ""


def canvas_columns(what: Export) -> list[tuple[Chapter, int]]:
    """Return the place of each chapter's column in the gradebook, -1 for a new one.

    With --column there is only one chapter. Otherwise the column is named `title (number)`. Raises
    CourseError if several columns are named like this, or if --column names none.
    """
    there, found = {row["chapter"] for row in what.rows}, []
    for chapter in [what.only()] if what.column else what.course.chapters:
        if chapter.name in there:
            place = place_of(what, [what.column] if what.column else [chapter.title, chapter.name])
            found.append((chapter, place))
            if place < 0:
                told = "not in the gradebook yet, so Canvas will create an assignment"
                advice = "`--chapter NAME` writes one chapter alone"
                what.notes.append(f"{told}: {chapter.title}; {advice}")
    return found


def place_of(what: Export, names: list[str]) -> int:
    """Return the place of the only column with one of these names or numbers; -1 without one.

    Raises CourseError if there are several, or none although --column names one.
    """
    wanted, header, found = {name.casefold() for name in names}, what.roster.header, []
    for at, column in enumerate(header):
        number = column.removesuffix(")").rpartition(" (")[2]
        if wanted & {column.casefold(), title(column).casefold(), number}:
            found.append(at)
    if len(found) > 1:
        several = ", ".join(header[at] for at in found)
        told = f"the gradebook has {len(found)} columns {names[0]}: {several}"
        raise CourseError(f"{told}; choose with --column")
    if what.column and not found:
        there = ", ".join(one for one in header if one.casefold() not in CANVAS)
        told = f"no column {names[0]}; it has {there or 'no assignments'}"
        raise CourseError(f"the gradebook has {told}")
    return found[0] if found else -1
