"""Fill in the lists of course systems: Moodle's grading worksheet and Canvas' gradebook.

A cell counts as typed by a person if it is neither empty nor the value in an earlier file of
OUT/export/. Without `--overwrite`, nothing is written over typed cells, or if many grades fall.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from html import escape, unescape
from math import inf
from pathlib import Path

from ..course import Chapter, CourseError
from ..sources.finding import named
from ..sources.submitted_files import escaped
from ..views.csv_cells import as_csv, harmless, is_formula
from .collect_notes import brief
from .export_rows import Export, total, write
from .points_breakdown import is_changed, late, points_steps
from .report.page import Person
from .roster import IDENTIFYING, Roster, lines_of
from .worksheet import IDENTIFIER, NO

MOST_TOLD = 10
GRADE, COMMENT, MAXIMUM = "grade", "feedback comments", "maximum grade"
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
        return not same_cell(f"{self.was if self.was is not None else ''}", str(self.new))

    @property
    def falls(self) -> bool:
        """Return True if the grade becomes lower."""
        new = as_number(str(self.new))
        return new is not None and self.was is not None and self.changes and new < self.was

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
    if first is None or second is None:
        return bare(one) == bare(other)
    return abs(first - second) < 0.006


def bare(cell: str) -> str:
    """Return a cell without tags and spaces."""
    return re.sub(r"\s+", "", unescape(re.sub(r"<[^>]*>", "", cell)))


def check_cells(what: Export, cells: list[Cell]) -> None:
    """Add a note on what changes.

    Raises CourseError, without --overwrite, for typed cells and if over a tenth of the grades fall.
    """
    grades = [one for one in cells if one.column != COMMENT]
    falling = [one for one in grades if one.falls]
    some = ", ".join(f"{one.who} {one.was:g} → {one.new}" for one in falling[:MOST_TOLD])
    changed = sum(one.changes for one in grades)
    what.notes.append(
        f"grades of {changed} change, {len(falling)} fall{': ' if some else ''}{some}"
    )
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


Earlier = dict[str, dict[str, str]]


def earlier_cells(paths: Iterable[Path], key: str) -> Earlier:
    """Return the cells in our earlier files, by the cell of a key column and by lower-case column.

    Canvas adds a number to the name of a new column, which is left out here.
    """
    found: Earlier = defaultdict(dict)
    for path in filter(Path.is_file, paths):
        (_, header), *lines = lines_of(path.read_text(encoding="utf-8-sig"))
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
    listed = {escaped(one["student"]) for one in what.listed}
    if missing := sorted(set(students) - listed):
        what.notes.append(f"not on the roster, so not in the file: {named(missing)}")


def note_formulas(what: Export, cells: Iterable[object]) -> None:
    """Add a note on the number of identifying cells that a spreadsheet would read as formulas.

    They stay unchanged, because a course system finds people by them.
    """
    if many := sum(map(is_formula, cells)):
        told = f"{many} of the cells that identify learners look like formulas and stay unchanged"
        what.notes.append(f"{told}; import the file, and do not open it in a spreadsheet")


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
    return round(by * total(rows, "points") * chapter.points / (chapter.points - excused), 6)


# --- Moodle --------------------------------------------------------------------------------------


def moodle_csv(what: Export) -> list[Path]:
    """Write a grading worksheet for one assignment: the roster's own columns, filled in.

    Grades are out of each row's Maximum grade. If the roster is not a worksheet, write what
    identifies people, points and feedback instead.
    """
    chapter, people = what.only(), what.people()
    if what.roster.is_worksheet:
        return worksheet(what, chapter, people)
    keys = {"login": "Username", "id_number": "ID number", "email": "Email address"}
    own = [key for key in keys if any(what.known[name][key] for name in people)]
    lines: list[list[object]] = []
    for name, person in people.items():
        points = scaled_points(person.rows, chapter)
        cells = [what.known[name][key] for key in own]
        lines.append([*cells, "" if points is None else points, feedback(person)])
    note_formulas(what, [cell for line in lines for cell in line[: len(own)]])
    most = f"{chapter.points:g}"
    what.notes.append(
        f"grades are points out of {most}: Moodle does not convert them, so the "
        f"assignment's maximum grade must be {most}. With the worksheet as --roster they are scaled"
    )
    header = [*(keys[key] for key in own), "Grade", "Feedback comments"]
    return write(what.folder / f"moodle-{chapter.name}.csv", as_csv(header, lines))


def worksheet(what: Export, chapter: Chapter, people: dict[str, Person]) -> list[Path]:
    """Fill in the grades and comments of a worksheet. Raises CourseError if it has neither."""
    roster, path = what.roster, what.folder / f"moodle-{chapter.name}.csv"
    can = fillable(what)
    earlier = earlier_cells([path], roster.header[0].casefold())
    cells, lines = [], []
    for known, row, raw in zip(what.listed, roster.rows, roster.raw, strict=True):
        student, line = escaped(known["student"]), []
        wanted = filled_in(what, chapter, people[student], row) if student in people else {}
        for column, name, old in zip(roster.columns, roster.header, raw, strict=False):
            if column in can and column in wanted:
                before = earlier[raw[0]].get(name.casefold(), "")
                cells.append(Cell(student, column, row[column], before, wanted[column]))
                line.append(wanted[column])
            else:
                line.append(old if column in KEPT else harmless(old))
        lines.append(line)
    check_cells(what, cells)
    note_unlisted(what, people.keys())
    note_formulas(what, [row.get(name, "") for row in roster.rows for name in IDENTIFYING])
    text = as_csv(roster.header, lines, roster.separator)
    return write(path, f"\ufeff{text}" if roster.has_bom else text)


KEPT = (*IDENTIFYING, IDENTIFIER)  # Moodle finds people by them


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
    what: Export, chapter: Chapter, person: Person, row: dict[str, str]
) -> dict[str, object]:
    """Return the new values of a learner's row, by column; {} if Moodle does not allow a change."""
    if row.get("grade can be changed", "").casefold() in NO:
        what.notes.append(f"Moodle does not allow to change the grade of {person.name}; it stays")
        return {}
    by = scale(what, chapter, row[MAXIMUM]) if MAXIMUM in row else 1.0
    points = scaled_points(person.rows, chapter, by)
    return {GRADE: "" if points is None else points, COMMENT: feedback(person)}


def feedback(person: Person) -> str:
    """Return a line for each exercise, and one on the late penalty, in Moodle's HTML."""
    lines = [
        f"{row['exercise']}: {row['points']:g} of {row['max_points']:g}. {comment(row)}"
        for row in person.rows
    ]
    if penalty := total(person.rows, "penalty"):
        when = late(person.rows[0]["late_seconds"])
        lines.append(f"Submitted {when} late: {penalty:g} points deducted (included above).")
    return "<br>".join(escape(line, quote=False).replace("\n", "<br>") for line in lines)


def comment(row: dict) -> str:
    """Return the message of a row, and all steps to its points if a mistake or a rule cost some."""
    explained = is_changed(row) or row["mistakes"]
    return " ".join([row["message"], *points_steps(row)]) if explained else row["message"]


# --- Canvas --------------------------------------------------------------------------------------


def canvas_csv(what: Export) -> list[Path]:
    """Write a CSV that Canvas' gradebook imports, with a column for each chapter.

    The roster is the gradebook's own export, because Canvas finds people by its ids. An existing
    column keeps its possible points, and the grades are scaled to these.
    """
    roster = what.roster
    if "id" not in roster.columns or not {"student", "lastname"} & set(roster.columns):
        raise CourseError("give Canvas' own list with --roster: its gradebook, exported as CSV")
    own = [at for at, name in enumerate(roster.columns) if name in CANVAS]
    columns = canvas_columns(what)
    most = {name: cell_at(roster.possible, at) for name, at in columns.items()}
    header = [roster.header[at] for at in own]
    possible: list[object] = ["    Points Possible", *[""] * (len(own) - 1)]
    for name, at in columns.items():
        chapter = what.course.chapter(name)
        header.append(roster.header[at] if at >= 0 else chapter.title)
        possible.append(most[name] or chapter.points)
        if at < 0:
            told = f"not in the gradebook yet, so Canvas will create an assignment: {header[-1]}"
            what.notes.append(f"{told}; `--chapter NAME` writes one chapter alone")
    lines = canvas_lines(what, own, columns, most, header[len(own) :])
    note_formulas(what, [cell for line in lines for cell in line[: len(own)]])
    name = f"canvas-{what.chapter.name}.csv" if what.chapter else "canvas.csv"
    return write(what.folder / name, as_csv(header, [possible, *lines]))


def canvas_lines(
    what: Export, own: list[int], columns: dict[str, int], most: dict[str, str], titles: list[str]
) -> list[list[object]]:
    """Return a line for each learner. Raises CourseError as `check_cells` does.

    own: the places of the columns that identify people. columns, most, titles: the place of each
    chapter's column, its possible points, and its name.
    """
    points, roster = canvas_points(what, columns, most), what.roster
    earlier = earlier_cells(sorted(what.folder.glob("canvas*.csv")), "id")
    lines: list[list[object]] = []
    cells = []
    for person, raw in zip(what.listed, roster.raw, strict=True):
        student = escaped(person["student"])
        if what.section and student not in {student for student, _ in points}:
            continue
        line: list[object] = [cell_at(raw, at) for at in own]
        before = earlier[cell_at(raw, roster.columns.index("id"))]
        for (chapter, at), name in zip(columns.items(), titles, strict=True):
            now, new = cell_at(raw, at), points.get((student, chapter))
            line.append(harmless(now) if new is None else new)
            if new is not None:
                old = before.get(title(name).casefold(), "")
                cells.append(Cell(student, name, now, old, new))
        lines.append(line)
    check_cells(what, cells)
    note_unlisted(what, {student for student, _ in points})
    return lines


def canvas_points(
    what: Export, columns: dict[str, int], most: dict[str, str]
) -> dict[tuple[str, str], float | str]:
    """Return scaled points by student and chapter, or Canvas' mark if everything is excused."""
    own: dict[tuple[str, str], list[dict]] = defaultdict(list)
    for row in what.addressed():
        own[row["student"], row["chapter"]].append(row)
    chapters = {name: what.course.chapter(name) for name in columns}
    scales = {n: scale(what, c, most[n] or f"{c.points:g}") for n, c in chapters.items()}
    found = {a: scaled_points(rows, chapters[a[1]], scales[a[1]]) for a, rows in own.items()}
    return {about: CANVAS_EXCUSED if p is None else p for about, p in found.items()}


def cell_at(cells: tuple[str, ...], at: int) -> str:
    """Return a cell of a row; "" for -1, and if the row is too short."""
    return cells[at].strip() if 0 <= at < len(cells) else ""


def canvas_columns(what: Export) -> dict[str, int]:
    """Return the place of each chapter's column in the gradebook, -1 for a new one.

    With --column there is only one chapter. Otherwise the column is named `title (number)`. Raises
    CourseError if several columns are named like this.
    """
    if what.column:
        return {what.only().name: one_column(what.roster, [what.column])}
    there, columns = {row["chapter"] for row in what.rows}, {}
    for chapter in what.course.chapters:
        if chapter.name in there:
            columns[chapter.name] = one_column(what.roster, [chapter.title, chapter.name], False)
    return columns


def one_column(roster: Roster, names: list[str], needed: bool = True) -> int:
    """Return the place of the only column with one of these names or numbers; -1 without one.

    Raises CourseError if there are several, or none although one is needed.
    """
    wanted, found = {name.casefold() for name in names}, []
    for at, column in enumerate(roster.header):
        number = column.removesuffix(")").rpartition(" (")[2]
        if wanted & {column.casefold(), title(column).casefold(), number}:
            found.append(at)
    if len(found) > 1:
        several = ", ".join(roster.header[at] for at in found)
        told = f"the gradebook has {len(found)} columns {names[0]}: {several}"
        raise CourseError(f"{told}; choose with --column")
    if needed and not found:
        there = ", ".join(one for one in roster.header if one.casefold() not in CANVAS)
        what = f"no column {names[0]}; it has {there or 'no assignments'}"
        raise CourseError(f"the gradebook has {what}")
    return found[0] if found else -1
