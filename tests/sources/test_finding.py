"""Every learner with a folder is found, for every chapter that anybody handed something in for."""

import os
from pathlib import Path

import pytest

from tensorgrade.course import CourseError
from tensorgrade.sources import finding
from tensorgrade.sources.finding import find_submissions
from tensorgrade.sources.submitted_files import escaped

CH1, CH2 = "ch1_simplified_attention", "ch2_self_attention"
pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows refuses such names and links")


@pytest.fixture
def found(project, tmp_path):
    """Looks for hand-ins; gives them by learner and chapter, and the notes."""

    def find(**options):
        submissions, notes = find_submissions(tmp_path, project.course, **options)
        return {(h.student, h.chapter): h for h in submissions}, notes

    return find


def hand_in(folder: Path, student: str, chapter: str = CH1, text: str = "x = 1") -> Path:
    path = folder / student / chapter / f"{chapter}.py"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_a_class_in_which_all_submit_all_has_no_notes(found, tmp_path):
    for student in ("ann", "bob"):
        for chapter in (CH1, CH2):
            hand_in(tmp_path, student, chapter)
    submissions, notes = found()
    assert list(submissions) == [("ann", CH1), ("ann", CH2), ("bob", CH1), ("bob", CH2)]
    assert not notes and not any(h.reason or h.missing for h in submissions.values())


def test_who_submitted_another_chapter_or_nothing_is_there_for_each_that_is_graded(found, tmp_path):
    hand_in(tmp_path, "ann", CH1)
    hand_in(tmp_path, "bob", CH2)
    (tmp_path / "chi").mkdir()
    submissions, notes = found()
    assert {student for student, _ in submissions} == {"ann", "bob", "chi"} and len(
        submissions
    ) == 6
    missing = {about for about, h in submissions.items() if h.missing}
    assert missing == {("ann", CH2), ("bob", CH1), ("chi", CH1), ("chi", CH2)}
    assert submissions["chi", CH1].reason == "There is no submission for this chapter."
    assert f"no submission for {CH1} by bob, chi" in notes


def test_a_file_in_the_wrong_place_or_under_another_name_is_reported(found, tmp_path):
    hand_in(tmp_path, "ann")
    (tmp_path / "beside").mkdir()
    (tmp_path / "beside" / f"{CH1}.py").write_text("x = 1")
    (tmp_path / "homework").mkdir()
    (tmp_path / "homework" / "homework.zip").write_text("")
    (tmp_path / "homework" / "homework.pdf").write_text("")
    hand_in(tmp_path, "other").rename(tmp_path / "other" / CH1 / "other.py")
    (tmp_path / "list.csv").write_text("")
    submissions, notes = found()
    assert submissions["beside", CH1].content == b"x = 1" and not submissions["beside", CH1].reason
    assert not any(note.startswith("beside") for note in notes), "nothing is otherwise than told"
    assert f"beside/{CH1}.py is not a learner's file for a chapter; it was left out" not in notes
    assert (
        submissions["homework", CH1].missing
        and "homework.zip" in submissions["homework", CH1].reason
    )
    assert "there is other.py" in submissions["other", CH1].reason
    assert "damaged zips, in which nothing counts: homework/homework.zip" in notes
    for name in ("homework/homework.pdf", "list.csv"):
        assert f"{name} is not a learner's file for a chapter; it was left out" in notes
    submissions, _ = found(rescue=False)
    assert "it belongs in" in submissions["beside", CH1].reason


def test_a_link_leads_nowhere_and_has_a_row(found, tmp_path):
    hand_in(tmp_path, "ann")
    (tmp_path / "linked").symlink_to("ann")
    (tmp_path / "chapter").mkdir()
    (tmp_path / "chapter" / CH1).symlink_to(f"../ann/{CH1}")
    (tmp_path / "a_file").mkdir()
    (tmp_path / "a_file" / CH1).write_text("x = 1")
    (tmp_path / "ring").symlink_to("ring")
    submissions, _ = found()
    assert submissions["linked", CH1].reason == "The learner's folder is a link, not a folder."
    assert submissions["chapter", CH1].reason == f"{CH1} is a link, not a folder."
    assert submissions["a_file", CH1].reason == f"{CH1} is a file, not a folder."
    assert {h.content for (s, _), h in submissions.items() if s != "ann"} == {b""}


def test_a_folder_that_cannot_be_read_is_that_learners_trouble_alone(found, tmp_path, monkeypatch):
    for student in ("ann", "locked", "zoe"):
        hand_in(tmp_path, student)
    inside = finding.inside

    def refuse(folder):
        if str(folder).endswith("locked"):
            raise PermissionError(13, "Permission denied")
        return inside(folder)

    monkeypatch.setattr(finding, "inside", refuse)
    submissions, _ = found()
    assert "Permission denied" in submissions["locked", CH1].reason
    assert not submissions["ann", CH1].reason and not submissions["zoe", CH1].reason


@pytest.mark.parametrize("own", finding.COURSES_OWN)
def test_a_courses_own_folder_is_refused_before_its_folders_count_as_learners(found, tmp_path, own):
    hand_in(tmp_path, "exercises")
    (tmp_path / own).parent.mkdir(exist_ok=True)
    (tmp_path / own).write_text("")
    with pytest.raises(CourseError, match=f"is a course, because it holds {own}. Give the folder"):
        found()


@pytest.mark.parametrize("error", [MemoryError, RecursionError, ValueError("embedded null")])
def test_whatever_reading_one_ends_in_the_others_are_found(found, tmp_path, monkeypatch, error):
    for student in ("ann", "odd", "zoe"):
        hand_in(tmp_path, student)
    read = finding.read_submission_folder

    def fail(student, *arguments):
        if student == "odd":
            raise error
        return read(student, *arguments)

    monkeypatch.setattr(finding, "read_submission_folder", fail)
    submissions, _ = found()
    assert "Reading this submission ended in a " in submissions["odd", CH1].reason
    assert not submissions["ann", CH1].reason and not submissions["zoe", CH1].reason


def test_a_hidden_folder_counts_if_a_chapter_is_in_it(found, tmp_path):
    hand_in(tmp_path, ".ann")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".DS_Store").write_text("")
    submissions, notes = found()
    assert list(submissions) == [(".ann", CH1)] and not notes


def test_names_that_look_alike_are_distinguished_and_pointed_out(found, tmp_path):
    alike = ["José", "Jose\u0301", "Jo\u00adsé", "José ", "Jos\ufe0fé"]
    for student in (*alike, "Josè"):
        hand_in(tmp_path, student)
    submissions, notes = found()
    assert len(submissions) == 6
    (note,) = notes
    assert note.startswith("these names look alike: ") and "Jos\\xe8" not in note
    assert all(ascii(student) in note for student in alike)


@pytest.mark.parametrize("first, second", [("a\u200db", "a\\u200db"), ("\udce9", "\\udce9")])
def test_no_two_names_are_written_the_same(first, second):
    assert escaped(first) != escaped(second)


def test_much_that_is_about_is_counted(found, tmp_path):
    hand_in(tmp_path, "ann")
    for number in range(50):
        (tmp_path / f"{number}.txt").write_text("")
    _, notes = found()
    assert len(notes) == finding.MOST_STRAY + 1 and "30 more files" in notes[-1]


def test_one_learners_folder_in_the_place_of_the_class_is_pointed_out(found, tmp_path):
    path = tmp_path / CH1 / f"{CH1}.py"
    path.parent.mkdir()
    path.write_text("x = 1")
    submissions, notes = found()
    assert list(submissions) == [(CH1, CH1)]
    assert any(CH1 in note and "the folder that holds a folder for each" in note for note in notes)


def test_nobody_can_look_into_what_is_no_folder(project, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(CourseError, match="cannot be read: Not a directory"):
        find_submissions(tmp_path / "file", project.course)


@pytest.mark.parametrize("kind", ["py", "ipynb"])
def test_an_empty_file_is_a_failed_upload(found, tmp_path, kind):
    path = hand_in(tmp_path, "ann").with_suffix(f".{kind}")
    hand_in(tmp_path, "ann").rename(path)
    path.write_bytes(b"")
    own = found()[0]["ann", CH1]
    assert own.reason == f"{CH1}.{kind} is empty." and not own.missing
    path.rename(path.with_name(f"{CH1} (1).{kind}"))
    assert found()[0]["ann", CH1].reason.endswith(" is empty.")
    hand_in(tmp_path, "ann").with_suffix(".ipynb").write_bytes(b" ")
    assert found()[0]["ann", CH1].content == b"x = 1", "the other file counts"


def put_all(folder: Path, *paths: str) -> None:
    for path in paths:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text("x = 1")


@pytest.mark.parametrize("rest", [f"{CH1}.py", f"{CH1}/{CH1}.ipynb", f"src/{CH1} (1).py"])
@pytest.mark.parametrize("above", ["HW1", CH1])
def test_learners_one_folder_deeper_are_refused(found, tmp_path, above, rest):
    put_all(tmp_path, *(f"{above}/{name}/{rest}" for name in ("ada", "amina", "anton")))
    (tmp_path / "__MACOSX").mkdir()
    if above == CH1:  # a second chapter, with a single learner
        put_all(tmp_path, f"{CH2}/ada/{CH2}.py")
    why = f"{above} seems to hold a folder for each learner: ada, amina, anton. Grade .*/{above} "
    with pytest.raises(CourseError, match=why):
        found()
    found(roster=[above])


@pytest.mark.parametrize(
    "paths",
    [
        (f"ada/{CH1}/{CH1}.py", f"ada/old/{CH1}.py", f"ada/new/{CH1}.py"),
        (f"ada/{CH1}.py", f"ada/old/{CH1}.py", f"ada/new/{CH1}.py"),
        (f"ada/a/{CH1}.py", f"ada/b/{CH2}.py"),
        (f"ada/work/a/{CH1}.py", f"ada/work/b/{CH1}.py"),
        (f"ada/a/{CH1}.py", f"ada/.older/{CH1}.py"),
        (f"ada/old/{CH1}.py", f"ada/new/{CH1}.py", f"bob/{CH1}/{CH1}.py"),
        (f"ada/{CH1}/old/{CH1}.py", f"ada/{CH1}/new/{CH1}.py"),
    ],
)
def test_several_folders_of_one_learner_are_accepted(found, tmp_path, paths):
    put_all(tmp_path, *paths)
    assert found()[0]["ada", CH1].content
