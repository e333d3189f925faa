"""Puts a class's points into nbgrader's gradebook, as its own autograder would have.

One writer, a transaction for every few hundred submissions. Writing the same rows again changes
nothing, so an interrupted run is finished by the same command.
"""

from itertools import groupby, islice

from nbgrader.api import (
    Assignment,
    Grade,
    Gradebook,
    Student,
    SubmittedAssignment,
    SubmittedNotebook,
)

from ..course import Chapter, Course

PREFIX = "points-"  # how the graded cells of our notebooks are called
AT_ONCE = 500


def write_gradebook(url: str, rows: list[dict], course: Course) -> int:
    """Write all rows of `results.jsonl`; returns how many submissions they belong to.

    url: as SQLAlchemy reads it. What people graded by hand in there stays.
    """
    count = 0
    with Gradebook(url, course.title) as gradebook:
        for chapter in course.chapters:
            own = sorted(
                (r for r in rows if r["chapter"] == chapter.name), key=lambda r: r["student"]
            )
            if own:
                count += write_chapter(gradebook, chapter, own)
    return count


def write_chapter(gradebook: Gradebook, chapter: Chapter, rows: list[dict]) -> int:
    """Write one chapter's rows, sorted by student; returns how many students there are."""
    cells = prepare_assignment(gradebook, chapter)
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
        gradebook.db.commit()
        count += len(batch)
    return count


def prepare_assignment(gradebook: Gradebook, chapter: Chapter) -> dict[str, str]:
    """Ids of the chapter's graded cells by exercise; what nbgrader has not made yet is made."""
    gradebook.update_or_create_assignment(chapter.name)
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
    """A submission without points, with a place for each graded cell; not yet committed."""
    with gradebook.db.no_autoflush:  # half a submission is not to be written
        submission = SubmittedAssignment(assignment=assignment, student_id=student)
        for notebook in assignment.notebooks:
            handed_in = SubmittedNotebook(notebook=notebook, assignment=submission)
            for cell in notebook.grade_cells:
                Grade(cell_id=cell.id, cell=cell, notebook=handed_in)
        gradebook.db.add(submission)
    return submission


def fill_in(submission: SubmittedAssignment, rows: dict[str, dict]) -> None:
    """Put the points of rows (by cell id) into the grades; as a share of what a cell is worth."""
    for notebook in submission.notebooks:
        for grade in notebook.grades:
            if (row := rows.get(grade.cell_id)) is not None:
                share = row["points"] / row["max_points"] if row["max_points"] else 0.0
                grade.auto_score = round(share * grade.cell.max_score, 6)
                grade.needs_manual_grade = False
