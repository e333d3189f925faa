"""`tensorgrade export`: write a class's points as CSV, workbook and pages, for course systems."""

import json
import re
import zipfile
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from html import unescape
from itertools import chain, count, groupby
from math import inf
from pathlib import Path
from typing import Any

from ..attempts.verdict import Status
from ..course import Chapter, Course, CourseError
from ..folders import write_file
from ..lateness import in_zone, is_released
from ..sources.finding import named
from ..sources.submitted_files import escaped
from ..views.csv_cells import as_csv, harmless, in_csv, is_formula
from ..views.words import plural
from .collecting import brief
from .folder_names import safe
from .points_breakdown import is_changed, late, points_steps
from .report.page import PAGES, STATES, Person, people_of
from .results import Results, rows_of
from .roster import Roster
from .sections import COLUMNS as SECTIONS
from .sections import learners_in
from .term import Term, terms_of
from .worksheet import IDENTIFIER, NO, number_of

PAGES_FOLDER = "pages"
LONGEST_NAME = 200  # bytes of a file's name; systems allow at most 255


@dataclass(frozen=True)
class Export:
    """The data to export. chapter: None for all. roster: may be empty.

    overwrite: replace grades and comments that people typed. section: the name of the section whose
    rows these are; "" for the whole class. column: the column of Canvas' gradebook to fill, if its
    name is not the chapter's title. lessons: the address of the lessons, for links on learners'
    pages. notes: sentences on the written files, for the instructor.
    """

    out: Path
    course: Course
    rows: list[dict]
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


def export(
    out: Path,
    course: Course,
    to: str,
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

    partial: export even if some submissions are not graded yet. section: a section of the roster,
    whose learners alone are exported, into a folder of its own. column: a column of Canvas'
    gradebook. lessons: the address of the lessons, for learners' pages.
    """
    if lessons and not lessons.startswith(("https://", "http://")):
        raise CourseError(f"--lessons must be an address that begins with https://, not {lessons}")
    if column and form != "canvas":
        raise CourseError("--column is the column of Canvas' gradebook; give --format canvas too")
    if (to, form) not in WRITERS:
        known = "; ".join(f"--to {t} --format {f}" for t, f in WRITERS)
        raise CourseError(f"there is no export --to {to} --format {form}, but {known}")
    if (to, form) in FOR_LEARNERS and not is_released(course.lateness):
        raise CourseError(not_released(course))
    only = course.chapter(chapter) if chapter else None
    learners = learners_in(roster, section)
    rows = [row for row in rows_of(out, course) if not learners or row["student"] in learners]
    rows = [row for row in rows if only is None or row["chapter"] == only.name]
    if not rows:
        raise CourseError(f"{out} holds no rows of {chapter or section or 'this course'}")
    notes = [*roster.notes, *not_graded(out, only, partial, learners)]
    what = Export(out, course, rows, roster, only, overwrite, section, column, lessons, notes)
    what.folder.mkdir(parents=True, exist_ok=True)
    return WRITERS[to, form](what), list(dict.fromkeys(what.notes))


# The exports that show points to learners. Pages are not listed, because they show less before the
# release.
FOR_LEARNERS = {("csv", "moodle"), ("csv", "canvas")}


def not_released(course: Course) -> str:
    """Return a sentence on feedback that is not released yet."""
    return (
        f"learners may not see points before {course.lateness.feedback_from} (feedback_from in "
        "course_config.py). Until then, `--to html` writes pages without points"
    )


def not_graded(
    out: Path, only: Chapter | None, partial: bool, learners: Collection[str]
) -> list[str]:
    """Return a note on submissions that are not graded yet. Raises CourseError unless partial."""
    own = [a for a in Results(out).waiting() if not learners or a[0] in learners]
    left = sorted("/".join(a) for a in own if only is None or a[1] == only.name)
    if not left:
        return []
    count = plural(len(left), "submission")
    what = f"{count} {'is' if len(left) == 1 else 'are'} not graded yet"
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

    An excused chapter is empty. Names and sections come from the roster.
    """
    there = {row["chapter"] for row in what.rows}
    chapters = [chapter for chapter in what.course.chapters if chapter.name in there]
    known = {escaped(folder): row for folder, row in what.roster.by_folder().items()}
    most = [f"{one.name} (of {one.points:g})" for one in chapters]
    lines: list[list[object]] = [
        ["student", "name", "section", *most, "total", "of", "percent", "late chapters"]
    ]
    for student, person in people_of(what.rows, sum(one.points for one in chapters)).items():
        lines.append([student, *class_line(person, known.get(student, {}), chapters)])
    return lines


def class_line(person: Person, row: dict[str, str], chapters: list[Chapter]) -> list[object]:
    """Return a learner's cells in the class table. row: the learner's row of the roster, if any."""
    both = " ".join(filter(None, (row.get("first name"), row.get("last name"))))
    name = row.get("full name") or row.get("student") or row.get("name") or both
    section = next((row[column] for column in SECTIONS if row.get(column)), "")
    own = {  # an excused chapter has an empty cell
        chapter: total(rows, "points") if total(rows, "max_points") else ""
        for chapter, rows in person.chapters.items()
    }
    points = [own.get(one.name, "") for one in chapters]
    share = round(100 * person.share, 2) if person.most else ""
    late_ones = sum(bool(rows[0].get("late_seconds")) for rows in person.chapters.values())
    sums = [round(person.points, 6), round(person.most, 6), share, late_ones]
    return [name, section, *points, *sums]


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


CANVAS = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section"]


def canvas_csv(what: Export) -> list[Path]:
    """Write a CSV that Canvas' gradebook imports, with a column for each chapter.

    The roster is the gradebook's own export, because Canvas finds people by its ids. An existing
    column keeps its possible points, and the grades are scaled to these. What people typed there
    stays, unless `overwrite` is set.
    """
    if not {"student", "id"} <= {name.casefold() for name in what.roster.header}:
        raise CourseError("give Canvas' own list with --roster: its gradebook, exported as CSV")
    columns = canvas_columns(what)
    chapters = [chapter for chapter in what.course.chapters if chapter.name in columns]
    there = {c.name: what.roster.possible.get(columns[c.name].casefold(), "") for c in chapters}
    scales = {c.name: scale(what, c, there[c.name] or f"{c.points:g}") for c in chapters}
    most = [there[c.name] or c.points for c in chapters]
    possible: list[object] = ["    Points Possible", "", "", "", "", *most]
    points = {key: scaled(p, scales[key[1]]) for key, p in points_by_learner(what).items()}
    lines, ours = canvas_lines(what, columns, points)
    note_unlisted(what, {student for student, _ in points})
    if new := [column for column in columns.values() if column not in what.roster.header]:
        told = f"not in the gradebook yet, so Canvas will create assignments: {', '.join(new)}"
        what.notes.append(f"{told}; `--chapter NAME` writes one chapter alone")
    note_formulas(what, [cell for line in lines for cell in line[: len(CANVAS)]])
    header = CANVAS + list(columns.values())
    written = write(what.folder / "canvas.csv", as_csv(header, [possible, *lines]))
    remember(what, "canvas", ours)
    return written


Ours = dict[str, dict[str, str]]  # the cells that our last exports wrote: by learner, by column


def canvas_lines(
    what: Export, columns: dict[str, str], points: dict[tuple[str, str], float | str]
) -> tuple[list[list[object]], Ours]:
    """Return a line for each learner, and the cells that exports wrote. Add a note on kept cells.

    The cells are remembered by chapter, because Canvas adds a number to the name of a new column.
    """
    own, ours = learners_in(what.roster, what.section), remembered(what, "canvas")
    lines: list[list[object]] = []
    kept: list[str] = []
    for folder, row in what.roster.by_folder().items():
        if what.section and escaped(folder) not in own:
            continue
        lines.append([row.get(column.casefold(), "") for column in CANVAS])
        before = ours.setdefault(row["id"], {})
        for chapter, column in columns.items():
            cell, new = row.get(column.casefold(), ""), points.get((escaped(folder), chapter))
            if new is None:  # nothing is graded
                lines[-1].append(harmless(cell))
            elif is_typed(what, cell, str(new), before.get(chapter)):
                lines[-1].append(harmless(cell))
                kept.append(f"{folder}: {column} {brief(cell)} (ours: {brief(str(new))})")
            else:
                lines[-1].append(new)
                before[chapter] = str(new)
    note_kept(what, kept)
    return lines, ours


def remembered(what: Export, setting: str) -> Ours:
    """Return the cells that exports of a kind wrote before."""
    path = what.out / "export" / f".{setting}.json"
    ours: Ours = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return ours


def remember(what: Export, setting: str, ours: Ours) -> None:
    """Keep the cells that exports of a kind wrote, so that later ones may replace them."""
    write_file(what.out / "export" / f".{setting}.json", json.dumps(ours).encode())


def note_unlisted(what: Export, students: Collection[str]) -> None:
    """Add a note on graded learners who are missing from the course system's list."""
    listed = set(map(escaped, what.roster.folders))
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


def canvas_columns(what: Export) -> dict[str, str]:
    """Return the gradebook's column of each chapter with rows, by the chapter's name.

    With --column there is only one chapter. Otherwise the column is named `title (number)`, or it
    is new.
    """
    if what.column:
        return {what.only().name: named_column(what.roster, what.column)}
    there = {row["chapter"] for row in what.rows}
    columns = {}
    for chapter in [chapter for chapter in what.course.chapters if chapter.name in there]:
        names = (chapter.title, chapter.name)
        known = (name for name in what.roster.header if re.sub(r" \(\d+\)$", "", name) in names)
        columns[chapter.name] = next(known, chapter.title)
    return columns


def named_column(roster: Roster, name: str) -> str:
    """Return the gradebook's column with this name or number. Raises CourseError."""
    for column in roster.header:
        title, _, number = column.removesuffix(")").rpartition(" (")
        if name.casefold() in (column.casefold(), title.casefold(), number):
            return column
    there = ", ".join(one for one in roster.header if one not in CANVAS)
    raise CourseError(f"the gradebook has no column {name}; it has {there or 'no assignments'}")


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


def moodle_csv(what: Export) -> list[Path]:
    """Write a grading worksheet for one assignment: the roster's own columns, filled in.

    Grades are out of each row's Maximum grade. If the roster is not a worksheet, write identifiers,
    points and feedback instead.
    """
    chapter, people = what.only(), people_in(what)
    path = what.folder / f"moodle-{chapter.name}.csv"
    if IDENTIFIER in what.roster.columns:
        return worksheet(what, chapter, people, path)
    key = what.roster.column.title() if what.roster.rows else "Identifier"
    filled: list[list[object]] = []
    for name, person in people.items():
        # Moodle's name of a learner is `Participant 12345` if the folder's name ends in the number.
        found = None if what.roster.rows else NUMBERED.fullmatch(name)
        learner = f"Participant {found['id']}" if found else name
        filled.append([learner, moodle_points(chapter, person), harmless(feedback(person))])
    note_formulas(what, [line[0] for line in filled])
    most = f"{chapter.points:g}"
    what.notes.append(
        f"grades are points out of {most}: Moodle does not convert them, so the "
        f"assignment's maximum grade must be {most}. With the worksheet as --roster they are scaled"
    )
    return write(path, as_csv([key, "Grade", "Feedback comments"], filled))


GRADE, COMMENT = "grade", "feedback comments"


def worksheet(what: Export, chapter: Chapter, people: dict[str, Person], path: Path) -> list[Path]:
    """Fill in the grades and comments of a worksheet.

    What people typed there stays, unless `overwrite` is set.
    """
    columns, roster = what.roster.columns, what.roster
    if missing := [name for name in (GRADE, COMMENT) if name not in columns]:
        there = ", ".join(roster.header)
        raise CourseError(f"the worksheet has no column {' and '.join(missing)}, but {there}")
    setting = f"moodle {chapter.name}"
    ours = remembered(what, setting)
    kept: list[str] = []
    lines = []
    for folder, row, raw in zip(roster.folders, roster.rows, roster.raw, strict=True):
        person, before = people.get(escaped(folder)), ours.setdefault(row[IDENTIFIER], {})
        wanted, stay = filled_in(what, chapter, person, row, before) if person else ({}, [])
        kept += [f"{folder}: {cell}" for cell in stay]
        before |= {column: str(cell) for column, cell in wanted.items()}
        old = [c if n in IDENTIFYING else harmless(c) for n, c in zip(columns, raw, strict=False)]
        lines.append([wanted.get(n, cell) for n, cell in zip(columns, old, strict=False)])
    note_kept(what, kept)
    note_unlisted(what, people.keys())
    note_formulas(what, [row.get(name, "") for row in roster.rows for name in IDENTIFYING])
    text = as_csv(roster.header, lines, roster.separator)
    written = write(path, f"\ufeff{text}" if roster.has_bom else text)
    remember(what, setting, ours)
    return written


def is_typed(
    what: Export, cell: str, new: str, before: str | None, is_locked: bool = False
) -> bool:
    """Return True for a cell that a person filled in, or that the course system does not change.

    new: the value of this export. before: the value that our last export wrote, None if none did.
    """
    if same_cell(cell, new):
        return False
    if is_locked:
        return True
    if cell in ("", "-") or what.overwrite:
        return False
    return before is None or not same_cell(cell, before)


def same_cell(one: str, other: str) -> bool:
    """Return True if two cells are equal, although Moodle rounds grades and adds tags to comments.

    >>> same_cell("66,67", "66.666667"), same_cell("<p>Well<br />done</p>", "Well\\ndone")
    (True, True)
    """
    try:
        return abs(float(one.replace(",", ".")) - float(other.replace(",", "."))) < 0.006
    except ValueError:
        return bare(one) == bare(other)


def bare(cell: str) -> str:
    """Return a cell without tags and spaces."""
    return re.sub(r"\s+", "", unescape(re.sub(r"<[^>]*>", "", cell)))


def note_kept(what: Export, kept: list[str]) -> None:
    """Add a note on the cells that stay because a person filled them in."""
    if kept:
        told = "cells stay if a person filled them in, or if the course system allows no change"
        advice = "--overwrite replaces those that a person filled in"
        more = f"; and {len(kept) - MOST_KEPT} more" if len(kept) > MOST_KEPT else ""
        what.notes.append(f"{told}; {advice}. {'; '.join(kept[:MOST_KEPT])}{more}")


MOST_KEPT = 10


# Columns of Moodle's worksheet that identify learners. Learners can write into some others.
IDENTIFYING = (IDENTIFIER, "full name", "id number", "username", "email address")


def filled_in(
    what: Export, chapter: Chapter, person: Person, row: dict[str, str], before: dict[str, str]
) -> tuple[dict[str, object], list[str]]:
    """Return the new values of a learner's row, by column, and a text on each unchanged cell.

    before: the values that our last export wrote into the row.
    """
    by = scale(what, chapter, row.get("maximum grade", ""))
    grade = scaled(moodle_points(chapter, person), by)
    wanted, stay = {GRADE: grade, COMMENT: harmless(feedback(person))}, []
    is_locked = row.get("grade can be changed", "").casefold() in NO
    for column, new in list(wanted.items()):
        if not is_typed(what, row[column], str(new), before.get(column), is_locked):
            continue
        ours = str(wanted.pop(column))
        stay.append(f"{column} {brief(row[column])} (ours: {brief(ours)})")
    return wanted, stay


def moodle_points(chapter: Chapter, person: Person) -> float | str:
    """Return a learner's points; "", which is not a grade, if everything is excused."""
    points = scaled_points(person.rows, chapter)
    return "" if points is None else points


def people_in(what: Export) -> dict[str, Person]:
    """Return all learners with rows of the one chapter."""
    chapter = what.only()
    rows = [row for row in what.rows if row["chapter"] == chapter.name]
    people = people_of(rows, chapter.points)
    for person in people.values():
        person.points = round(person.points, 6)
    return people


NUMBERED = re.compile(r"(?P<name>.+)_(?P<id>\d+)")


def feedback(person: Person) -> str:
    """Return a line for each exercise, and one on the late penalty."""
    lines = [
        f"{row['exercise']}: {row['points']:g} of {row['max_points']:g}. {comment(row)}"
        for row in person.rows
    ]
    if penalty := total(person.rows, "penalty"):
        when = late(person.rows[0]["late_seconds"])
        lines.append(f"Submitted {when} late: {penalty:g} points deducted (included above).")
    return "\n".join(lines)


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
    for name, person in people_of(what.rows, 0).items():
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
    """Write the pages as a zip of feedback files, in the folders of Moodle's download."""
    chapter = what.only()
    path = what.folder / f"moodle-feedback-{chapter.name}.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, person in people_in(what).items():
            if folder := moodle_folder(what.roster, name):
                page = page_of(person, what.course, lessons=what.lessons).encode("utf-8", "replace")
                archive.writestr(f"{folder}/{chapter.name}.html", page)
        if not archive.namelist():
            raise CourseError(
                "no learner has a Moodle number; give the grading worksheet with --roster"
            )
    return [path]


def moodle_folder(roster: Roster, student: str) -> str:
    """Return `Ada Lovelace_12345_assignsubmission_file_`; "" without a Moodle number."""
    rows = {escaped(folder): row for folder, row in roster.by_folder().items()}
    row = rows.get(student, {})
    number = number_of(row.get(IDENTIFIER, ""))
    if number:
        name = row.get("full name") or student
        return f"{safe(name)}_{number}_assignsubmission_file_"
    found = NUMBERED.fullmatch(student)
    return f"{found['name']}_{found['id']}_assignsubmission_file_" if found else ""


WRITERS: dict[tuple[str, str], Callable[[Export], list[Path]]] = {
    ("csv", "plain"): plain_csv,
    ("csv", "moodle"): moodle_csv,
    ("csv", "canvas"): canvas_csv,
    ("xlsx", "plain"): workbook,
    ("html", "plain"): learners_pages,
    ("html", "moodle"): moodle_feedback,
}
