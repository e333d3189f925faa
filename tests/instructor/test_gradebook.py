"""Points land in nbgrader's gradebook, in batches, and writing them again changes nothing."""

import shutil
from pathlib import Path

import pytest
from nbgrader import api

from tensorgrade.course import CourseError
from tensorgrade.course_sources import load_course
from tensorgrade.instructor import gradebook as writer

COURSE = load_course(Path(__file__).parents[2] / "graders")
CHAPTER, OTHER = COURSE.chapters[0], COURSE.chapters[1]


def rows(student: str, chapter=CHAPTER, share: float = 0.5) -> list[dict]:
    """What `results.jsonl` holds of one hand-in."""
    return [
        {
            "student": student,
            "chapter": chapter.name,
            "exercise": e.name,
            "points": e.points * share,
            "max_points": float(e.points),
        }
        for e in chapter.exercises
    ]


@pytest.fixture(scope="module")
def empty(tmp_path_factory):
    """A gradebook as nbgrader makes it: seconds go into asking alembic for its version."""
    path = tmp_path_factory.mktemp("empty") / "gradebook.db"
    api.Gradebook(f"sqlite:///{path}").close()
    return path


@pytest.fixture
def url(empty, tmp_path):
    """A gradebook without learners."""
    return f"sqlite:///{shutil.copy(empty, tmp_path)}"


def scores(url: str, chapter=CHAPTER) -> dict[str, float]:
    """Each student's score, as nbgrader sees it."""
    with api.Gradebook(url) as gradebook:
        return {s.student.id: s.score for s in gradebook.assignment_submissions(chapter.name)}


@pytest.mark.slow
def test_points_of_a_class_are_its_scores(tmp_path):
    url = f"sqlite:///{tmp_path / 'not_there_yet.db'}"
    written = writer.write_gradebook(
        url, rows("ada") + rows("bao", share=1) + rows("ada", OTHER, 0), COURSE
    )
    assert written == 3
    assert scores(url) == {"ada": CHAPTER.points / 2, "bao": CHAPTER.points}
    assert scores(url, OTHER) == {"ada": 0}
    with api.Gradebook(url) as gradebook:
        assert gradebook.find_assignment(CHAPTER.name).max_score == CHAPTER.points
        submission = gradebook.find_submission(CHAPTER.name, "ada")
        assert not submission.needs_manual_grade


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 3, 4, 7])
def test_batches_of_any_size_hold_everybody(url, monkeypatch, count):
    monkeypatch.setattr(writer, "AT_ONCE", 3)
    names = [f"s{n}" for n in range(count)]
    assert (
        writer.write_gradebook(url, [row for name in names for row in rows(name)], COURSE) == count
    )
    assert scores(url) == dict.fromkeys(names, CHAPTER.points / 2)


@pytest.mark.slow
def test_written_again_nothing_is_doubled_and_new_points_count(url):
    writer.write_gradebook(url, rows("ada") + rows("bao"), COURSE)
    writer.write_gradebook(url, rows("ada", share=1) + rows("chi"), COURSE)
    assert scores(url) == {
        "ada": CHAPTER.points,
        "bao": CHAPTER.points / 2,
        "chi": CHAPTER.points / 2,
    }


@pytest.mark.slow
def test_what_a_person_graded_stays(url):
    writer.write_gradebook(url, rows("ada", share=0), COURSE)
    cell = writer.PREFIX + CHAPTER.exercises[0].name
    with api.Gradebook(url) as gradebook:
        gradebook.find_grade(cell, CHAPTER.name, CHAPTER.name, "ada").manual_score = 1.5
        gradebook.db.commit()
    writer.write_gradebook(url, rows("ada", share=0), COURSE)
    assert scores(url) == {"ada": 1.5}


@pytest.mark.slow
def test_cells_that_nbgrader_made_are_used_with_their_own_points(url):
    """An instructor may have given a cell other points; a share of them is earned."""
    exercise = CHAPTER.exercises[0]
    with api.Gradebook(url) as gradebook:
        gradebook.add_assignment(CHAPTER.name)
        gradebook.add_notebook(CHAPTER.name, CHAPTER.name)
        gradebook.add_grade_cell(
            writer.PREFIX + exercise.name,
            CHAPTER.name,
            CHAPTER.name,
            max_score=exercise.points * 2,
            cell_type="code",
        )
    writer.write_gradebook(url, rows("ada"), COURSE)
    assert scores(url) == {"ada": CHAPTER.points / 2 + exercise.points / 2}


@pytest.mark.slow
def test_a_name_that_is_no_sql_is_only_a_name(url):
    name = "x'; DROP TABLE student; --"
    writer.write_gradebook(url, rows(name), COURSE)
    assert scores(url) == {name: CHAPTER.points / 2}


def test_the_course_is_the_one_that_nbgrader_uses(tmp_path):
    assert writer.course_id_in(tmp_path) == ""
    (tmp_path / "nbgrader_config.py").write_text(
        "c = get_config()\nc.CourseDirectory.course_id = 'att-2027'\n"
    )
    assert writer.course_id_in(tmp_path) == "att-2027"
    assert writer.course_id_in(Path(__file__).parents[2]) == COURSE.name


def test_the_address_of_a_gradebook_is_shown_without_its_password():
    with pytest.raises(CourseError) as error:
        writer.write_gradebook("postgresql://ada:secret@127.0.0.1:1/db", [], COURSE)
    assert "postgresql://ada:…@127.0.0.1:1/db cannot be written" in str(error.value)
    assert "secret" not in str(error.value)


@pytest.mark.parametrize("url", ["nonsense", "sqlite:////no/such/folder/x.db"])
def test_a_gradebook_that_cannot_be_is_a_sentence_without_a_password(url):
    with pytest.raises(CourseError, match="cannot be written"):
        writer.write_gradebook(url, rows("ada"), COURSE)
