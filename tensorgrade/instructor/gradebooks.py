"""Fill in the lists of course systems: Moodle's grading worksheet and Canvas' gradebook.

A cell counts as typed by a person if it is neither empty nor the value in an earlier file of
OUT/export/. Without `--overwrite`, nothing is written over typed cells, or if many grades fall.
"""

import codecs
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape, unescape
from math import inf, isnan, nan
from pathlib import Path

from ..course import Chapter, Course, CourseError
from ..folders import write_file
from ..sources.finding import named
from ..views.csv_cells import as_csv, harmless, lines_of, separator_of
from .downloads import brief
from .people import IDENTIFIER, IDENTIFYING, NO, Roster, english
from .report.page import Person
from .rules import points_steps, total

EXPORT = "export"  # the folder in OUT
GRADE, COMMENT, MAXIMUM = "grade", "feedback comments", "maximum grade"
CANVAS = (
    *("student", "lastname", "firstname", "id", "sis user id", "sis login id"),
    *("integration id", "root account", "section"),
)
KEPT = (*IDENTIFYING, *CANVAS, IDENTIFIER)  # course systems find people by these cells
New = dict[int, str]  # the new cells of a learner's line, by place


@dataclass(frozen=True)
class Export:
    """The data to export.

    folder: for exported files. rows: those that count. known: the people of people.csv by the name
    that rows have; without the file, each folder is a learner. roster: may be empty. chapters:
    those with rows. people: the learners with rows. only: the asked chapter; "" for all of them.
    overwrite: replace typed cells, and let many grades fall. column: the column of Canvas'
    gradebook to fill, if its name is not the chapter's title. lessons: the address of the lessons,
    for links on learners' pages. notes: sentences for the instructor.
    """

    folder: Path
    course: Course
    rows: list[dict]
    known: dict[str, dict[str, str]]
    roster: Roster
    chapters: list[Chapter]
    people: dict[str, Person]
    only: str
    overwrite: bool
    column: str
    lessons: str
    notes: list[str]


def write(path: Path, text: str) -> list[Path]:
    """Write a text to a file. Characters that cannot be UTF-8, such as in names, become "?"."""
    write_file(path, text.encode("utf-8", "replace"))
    return [path]


CLOSE = 0.006  # Moodle rounds grades


def as_number(cell: str) -> float:
    """Return the number in a cell; nan if it holds none."""
    try:
        return float(cell.replace(",", "."))
    except ValueError:
        return nan


def same_cell(one: str, other: str) -> bool:
    """Return True if two cells are equal, although Moodle rounds grades and adds tags to comments.

    >>> same_cell("66,67", "66.666667"), same_cell("<p>Well<br />done</p>", "Well\\ndone")
    (True, True)
    """
    bare = {re.sub(r"\s+", "", unescape(re.sub(r"<[^>]*>", "", cell))) for cell in (one, other)}
    return len(bare) == 1 or abs(as_number(one) - as_number(other)) < CLOSE


def filled_in(
    what: Export,
    header: Sequence[str],
    lines: dict[str, list[str]],
    new: dict[str, New],
    earlier: Iterable[Path],
) -> list[list[object]]:
    """Return a list's lines with new cells, and add a note on what changes.

    Other cells are unchanged, but a spreadsheet finds no formula in them. lines, new: by learner.
    earlier: our files. Raises CourseError, without --overwrite, for typed cells and if over a tenth
    of the grades fall.
    """
    columns = english(header)
    key = columns.index(IDENTIFIER if IDENTIFIER in columns else "id")
    ours = earlier_cells(earlier, columns[key])
    typed, falling, changed, grades = [], [], 0, 0
    for student, at, cell in ((who, at, own[at]) for who, own in new.items() for at in own):
        now = lines[student][at].strip()
        before = ours[lines[student][key]].get(title(columns[at]), "")
        if now not in ("", "-") and not (same_cell(now, cell) or same_cell(now, before)):
            typed.append(f"{student}: {header[at]} {brief(now)} (ours: {brief(cell)})")
        if columns[at] != COMMENT:
            was = before if isnan(as_number(now)) else now
            grades += 1
            changed += not same_cell(cell, was)
            if as_number(cell) < as_number(was) - CLOSE:
                falling.append(f"{student} {as_number(was):g} → {cell}")
    if typed and not what.overwrite:
        why = f"people typed these cells: {named(typed)}"
        raise CourseError(f"{why}. Nothing is written; --overwrite replaces them")
    some = named(falling)
    if 10 * len(falling) > grades and not what.overwrite:
        why = f"grades of {len(falling)} of {grades} would fall: {some}"
        raise CourseError(f"{why}. Nothing is written; if this is right, give --overwrite")
    told = f"grades of {changed} change, {len(falling)} fall"
    what.notes.append(f"{told}: {some}" if some else told)
    kept = [column in KEPT for column in columns]
    return [
        [own.get(at, cell if kept[at] else harmless(cell)) for at, cell in enumerate(line)]
        for own, line in ((new.get(student, {}), line) for student, line in lines.items())
    ]


def earlier_cells(paths: Iterable[Path], key: str) -> dict[str, dict[str, str]]:
    """Return the cells in our earlier files, by the cell of a key column and by column."""
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for path in filter(Path.is_file, paths):
        (_, header), *lines = lines_of(path)
        names = list(map(title, english(header)))
        for _, line in lines:
            own = dict(zip(names, line, strict=False))
            found[own.get(key, "")] |= own
    return found


def title(column: str) -> str:
    """Return the name of a column without the number that Canvas adds to it."""
    return re.sub(r" \(\d+\)$", "", column)


def scale(what: Export, chapter: Chapter, most: str) -> float:
    """Return the factor from a chapter's points to a course system's maximum. Add a note on it.

    Course systems do not scale grades. Full marks in a chapter of 35 points would become 35 of 100,
    and Moodle ignores grades above its maximum. most: the maximum as the roster gives it. The
    factor is 1 if it is not a positive number.
    """
    number = as_number(most)
    if not 0 < number < inf:
        about = f"points of {chapter.name} are out of {chapter.points:g}"
        what.notes.append(f"{about}; the roster does not give the course system's maximum grade")
        return 1.0
    if number != chapter.points:
        told = f"the {chapter.points:g} points of {chapter.name} are scaled to {number:g}"
        what.notes.append(f"{told}, the maximum grade in the course system")
    return number / chapter.points


def scaled_points(rows: list[dict], chapter: Chapter, by: float, excused: str) -> str:
    """Return a learner's points times a factor; another text if everything is excused.

    If some exercises are excused, the others are worth the chapter's full points.
    """
    decided = [row for row in rows if row.get("override")]
    counts = chapter.points - sum(row["override"]["of"] - row["max_points"] for row in decided)
    return str(round(by * total(rows) * chapter.points / counts, 6)) if counts > 0 else excused


# --- Moodle --------------------------------------------------------------------------------------


def moodle_csv(what: Export) -> list[Path]:
    """Write a grading worksheet for one assignment: the roster's own columns, filled in.

    Grades are out of each row's Maximum grade. Raises CourseError for another roster, and if there
    is nothing to fill in.
    """
    (chapter,), people, roster = what.chapters, what.people, what.roster
    roster.check_worksheet()
    can = fillable(what)
    lines: dict[str, list[str]] = {}
    new: dict[str, New] = {}
    for row in roster.rows:
        student = row.student
        lines[student] = [cell_at(row.raw, at) for at in range(len(roster.header))]
        if student in people and row.cells.get("grade can be changed", "").casefold() in NO:
            what.notes.append(f"Moodle does not allow to change the grade of {student}; it stays")
        elif student in people:
            by = scale(what, chapter, row.cells[MAXIMUM]) if GRADE in can else 1.0
            points = scaled_points(people[student].rows, chapter, by, "")
            cells = {GRADE: points, COMMENT: feedback(people[student])}
            new[student] = {place: cells[name] for name, place in can.items()}
    path = what.folder / f"moodle-{chapter.name}.csv"
    filled = filled_in(what, roster.header, lines, new, [path])
    given = roster.path.read_bytes()
    text = as_csv(roster.header, filled, separator_of(given.decode("utf-8-sig")))
    return write(path, f"\ufeff{text}" if given.startswith(codecs.BOM_UTF8) else text)


def fillable(what: Export) -> dict[str, int]:
    """Return the columns to fill in, with their places. Raises CourseError if there are none.

    An assignment with a scale has no maximum grade, and its grades are words.
    """
    columns = what.roster.columns
    can = {name: columns.index(name) for name in (GRADE, COMMENT) if name in columns}
    if GRADE in can and MAXIMUM not in columns:
        del can[GRADE]
        what.notes.append("the worksheet has no maximum grade, as with a scale, so grades stay")
    if COMMENT not in can:
        what.notes.append("the worksheet has no column of feedback comments, so none are written")
    if not can:
        there = ", ".join(what.roster.header)
        raise CourseError(f"the worksheet has no column that can be filled in; it has {there}")
    return can


def feedback(person: Person) -> str:
    """Return a line for each exercise, in Moodle's HTML."""
    lines = []
    for row in person.rows:
        told = " ".join([row["message"], *points_steps(row)])
        lines.append(f"{row['exercise']}: {row['points']:g} of {row['max_points']:g}. {told}")
    return "<br>".join(escape(line, quote=False).replace("\n", "<br>") for line in lines)


# --- Canvas --------------------------------------------------------------------------------------


def canvas_csv(what: Export) -> list[Path]:
    """Write a CSV that Canvas' gradebook imports, with a column for each chapter.

    The roster is the gradebook's own export, because Canvas finds people by its ids. An existing
    column keeps its possible points, and the grades are scaled to these.
    """
    roster, name = what.roster, f"canvas-{what.only}" if what.only else "canvas"
    if "id" not in roster.columns or not {"student", "lastname"} & set(roster.columns):
        raise CourseError("give Canvas' own list with --roster: its gradebook, exported as CSV")
    people = what.people
    rows = {row.student: row.raw for row in roster.rows}
    at = [n for n, column in enumerate(roster.columns) if column in CANVAS]
    header, possible = [roster.header[n] for n in at], ["    Points Possible", *[""] * len(at[1:])]
    lines = {student: [cell_at(raw, n) for n in at] for student, raw in rows.items()}
    new: dict[str, New] = defaultdict(dict)
    for chapter, place in canvas_columns(what):
        most = cell_at(roster.possible, place) or f"{chapter.points:g}"
        by = scale(what, chapter, most)
        for student, line in lines.items():
            line.append(cell_at(rows[student], place))
            if student in people and (graded := people[student].chapters.get(chapter.name)):
                new[student][len(header)] = scaled_points(graded, chapter, by, "EX")
        header.append(roster.header[place] if place >= 0 else chapter.title)
        possible.append(most)
    filled = filled_in(what, header, lines, new, sorted(what.folder.glob("canvas*.csv")))
    return write(what.folder / f"{name}.csv", as_csv(header, [possible, *filled]))


def cell_at(cells: Sequence[str], at: int) -> str:
    """Return a cell of a row; "" for -1, and if the row is too short."""
    return cells[at].strip() if 0 <= at < len(cells) else ""


def canvas_columns(what: Export) -> list[tuple[Chapter, int]]:
    """Return the place of each chapter's column in the gradebook, -1 for a new one.

    It is that of --column, for a single chapter, or is named `title (number)`. Raises CourseError
    if several columns are named like this, or if --column names none.
    """
    header, found = what.roster.header, []
    for chapter in what.chapters:
        names = [what.column] if what.column else [chapter.title, chapter.name]
        wanted = {name.casefold() for name in names}
        places = []
        for place, column in enumerate(header):  # its name, that without the number, the number
            number = column.removesuffix(")").rpartition(" (")[2]
            if wanted & {column.casefold(), title(column).casefold(), number}:
                places.append(place)
        if len(places) > 1:
            several = ", ".join(header[n] for n in places)
            told = f"the gradebook has {len(places)} columns {names[0]}: {several}"
            raise CourseError(f"{told}; choose with --column")
        if not places and what.column:
            known = ", ".join(one for one in header if one.casefold() not in CANVAS)
            told = f"no column {names[0]}; it has {known or 'no assignments'}"
            raise CourseError(f"the gradebook has {told}")
        if not places:
            told = "not in the gradebook yet, so Canvas will create an assignment"
            advice = "`--chapter NAME` writes one chapter alone"
            what.notes.append(f"{told}: {chapter.title}; {advice}")
        found.append((chapter, places[0] if places else -1))
    return found
