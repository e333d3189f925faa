"""Only a learner's first files count, if the course limits attempts."""

import pytest

from tensorgrade.instructor.exporting import export
from tensorgrade.instructor.roster import Roster
from tensorgrade.instructor.store import Store
from tensorgrade.lateness import Lateness

from .runs import grade_by_content, put
from .test_exporting import CH1, COURSE

MOST = COURSE.chapters[0].points


@pytest.fixture
def submit(monkeypatch, tmp_path):
    """Return a function: ada submits a file and is graded; returns her points."""

    def submit(share: float, text: str, rule: Lateness) -> float:
        put(tmp_path / "in", "ada", CH1, share, text=text)
        rows, submit.notes = grade_by_content(monkeypatch, tmp_path / "in", tmp_path / "out", rule)
        return round(sum(row["points"] for row in rows), 6)

    submit.out = tmp_path / "out"
    return submit


@pytest.mark.slow
@pytest.mark.parametrize("attempts, third", [("last", 0.5), ("best", 0.75)])
def test_files_after_the_limit_are_graded_and_do_not_count(submit, attempts, third):
    rule = Lateness(attempts=attempts, most_attempts=2)
    submit(0.75, "1", rule)
    submit(0.5, "2", rule)
    assert submit(1.0, "3", rule) == third * MOST
    said = f"more than 2 files, so the new one is graded and does not count: ada/{CH1}"
    assert said in submit.notes
    assert len(Store(submit.out).attempts()["ada", CH1]) == 3
    export(submit.out, COURSE, "html", "plain", Roster())
    page = (submit.out / "export" / "pages" / "ada.html").read_text()
    assert "Only your first 2 files can count, so a later one does not." in page
    assert submit(1.0, "3", Lateness(attempts=attempts)) == MOST, "the limit may be lifted"
    (*_, record) = Store(submit.out).history()
    assert {move["why"] for move in record["moved"]} == {"another rule on attempts"}


@pytest.mark.slow
def test_a_file_that_was_submitted_before_is_no_new_attempt(submit, monkeypatch):
    rule = Lateness(most_attempts=2)
    for share, text in ((0.75, "1"), (0.5, "2"), (0.75, "1")):
        points = submit(share, text, rule)
    assert points == 0.75 * MOST and not any("more than" in note for note in submit.notes)


@pytest.mark.slow
def test_after_the_limit_an_upload_without_the_file_takes_nothing_away(submit, monkeypatch):
    rule = Lateness(most_attempts=1)
    assert submit(0.75, "1", rule) == 0.75 * MOST
    folder = submit.out.parent / "in" / "ada" / CH1
    (folder / f"{CH1}.py").rename(folder / "notes.txt")
    rows, _ = grade_by_content(monkeypatch, folder.parents[1], submit.out, rule)
    assert round(sum(row["points"] for row in rows), 6) == 0.75 * MOST


def test_a_negative_limit_is_a_sentence():
    assert Lateness(most_attempts=-1).complaints([]) == ["most_attempts is negative"]
