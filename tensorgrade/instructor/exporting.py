"""`tensorgrade export`: write a class's points as CSV, workbook and pages, for course systems.

What is addressed to a person goes only to people of people.csv.
"""

import re
import zipfile
from collections.abc import Callable, Collection, Iterable
from itertools import chain, count, groupby
from pathlib import Path
from typing import Any

from ..attempts.verdict import Status
from ..course import Chapter, Course, CourseError
from ..lateness import in_zone, is_released
from ..sources.finding import named
from ..sources.submitted_files import escaped
from ..views.csv_cells import in_csv
from ..views.words import plural
from .export_rows import Export, total, write
from .folder_names import safe
from .gradebooks import canvas_csv, moodle_csv, note_unlisted
from .people import IDS, People, read_people
from .people import Person as Known
from .report.page import PAGES, STATES, Person, people_of
from .results import Results, rows_of
from .roster import Roster
from .term import Term, terms_of
from .worksheet import IDENTIFIER, number_of

PAGES_FOLDER = "pages"
LONGEST_NAME = 200  # bytes of a file's name; systems allow at most 255


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
    chapter, people = what.only(), what.people()
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
