"""Write a class's points into nbgrader's gradebook, as nbgrader's autograder would.

There is one writer, with a transaction for every few hundred submissions. Writing the same rows
again changes nothing, so the same command completes an interrupted run.
"""

import re
from datetime import datetime
from itertools import groupby, islice
from pathlib import Path

from nbgrader.api import (
    Assignment,
    Grade,
    Gradebook,
    Student,
    SubmittedAssignment,
    SubmittedNotebook,
)
from sqlalchemy.exc import SQLAlchemyError
from traitlets.config import PyFileConfigLoader

from ..course import Chapter, Course, CourseError
from ..lateness import read_time
from .overrides import as_found

PREFIX = "points-"  # the prefix of graded cells in our notebooks
AT_ONCE = 500


def write_gradebook(url: str, rows: list[dict], course: Course, course_id: str = "") -> int:
    """Write all rows of `results.jsonl`, and return the number of their submissions.

    url: in SQLAlchemy's format. course_id: nbgrader's name of the course. Manual grades in the
    gradebook stay unchanged. Raises CourseError if there is no such gradebook.
    """
    try:
        with Gradebook(url, course_id or course.name) as gradebook:
            return write_chapters(gradebook, rows, course)
    except (SQLAlchemyError, ModuleNotFoundError) as error:
        why = str(getattr(error, "orig", None) or error).splitlines()[0]
        shown = re.sub(r"(://[^:/@]*:)[^@/]*@", r"\1…@", url)  # without the password
        raise CourseError(f"the gradebook {shown} cannot be written: {why}") from None


def course_id_in(root: Path) -> str:
    """Return nbgrader's name for the course in a folder; "" if the folder has no settings."""
    if not (root / "nbgrader_config.py").exists():
        return ""
    settings = PyFileConfigLoader("nbgrader_config.py", path=str(root)).load_config()
    return str(settings.CourseDirectory.get("course_id", "default_course"))


def write_chapters(gradebook: Gradebook, rows: list[dict], course: Course) -> int:
    """Write all rows, and return the number of their submissions."""
    count = 0
    for chapter in course.chapters:
        own = sorted((r for r in rows if r["chapter"] == chapter.name), key=lambda r: r["student"])
        if own:
            due = course.lateness.deadlines.get(chapter.name)
            count += write_chapter(gradebook, chapter, own, read_time(due) if due else None)
    return count


def write_chapter(
    gradebook: Gradebook, chapter: Chapter, rows: list[dict], due: datetime | None
) -> int:
    """Write one chapter's rows, sorted by student, and return the number of students."""
    cells = prepare_assignment(gradebook, chapter, due)
    assignment = gradebook.find_assignment(chapter.name)
    known = {
        s.student_id: s
        for s in gradebook.db.query(SubmittedAssignment).filter_by(assignment=assignment)
    }
    people = {student.id for student in gradebook.students}
    groups, count = groupby(rows, key=lambda row: row["student"]), 0
    while batch := [(student, list(own)) for student, own in islice(groups, AT_ONCE)]:
        for student, own in batch:
            if student not in people:
                gradebook.db.add(Student(id=student))
            submission = known.get(student) or add_submission(gradebook, assignment, student)
            fill_in(
                submission, {cells[row["exercise"]]: row for row in own if row["exercise"] in cells}
            )
            date(submission, own)
        gradebook.db.commit()
        count += len(batch)
    return count


def prepare_assignment(
    gradebook: Gradebook, chapter: Chapter, due: datetime | None
) -> dict[str, str]:
    """Return the ids of the chapter's graded cells by exercise; create cells that are missing.

    due: None keeps nbgrader's date.
    """
    gradebook.update_or_create_assignment(chapter.name, **({"duedate": due} if due else {}))
    gradebook.update_or_create_notebook(chapter.name, chapter.name)
    known = {cell.name for cell in gradebook.find_notebook(chapter.name, chapter.name).grade_cells}
    for exercise in chapter.exercises:
        if PREFIX + exercise.name not in known:
            gradebook.add_grade_cell(
                PREFIX + exercise.name,
                chapter.name,
                chapter.name,
                max_score=exercise.points,
                cell_type="code",
            )
    cells = gradebook.find_notebook(chapter.name, chapter.name).grade_cells
    return {cell.name.removeprefix(PREFIX): cell.id for cell in cells}


def add_submission(
    gradebook: Gradebook, assignment: Assignment, student: str
) -> SubmittedAssignment:
    """Add a submission without points, with a grade for each graded cell; do not commit it."""
    with gradebook.db.no_autoflush:  # do not write an incomplete submission
        submission = SubmittedAssignment(assignment=assignment, student_id=student)
        for notebook in assignment.notebooks:
            handed_in = SubmittedNotebook(notebook=notebook, assignment=submission)
            for cell in notebook.grade_cells:
                Grade(cell_id=cell.id, cell=cell, notebook=handed_in)
        gradebook.db.add(submission)
    return submission


def date(submission: SubmittedAssignment, rows: list[dict]) -> None:
    """Set the submission time and the late penalty; without a time, keep the old values.

    As in nbgrader, the penalty is deducted from the sum of all graded cells.
    """
    if not (submitted := rows[0].get("submitted")):
        return
    submission.timestamp = read_time(submitted).replace(tzinfo=None)
    lost = sum(row["penalty"] for row in rows)
    earned = lost + sum(row["points"] for row in rows)
    for notebook in submission.notebooks:
        given = 0.0
        for grade in notebook.grades:  # a manual score replaces the automatic one
            score = grade.auto_score if grade.manual_score is None else grade.manual_score
            given += (score or 0.0) + (grade.extra_credit or 0.0)
        penalty = round(given * lost / earned, 6) if lost and earned else None
        notebook.late_submission_penalty = penalty


def fill_in(submission: SubmittedAssignment, rows: dict[str, dict]) -> None:
    """Write the points of rows (by cell id) into the grades, scaled to each cell's maximum.

    nbgrader has no excused exercises. They get the points that the graders found.
    """
    for notebook in submission.notebooks:
        for grade in notebook.grades:
            if (row := rows.get(grade.cell_id)) is not None:
                row = row if row["max_points"] else as_found(row)
                earned = row["points"] + row.get("penalty", 0.0)
                share = earned / row["max_points"] if row["max_points"] else 0.0
                grade.auto_score = round(share * grade.cell.max_score, 6)
                grade.needs_manual_grade = False
