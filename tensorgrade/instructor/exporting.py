"""`tensorgrade export`: write a class's points as CSV, workbook and pages, for course systems.

What is addressed to a person goes only to people of people.csv.
"""

import csv
import io
import re
import zipfile
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from html import escape, unescape
from itertools import chain, count, groupby
from math import inf
from pathlib import Path
from typing import Any

from ..attempts.verdict import Status
from ..course import Chapter, Course, CourseError
from ..folders import write_file
from ..lateness import in_zone, is_released
from ..sources.finding import PEOPLE, named
from ..sources.submitted_files import escaped
from ..views.csv_cells import as_csv, harmless, in_csv, is_formula
from ..views.words import plural
from .collect import brief
from .folder_names import safe
from .people import IDS, People, read_people
from .people import Person as Known
from .points_breakdown import is_changed, late, points_steps
from .report.page import PAGES, STATES, Person, people_of
from .results import Results, rows_of
from .roster import IDENTIFYING, Roster
from .term import Term, terms_of
from .worksheet import IDENTIFIER, NO, number_of

PAGES_FOLDER = "pages"
LONGEST_NAME = 200  # bytes of a file's name; systems allow at most 255


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


def export(
    out: Path,
    course: Course,
    form: str,
    roster: Roster,
    chapter: str = "",
    overwrite: bool = False,
    partial: bool = False,
    section: str = "",
    column: str = "",
    lessons: str = "",
) -> tuple[list[Path], list[str]]:
    """Write an export, and return its files and notes on their content. Raises CourseError.

    partial: export even if some submissions are not graded yet. section: a section of people.csv,
    whose learners alone are exported, into a folder of its own. column: a column of Canvas'
    gradebook. lessons: the address of the lessons, for learners' pages.
    """
    if lessons and not lessons.startswith(("https://", "http://")):
        raise CourseError(f"--lessons must be an address that begins with https://, not {lessons}")
    if column and form != "canvas":
        raise CourseError("--column is the column of Canvas' gradebook; give --format canvas too")
    if form not in WRITERS:
        raise CourseError(f"--format must be one of {', '.join(WRITERS)}, not {form}")
    if form in FOR_LEARNERS and not is_released(course.lateness):
        raise CourseError(not_released(course))
    only = course.chapter(chapter) if chapter else None
    people, listed = people_in(out, roster)
    own = people.in_section(section)
    rows, notes = counted_rows(out, course, own, only, partial)
    if not rows:
        raise CourseError(f"{out} holds no rows of {chapter or section or 'this course'}")
    known = {escaped(one["student"]): one for one in people.rows}
    if not known:  # without people.csv and a roster, each folder is a learner with this login
        known = {row["student"]: no_person(row["student"]) for row in rows}
    what = Export(
        out, course, rows, known, roster, listed, only, overwrite, section, column, lessons, notes
    )
    what.folder.mkdir(parents=True, exist_ok=True)
    return WRITERS[form](what), list(dict.fromkeys(what.notes))


def counted_rows(
    out: Path, course: Course, own: Collection[str], only: Chapter | None, partial: bool
) -> tuple[list[dict], list[str]]:
    """Return the rows that count, and notes. own: the only learners; all if empty."""
    rows = [row for row in rows_of(out, course) if not own or row["student"] in own]
    notes = not_graded(out, only, partial, own)
    return [row for row in rows if only is None or row["chapter"] == only.name], notes


def people_in(out: Path, roster: Roster) -> tuple[People, list[Known]]:
    """Return the people of the class, and the person of each row of the roster.

    The roster updates people.csv if there is one. Raises CourseError.
    """
    people = read_people(out)
    people.folders = {student for student, _ in Results(out).attempts()}
    has_people = bool(people.rows)
    listed = people.update(roster)
    if has_people and roster.rows:
        people.save()
    return people, listed


def no_person(student: str) -> Known:
    """Return what is known about a learner of whom there is only a folder."""
    return dict.fromkeys(("name", "email", "section", *IDS), "") | {
        "student": student,
        "login": student,
    }


# The exports that show points to learners. Pages are not listed, because they show less before the
# release.
FOR_LEARNERS = ("moodle", "canvas")


def not_released(course: Course) -> str:
    """Return a sentence on feedback that is not released yet."""
    return (
        f"learners may not see points before {course.lateness.feedback_from} (feedback_from in "
        "course_config.py). Until then, `--format pages` writes pages without points"
    )


def not_graded(
    out: Path, only: Chapter | None, partial: bool, learners: Collection[str]
) -> list[str]:
    """Return a note on submissions that are not graded yet. Raises CourseError unless partial."""
    own = [a for a in Results(out).waiting() if not learners or a[0] in learners]
    left = sorted("/".join(a) for a in own if only is None or a[1] == only.name)
    if not left:
        return []
    what = f"{plural(len(left), 'submission')} {'is' if len(left) == 1 else 'are'} not graded yet"
    advice = "wait until the run ends, or run `tensorgrade grade` again"
    if not partial:
        raise CourseError(f"{what}: {named(left)}; {advice}, or export without them with --partial")
    return [f"{what}, so the export has no new points for {named(left)}"]


def write(path: Path, text: str) -> list[Path]:
    """Write a text to a file. Characters that cannot be UTF-8, such as in names, become "?"."""
    write_file(path, text.encode("utf-8", "replace"))
    return [path]


MOST_IN_A_CELL = 32_767  # characters; Excel's own limit
HEADER = "student chapter points max_points penalty late_seconds submitted passed exercises".split()


def plain_csv(what: Export) -> list[Path]:
    """Write a line for each learner and chapter."""
    files = write(what.folder / "grades.csv", in_csv(HEADER, plain_lines(what)))
    if table := term_lines(what):
        header, *lines = table
        files += write(what.folder / "term.csv", in_csv(map(str, header), lines))
    return files


def term_lines(what: Export) -> list[list[object]]:
    """Return a header and a line for each learner with the grade for the term.

    Empty without a grading scheme, and for an export of one chapter.
    """
    if what.course.scheme is None or what.chapter is not None:
        return []
    terms = terms_of(what.rows, what.course)
    chapters = list(dict.fromkeys(name for term in terms.values() for name in term.shares))
    lines: list[list[object]] = [["student", *chapters, "dropped", "total", "passed"]]
    for student, term in terms.items():
        shares = [term.shares.get(chapter, "") for chapter in chapters]
        passed = {True: "yes", False: "no", None: ""}[term.passed]
        lines.append([student, *shares, ", ".join(term.dropped), term.total, passed])
    return lines


def plain_lines(what: Export) -> list[list[object]]:
    """Return a line for each learner and chapter, in order."""
    ordered = sorted(local_rows(what), key=lambda row: (row["student"], row["chapter"]))
    grouped = groupby(ordered, key=lambda row: (row["student"], row["chapter"]))
    return [line_of(*about, list(own)) for about, own in grouped]


def local_rows(what: Export) -> list[dict]:
    """Return the rows with times in the course's time zone."""
    zone = what.course.lateness.zone
    return [row | {"submitted": in_zone(row.get("submitted"), zone)} for row in what.rows]


COLUMNS = "student chapter exercise points max_points status mistakes message submitted".split()


def workbook(what: Export) -> list[Path]:
    """Write sheets with a line for each learner's chapter, for each learner, and for each row."""
    from openpyxl import Workbook

    book = Workbook()
    fill(book.active, "grades", HEADER, plain_lines(what))
    header, *wide = class_lines(what)
    fill(book.create_sheet(), "class", list(map(str, header)), wide)
    lines = [[row.get(name) for name in COLUMNS] for row in local_rows(what)]
    fill(book.create_sheet(), "exercises", COLUMNS, lines)
    if table := term_lines(what):
        fill(book.create_sheet(), "term", list(map(str, table[0])), table[1:])
    path = what.folder / "grades.xlsx"
    book.save(path)
    return [path]


def fill(sheet: Any, title: str, header: list[str], lines: Iterable[list[object]]) -> None:
    """Fill a sheet of a workbook.

    Its first line stays visible and has filters, and learners' text is never a formula.
    """
    sheet.title, sheet.freeze_panes = title, "B2" if title == "class" else "A2"
    sheet.append(header)
    for row, line in enumerate(lines, 2):
        for column, value in enumerate(line, 1):
            cell = sheet.cell(row, column, in_a_cell(value))
            if cell.data_type == "f":  # a text that begins with =
                cell.data_type = "s"
    sheet.auto_filter.ref = sheet.dimensions


def class_lines(what: Export) -> list[list[object]]:
    """Return a header and a line for each learner: name, points in each chapter, and the total.

    An excused chapter is empty. Names and sections come from people.csv.
    """
    there = {row["chapter"] for row in what.rows}
    chapters = [chapter for chapter in what.course.chapters if chapter.name in there]
    most = [f"{one.name} (of {one.points:g})" for one in chapters]
    lines: list[list[object]] = [
        ["student", "name", "section", *most, "total", "of", "percent", "late chapters"]
    ]
    for student, person in people_of(what.rows, sum(one.points for one in chapters)).items():
        known = what.known.get(student, no_person(student))
        lines.append([student, *class_line(person, known, chapters)])
    return lines


def class_line(person: Person, known: Known, chapters: list[Chapter]) -> list[object]:
    """Return a learner's cells in the class table."""
    own = {  # an excused chapter has an empty cell
        chapter: total(rows, "points") if total(rows, "max_points") else ""
        for chapter, rows in person.chapters.items()
    }
    points = [own.get(one.name, "") for one in chapters]
    share = round(100 * person.share, 2) if person.most else ""
    late_ones = sum(bool(rows[0].get("late_seconds")) for rows in person.chapters.values())
    sums = [round(person.points, 6), round(person.most, 6), share, late_ones]
    return [known["name"], known["section"], *points, *sums]


def in_a_cell(value: object) -> object:
    """Return a value that fits a spreadsheet: without control characters, and of limited length."""
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if isinstance(value, str):
        return re.sub(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff]", "�", value)[:MOST_IN_A_CELL]
    return value


def line_of(student: str, chapter: str, rows: list[dict]) -> list[object]:
    """Return the line of one learner's chapter. The points of an excused chapter are empty."""
    passed = sum(row["status"] == Status.PASSED for row in rows)
    names = ("points", "max_points", "penalty")
    is_excused = not total(rows, "max_points")
    sums: list[float | str] = ["" if is_excused else total(rows, name) for name in names]
    first = rows[0]
    dates = [first.get("late_seconds", 0.0), first.get("submitted") or ""]
    return [student, chapter, *sums, *dates, passed, len(rows)]


def total(rows: list[dict], name: str) -> float:
    """Return the sum of a column, without rounding errors."""
    return round(sum(row.get(name, 0.0) for row in rows), 6)


CANVAS = (
    *("student", "lastname", "firstname", "id", "sis user id", "sis login id"),
    *("integration id", "root account", "section"),
)


def canvas_csv(what: Export) -> list[Path]:
    """Write a CSV that Canvas' gradebook imports, with a column for each chapter.

    The roster is the gradebook's own export, because Canvas finds people by its ids. An existing
    column keeps its possible points, and the grades are scaled to these.
    """
    roster = what.roster
    if not {"id"} <= set(roster.columns) or not {"student", "lastname"} & set(roster.columns):
        raise CourseError("give Canvas' own list with --roster: its gradebook, exported as CSV")
    own = [at for at, name in enumerate(roster.columns) if name in CANVAS]
    columns = canvas_columns(what)
    chapters = [chapter for chapter in what.course.chapters if chapter.name in columns]
    most = [cell_at(roster.possible, columns[one.name]) for one in chapters]
    scales = {
        c.name: scale(what, c, m or f"{c.points:g}") for c, m in zip(chapters, most, strict=True)
    }
    points = points_by_learner(what)
    name = f"canvas-{what.chapter.name}.csv" if what.chapter else "canvas.csv"
    earlier = earlier_cells(sorted(what.folder.glob("canvas*.csv")), "id")
    lines: list[list[object]] = []
    cells: list[Cell] = []
    for person, raw in zip(what.listed, roster.raw, strict=True):
        student = escaped(person["student"])
        if what.section and student not in {row["student"] for row in what.rows}:
            continue
        line: list[object] = [cell_at(raw, at) for at in own]
        before = earlier[cell_at(raw, roster.columns.index("id"))]
        for chapter in chapters:
            now, new = cell_at(raw, columns[chapter.name]), points.get((student, chapter.name))
            column = column_name(what, chapter, columns[chapter.name])
            line.append(harmless(now) if new is None else scaled(new, scales[chapter.name]))
            if new is not None:
                old = before.get(title(column).casefold(), "")
                cells.append(Cell(student, column, now, (old,) if old else (), line[-1]))
        lines.append(line)
    check_cells(what, cells)
    note_unlisted(what, {student for student, _ in points})
    header = [roster.header[at] for at in own]
    header += [column_name(what, chapter, columns[chapter.name]) for chapter in chapters]
    if new_ones := [one for one in header if one not in roster.header]:
        told = f"not in the gradebook yet, so Canvas will create assignments: {', '.join(new_ones)}"
        what.notes.append(f"{told}; `--chapter NAME` writes one chapter alone")
    note_formulas(what, [cell for line in lines for cell in line[: len(own)]])
    possible: list[object] = ["    Points Possible", *[""] * (len(own) - 1)]
    possible += [m or chapter.points for m, chapter in zip(most, chapters, strict=True)]
    return write(what.folder / name, as_csv(header, [possible, *lines]))


def cell_at(cells: tuple[str, ...], at: int) -> str:
    """Return a cell of a row; "" for -1, and if the row is too short."""
    return cells[at].strip() if 0 <= at < len(cells) else ""


def column_name(what: Export, chapter: Chapter, at: int) -> str:
    """Return the name of a chapter's column in the gradebook, or of a new one."""
    return what.roster.header[at] if at >= 0 else chapter.title


def canvas_columns(what: Export) -> dict[str, int]:
    """Return the place of each chapter's column in the gradebook, -1 for a new one.

    With --column there is only one chapter. Otherwise the column is named `title (number)`. Raises
    CourseError if several columns are named like this.
    """
    if what.column:
        return {what.only().name: named_column(what.roster, what.column)}
    there, header = {row["chapter"] for row in what.rows}, what.roster.header
    columns = {}
    for chapter in [chapter for chapter in what.course.chapters if chapter.name in there]:
        found = [n for n, name in enumerate(header) if title(name) in (chapter.title, chapter.name)]
        columns[chapter.name] = one_column(what.roster, chapter.title, found) if found else -1
    return columns


def named_column(roster: Roster, name: str) -> int:
    """Return the place of the gradebook's column with this name or number. Raises CourseError."""
    wanted, found = name.casefold(), []
    for at, column in enumerate(roster.header):
        number = column.removesuffix(")").rpartition(" (")[2]
        if wanted in (column.casefold(), title(column).casefold(), number):
            found.append(at)
    if not found:
        there = ", ".join(one for one in roster.header if one.casefold() not in CANVAS)
        raise CourseError(f"the gradebook has no column {name}; it has {there or 'no assignments'}")
    return one_column(roster, name, found)


def one_column(roster: Roster, name: str, found: list[int]) -> int:
    """Return the only column. Raises CourseError if there are several of one name."""
    if len(found) > 1:
        several = ", ".join(roster.header[at] for at in found)
        raise CourseError(
            f"the gradebook has several columns {name}: {several}; choose with --column"
        )
    return found[0]


@dataclass(frozen=True)
class Cell:
    """A cell of a course system's list that an export fills in.

    who: a learner, for sentences. column: of the file. now: what the list has. before: what our
    earlier files of this chapter had. new: what the cell gets.
    """

    who: str
    column: str
    now: str
    before: tuple[str, ...]
    new: object
    is_grade: bool = True

    @property
    def was(self) -> float | None:
        """The grade so far; None if there is none."""
        numbers = [as_number(cell) for cell in (self.now, *self.before[-1:])]
        return next((number for number in numbers if number is not None), None)

    @property
    def falls(self) -> bool:
        """Return True if the grade becomes lower."""
        new, was = as_number(str(self.new)), self.was
        return new is not None and was is not None and new < was - 0.006

    @property
    def is_typed(self) -> bool:
        """Return True if a person filled it in: it is neither empty nor ours."""
        ours = (str(self.new), *self.before)
        return self.now not in ("", "-") and not any(same_cell(self.now, one) for one in ours)


def as_number(cell: str) -> float | None:
    """Return the number in a cell; None if it holds none."""
    try:
        return float(cell.replace(",", "."))
    except ValueError:
        return None


def check_cells(what: Export, cells: list[Cell]) -> None:
    """Add a note on what changes. Raises CourseError, without --overwrite, for typed cells.

    It also does so if more than a tenth of the grades fall.
    """
    grades = [one for one in cells if one.is_grade]
    changed = [one for one in grades if not same_cell(str(one.was or ""), str(one.new))]
    falling = [one for one in grades if one.falls]
    typed = [one for one in cells if one.is_typed]
    some = ", ".join(f"{one.who} {one.was:g} → {one.new}" for one in falling[:MOST_TOLD])
    falls = f", {len(falling)} fall: {some}" if falling else ", 0 fall"
    what.notes.append(f"grades of {len(changed)} change{falls}")
    if what.overwrite:
        return
    if typed:
        told = [f"{o.who}: {o.column} {brief(o.now)} (ours: {brief(str(o.new))})" for o in typed]
        more = f"; and {len(told) - MOST_TOLD} more" if len(told) > MOST_TOLD else ""
        why = f"people typed these cells: {'; '.join(told[:MOST_TOLD])}{more}"
        raise CourseError(f"{why}. Nothing is written; --overwrite replaces them")
    if 10 * len(falling) > len(grades):
        why = f"grades of {len(falling)} of {len(grades)} would fall: {some}"
        raise CourseError(f"{why}. Nothing is written; if this is right, give --overwrite")


MOST_TOLD = 10


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


def earlier_cells(
    paths: Iterable[Path], key: str, separator: str = ","
) -> dict[str, dict[str, str]]:
    """Return the cells in our earlier files, by the cell of a key column and by lower-case column.

    Canvas adds a number to the name of a new column, which is left out here.
    """
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for path in filter(Path.is_file, paths):
        text = path.read_text(encoding="utf-8-sig")
        for line in csv.DictReader(io.StringIO(text), delimiter=separator):
            own = {title(name or "").casefold(): str(cell) for name, cell in line.items()}
            found[own.get(key, "")] |= own
    return found


def title(column: str) -> str:
    """Return the name of a column of Canvas without its number."""
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
    try:
        number = float(most.replace(",", "."))
    except ValueError:
        number = 0.0
    if not 0 < number < inf:
        about = f"points of {chapter.name} are out of {chapter.points:g}"
        what.notes.append(f"{about}; the roster does not give the course system's maximum grade")
        return 1.0
    if number != chapter.points:
        scaled = f"the {chapter.points:g} points of {chapter.name} are scaled to {number:g}"
        what.notes.append(f"{scaled}, the maximum grade in the course system")
    return number / chapter.points


def scaled(points: float | str, by: float) -> float | str:
    """Return points times a factor; an empty cell stays empty."""
    return round(points * by, 6) if isinstance(points, float) else points


CANVAS_EXCUSED = "EX"


def points_by_learner(what: Export) -> dict[tuple[str, str], float | str]:
    """Return points by student and chapter, or Canvas' mark if everything is excused."""
    own: dict[tuple[str, str], list[dict]] = defaultdict(list)
    for row in what.rows:
        own[row["student"], row["chapter"]].append(row)
    worth = {key: scaled_points(rows, what.course.chapter(key[1])) for key, rows in own.items()}
    return {key: CANVAS_EXCUSED if p is None else p for key, p in worth.items()}


def scaled_points(rows: list[dict], chapter: Chapter) -> float | None:
    """Return a learner's points, scaled to the chapter's full points if exercises are excused.

    None if everything is excused.
    """
    excused = sum(row["override"]["of"] for row in rows if row.get("override"))
    excused -= sum(row["max_points"] for row in rows if row.get("override"))
    if excused >= chapter.points:
        return None
    return round(total(rows, "points") * chapter.points / (chapter.points - excused), 6)


GRADE, COMMENT, MAXIMUM = "grade", "feedback comments", "maximum grade"


def moodle_csv(what: Export) -> list[Path]:
    """Write a grading worksheet for one assignment: the roster's own columns, filled in.

    Grades are out of each row's Maximum grade. If the roster is not a worksheet, write what
    identifies people, points and feedback instead.
    """
    chapter, people = what.only(), graded_people(what)
    path = what.folder / f"moodle-{chapter.name}.csv"
    if what.roster.is_worksheet:
        return worksheet(what, chapter, people, path)
    keys = {"login": "Username", "id_number": "ID number", "email": "Email address"}
    own = [key for key in keys if any(what.known[name][key] for name in people)]
    filled: list[list[object]] = [
        [*(what.known[name][key] for key in own), moodle_points(chapter, person), feedback(person)]
        for name, person in people.items()
    ]
    note_formulas(what, [cell for line in filled for cell in line[: len(own)]])
    most = f"{chapter.points:g}"
    what.notes.append(
        f"grades are points out of {most}: Moodle does not convert them, so the "
        f"assignment's maximum grade must be {most}. With the worksheet as --roster they are scaled"
    )
    header = [keys[key] for key in own]
    return write(path, as_csv([*header, "Grade", "Feedback comments"], filled))


def worksheet(what: Export, chapter: Chapter, people: dict[str, Person], path: Path) -> list[Path]:
    """Fill in the grades and comments of a worksheet. Raises CourseError if it has neither column.

    An assignment with a scale has no maximum grade, and its grades are words.
    """
    roster = what.roster
    can = [name for name in (GRADE, COMMENT) if name in roster.columns]
    if GRADE in can and MAXIMUM not in roster.columns:
        can.remove(GRADE)
        what.notes.append("the worksheet has no maximum grade, as with a scale: grades stay")
    if COMMENT not in can:
        what.notes.append("the worksheet has no column of feedback comments, so none are written")
    if not can:
        there = ", ".join(roster.header)
        raise CourseError(f"the worksheet has no column that can be filled in; it has {there}")
    earlier = earlier_cells([path], roster.header[0].casefold(), roster.separator)
    cells, lines = [], []
    for known, row, raw in zip(what.listed, roster.rows, roster.raw, strict=True):
        student = escaped(known["student"])
        before = earlier[raw[0]]
        wanted = filled_in(what, chapter, people[student], row) if student in people else {}
        for at, name in enumerate(roster.columns):
            if name in can and name in wanted:
                old = before.get(roster.header[at].casefold(), "")
                ours = (old,) if old else ()
                cells.append(Cell(student, name, row[name], ours, wanted[name], name == GRADE))
        keep = (*IDENTIFYING, IDENTIFIER)
        old_cells = [
            c if n in keep else harmless(c) for n, c in zip(roster.columns, raw, strict=False)
        ]
        lines.append(
            [
                wanted.get(n, c) if n in can else c
                for n, c in zip(roster.columns, old_cells, strict=False)
            ]
        )
    check_cells(what, cells)
    note_unlisted(what, people.keys())
    note_formulas(what, [row.get(name, "") for row in roster.rows for name in IDENTIFYING])
    text = as_csv(roster.header, lines, roster.separator)
    return write(path, f"\ufeff{text}" if roster.has_bom else text)


def filled_in(
    what: Export, chapter: Chapter, person: Person, row: dict[str, str]
) -> dict[str, object]:
    """Return the new values of a learner's row, by column; {} if Moodle does not allow a change."""
    if row.get("grade can be changed", "").casefold() in NO:
        what.notes.append(f"Moodle does not allow to change the grade of {person.name}; it stays")
        return {}
    by = scale(what, chapter, row[MAXIMUM]) if MAXIMUM in row else 1.0
    return {GRADE: scaled(moodle_points(chapter, person), by), COMMENT: feedback(person)}


def moodle_points(chapter: Chapter, person: Person) -> float | str:
    """Return a learner's points; "", which is not a grade, if everything is excused."""
    points = scaled_points(person.rows, chapter)
    return "" if points is None else points


def graded_people(what: Export) -> dict[str, Person]:
    """Return all learners with rows of the one chapter, who are in people.csv."""
    chapter = what.only()
    rows = [row for row in what.addressed() if row["chapter"] == chapter.name]
    people = people_of(rows, chapter.points)
    for person in people.values():
        person.points = round(person.points, 6)
    return people


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


def learners_pages(what: Export) -> list[Path]:
    """Write one page for each learner, as a single file that shows no other learner."""
    folder = what.folder / PAGES_FOLDER
    folder.mkdir(exist_ok=True)
    for old in folder.glob("*.html"):
        old.unlink()
    paths = []
    has_term = what.course.scheme is not None and what.chapter is None
    terms = terms_of(what.rows, what.course) if has_term else {}
    for name, person in people_of(what.addressed(), 0).items():
        page = page_of(person, what.course, terms.get(name), what.lessons)
        short = short_name(name)
        names = chain([short], (f"{short}-{number}" for number in count(2)))
        unused = (one for one in names if not (folder / f"{one}.html").exists())
        paths += write(folder / f"{next(unused)}.html", page)
    return paths


def short_name(student: str) -> str:
    """Return the name of a learner's page, without a number for pages of the same name."""
    return safe(student).encode("utf-8", "replace")[:LONGEST_NAME].decode(errors="ignore")


def page_of(person: Person, course: Course, term: Term | None = None, lessons: str = "") -> str:
    """Return one learner's page. Text that comes from learners is escaped.

    lessons: the address of the lessons; "" for no links.
    """
    template = PAGES.get_template("learner.html")
    released = is_released(course.lateness)
    told = term.told() if term and released else ""
    return template.render(
        person=person,
        course=course,
        states=STATES,
        released=released,
        term=told,
        lessons=lessons.partition("#")[0],
    )


def moodle_feedback(what: Export) -> list[Path]:
    """Write the pages as a zip of feedback files, in the folders of Moodle's download.

    Moodle finds people by the number after the first underscore. Raises CourseError without a
    worksheet.
    """
    chapter, people = what.only(), graded_people(what)
    if not what.roster.is_worksheet:
        raise CourseError("Moodle's numbers are in its grading worksheet; give it with --roster")
    path = what.folder / f"moodle-feedback-{chapter.name}.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for known, row in zip(what.listed, what.roster.rows, strict=True):
            student, number = escaped(known["student"]), number_of(row[IDENTIFIER])
            if student in people and number:
                name = safe(known["name"] or student).replace("_", " ")
                page = page_of(people[student], what.course, lessons=what.lessons)
                place = f"{name}_{number}_assignsubmission_file_/{chapter.name}.html"
                archive.writestr(place, page.encode("utf-8", "replace"))
    note_unlisted(what, people.keys())
    return [path]


WRITERS: dict[str, Callable[[Export], list[Path]]] = {
    "csv": plain_csv,
    "xlsx": workbook,
    "moodle": moodle_csv,
    "canvas": canvas_csv,
    "pages": learners_pages,
    "feedback": moodle_feedback,
}
