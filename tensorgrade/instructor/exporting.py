"""`tensorgrade export`: write a class's points as CSV, workbook and pages, for course systems.

What is addressed to a person goes only to people of people.csv.
"""

import re
import zipfile
from collections.abc import Callable
from itertools import chain, count
from pathlib import Path

from ..attempts.verdict import Status
from ..course import Course, CourseError
from ..lateness import in_zone, is_released
from ..sources.finding import PEOPLE, named, noted
from ..sources.submitted_files import escaped
from ..views.csv_cells import in_csv
from ..views.words import STATES, plural
from .gradebooks import EXPORT, Export, canvas_csv, moodle_csv, write
from .people import Roster, read_people, safe
from .report.page import PAGES, Person, people_of
from .results import Results, rows_of
from .rules import Term, terms_of, total


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
    rows, people = rows_of(out, course), read_people(out)
    people.folders, has_people = {row["student"] for row in rows}, bool(people.rows)
    people.update(roster)
    if has_people and roster.rows:
        people.save()
    asked, only = people.in_section(section), course.chapter(chapter).name if chapter else ""

    def is_asked(student: str, chapter: str) -> bool:
        return (not asked or student in asked) and only in ("", chapter)

    rows = [row for row in rows if is_asked(row["student"], row["chapter"])]
    if not rows:
        raise CourseError(f"{out} holds no rows of {chapter or section or 'this course'}")
    waiting = sorted("/".join(one) for one in Results(out).waiting() if is_asked(*one))
    notes = notes_on_waiting(waiting, partial)
    there = {row["chapter"] for row in rows}
    if len(there) > 1 and (form in OF_ONE_CHAPTER or column):
        told = "choose one of several chapters with --chapter"
        raise CourseError(f"{told}: {', '.join(sorted(there))}")
    known = {escaped(person["student"]): person for person in people.rows}
    if known and form in ADDRESSED:
        students = {row["student"] for row in rows}
        listed = {row.student for row in roster.rows} if form != "pages" else students
        for where, those in ((f"in {PEOPLE}", known.keys()), ("on the roster", listed)):
            notes += noted({f"not {where}, so not in the file": students - those})
            students &= those
        rows = [row for row in rows if row["student"] in known]
    folder = out / EXPORT / (safe(section) if section else "")
    folder.mkdir(parents=True, exist_ok=True)
    chapters = [one for one in course.chapters if one.name in there]
    own = people_of(rows)
    what = Export(
        folder, course, rows, known, roster, chapters, own, only, overwrite, column, lessons, notes
    )
    return WRITERS[form](what), list(dict.fromkeys(notes))


# These show points to learners. Pages are not listed, because they show less before the release.
FOR_LEARNERS = ("moodle", "canvas")
OF_ONE_CHAPTER = ("moodle", "feedback")
ADDRESSED = ("moodle", "canvas", "feedback", "pages")  # to people of people.csv only


def notes_on_waiting(waiting: list[str], partial: bool) -> list[str]:
    """Return a note on submissions that are not graded yet. Raises CourseError unless partial."""
    if not waiting:
        return []
    verb = "is" if len(waiting) == 1 else "are"
    what = f"{plural(len(waiting), 'submission')} {verb} not graded yet: {named(waiting)}"
    if not partial:
        advice = "wait until the run ends, or run `tensorgrade grade` again"
        raise CourseError(f"{what}; {advice}, or export without new points of these with --partial")
    return [f"{what}; their new points are not in the export"]


def not_released(course: Course) -> str:
    """Return a sentence on feedback that is not released yet."""
    return (
        f"learners may not see points before {course.lateness.feedback_from} (feedback_from in "
        "course_config.py). Until then, `--format pages` writes pages without points"
    )


# --- tables --------------------------------------------------------------------------------------

MOST_IN_A_CELL = 32_767  # characters; Excel's own limit
GRADES = "student chapter points max_points penalty late_seconds submitted passed exercises".split()
ROWS = "student chapter exercise points max_points status mistakes message submitted".split()
Table = list[list[object]]  # the first line is the header


def plain_csv(what: Export) -> list[Path]:
    """Write the points of each learner's chapters, and the grades for the term if there are any."""
    paths = []
    for name, (header, *lines) in {"grades": grades(what), "term": term_table(what)}.items():
        if lines:
            paths += write(what.folder / f"{name}.csv", in_csv(map(str, header), lines))
    return paths


def workbook(what: Export) -> list[Path]:
    """Write sheets with a line for each learner's chapter, for each learner, and for each row.

    A sheet's first line stays visible and has filters, and learners' text is never a formula.
    """
    from openpyxl import Workbook

    zone, book = what.course.lateness.zone, Workbook()
    dated = [row | {"submitted": in_zone(row.get("submitted"), zone)} for row in what.rows]
    rows: Table = [[*ROWS], *([row.get(name) for name in ROWS] for row in dated)]
    tables = {"grades": grades(what), "class": class_table(what), "exercises": rows}
    book.remove(book.active)
    for name, lines in (tables | {"term": term_table(what)}).items():
        if len(lines) < 2:
            continue
        sheet = book.create_sheet(name)
        sheet.freeze_panes = "B2" if name == "class" else "A2"
        for number, line in enumerate(lines, 1):
            for column, value in enumerate(line, 1):
                cell = sheet.cell(number, column, in_a_cell(value))
                if cell.data_type == "f":  # a text that begins with =
                    cell.data_type = "s"
        sheet.auto_filter.ref = sheet.dimensions
    path = what.folder / "grades.xlsx"
    book.save(path)
    return [path]


def in_a_cell(value: object) -> object:
    """Return a value that fits a spreadsheet: without control characters, and of limited length."""
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if isinstance(value, str):
        return re.sub(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff]", "�", value)[:MOST_IN_A_CELL]
    return value


def grades(what: Export) -> Table:
    """Return a line for each learner and chapter. The points of an excused chapter are empty."""
    lines: Table = [[*GRADES]]
    for student, person in what.people.items():
        for chapter, rows in sorted(person.chapters.items()):
            points, most, penalty = (total(rows, name) for name in GRADES[2:5])
            when = in_zone(rows[0].get("submitted"), what.course.lateness.zone)
            passed = sum(row["status"] == Status.PASSED for row in rows)
            sums = [points if most else "", most if most else "", penalty if most else ""]
            late = rows[0].get("late_seconds", 0.0)
            lines.append([student, chapter, *sums, late, when, passed, len(rows)])
    return lines


def class_table(what: Export) -> Table:
    """Return a line for each learner: name, points in each chapter, and the total.

    An excused chapter is empty. Names and sections come from people.csv.
    """
    chapters = what.chapters
    most = [f"{one.name} (of {one.points:g})" for one in chapters]
    last = ["total", "of", "percent", "late chapters"]
    lines: Table = [["student", "name", "section", *most, *last]]
    for student, person in what.people.items():
        known = what.known.get(student, {})
        own = {c: total(rows) for c, rows in person.chapters.items() if total(rows, "max_points")}
        share = round(100 * person.share, 2) if person.most else ""
        late = sum(bool(rows[0].get("late_seconds")) for rows in person.chapters.values())
        sums = [person.points, person.most, share, late]
        points = [own.get(chapter.name, "") for chapter in chapters]
        lines.append([student, known.get("name", ""), known.get("section", ""), *points, *sums])
    return lines


def term_table(what: Export) -> Table:
    """Return a line for each learner with the grade for the term.

    There is only a header without a grading scheme, and for an export of one chapter.
    """
    terms = {} if what.only else terms_of(what.rows, what.course)
    chapters = list(dict.fromkeys(name for term in terms.values() for name in term.shares))
    lines: Table = [["student", *chapters, "dropped", "total", "passed"]]
    for student, term in terms.items():
        shares = [term.shares.get(chapter, "") for chapter in chapters]
        passed = {True: "yes", False: "no", None: ""}[term.passed]
        lines.append([student, *shares, ", ".join(term.dropped), term.total, passed])
    return lines


# --- pages ---------------------------------------------------------------------------------------


def learners_pages(what: Export) -> list[Path]:
    """Write one page for each learner, as a single file that shows no other learner."""
    folder = what.folder / "pages"
    folder.mkdir(exist_ok=True)
    for old in folder.glob("*.html"):
        old.unlink()
    paths, terms = [], {} if what.only else terms_of(what.rows, what.course)
    for student, person in what.people.items():
        name = safe(student).encode("utf-8", "replace").decode()
        wishes = chain([name], (f"{name}-{number}" for number in count(2)))
        path = next(p for one in wishes if not (p := folder / f"{one}.html").exists())
        paths += write(path, page_of(what, person, terms.get(student)))
    return paths


def page_of(what: Export, person: Person, term: Term | None = None) -> str:
    """Return one learner's page. Text that comes from learners is escaped."""
    released = is_released(what.course.lateness)
    return PAGES.get_template("learner.html").render(
        person=person,
        course=what.course,
        states=STATES,
        released=released,
        term=term.told() if term and released else "",
        lessons=what.lessons.partition("#")[0],
    )


def moodle_feedback(what: Export) -> list[Path]:
    """Write the pages as a zip of feedback files, in the folders of Moodle's download.

    Moodle finds people by the number after the first underscore. Raises CourseError without a
    worksheet.
    """
    (chapter,) = what.chapters
    what.roster.check_worksheet()
    path = what.folder / f"moodle-feedback-{chapter.name}.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for row in what.roster.rows:
            student, number = row.student, row.number
            if student in what.people and number:
                name = safe(row.person["name"] or student).replace("_", " ")
                page = page_of(what, what.people[student])
                place = f"{name}_{number}_assignsubmission_file_/{chapter.name}.html"
                archive.writestr(place, page.encode("utf-8", "replace"))
    return [path]


WRITERS: dict[str, Callable[[Export], list[Path]]] = {
    "csv": plain_csv,
    "xlsx": workbook,
    "moodle": moodle_csv,
    "canvas": canvas_csv,
    "pages": learners_pages,
    "feedback": moodle_feedback,
}
