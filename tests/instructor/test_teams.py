"""Learners who submit together: one file, and rows with the same points for each member."""

import pytest

from tensorgrade.course import CourseError
from tensorgrade.instructor.collecting import plan
from tensorgrade.instructor.exporting import export
from tensorgrade.instructor.roster import Roster, read_roster
from tensorgrade.instructor.similarity import identical_files
from tensorgrade.instructor.store import Store
from tensorgrade.instructor.teams import Teams, add_teams, note_on, read_teams
from tensorgrade.instructor.write_submissions import write
from tensorgrade.lateness import DAY, Lateness, read_time
from tensorgrade.sources.submitted_files import SubmittedFiles

from . import downloads
from .runs import ByContent, grade_by_content, put
from .test_exporting import CH1, CH2, COURSE

DUE = "2027-01-15 23:59"
AT = int(read_time(f"{DUE} UTC").timestamp())
MOST = COURSE.chapters[0].points
FALCONS = "student,team,chapter\nada,falcons,\nben,falcons,\n"


@pytest.fixture
def graded(monkeypatch, tmp_path):
    """Return a function that grades with these teams, and returns points by learner."""
    (tmp_path / "in").mkdir()

    def grade(text: str, rule: Lateness | None = None, **options) -> dict[str, float]:
        (tmp_path / "in" / "teams.csv").write_text(text)
        rows, grade.notes = grade_by_content(
            monkeypatch, tmp_path / "in", tmp_path / "out", rule, **options
        )
        grade.rows = [row for row in rows if row["chapter"] == CH1]
        points = dict.fromkeys((row["student"] for row in grade.rows), 0.0)
        for row in grade.rows:
            points[row["student"]] += row["points"]
        return {name: round(found, 6) for name, found in points.items()}

    grade.folder, grade.out = tmp_path / "in", tmp_path / "out"
    return grade


@pytest.mark.slow
def test_one_file_is_graded_once_and_each_member_has_its_points(graded, monkeypatch):
    asked = []
    submit = ByContent.submit
    monkeypatch.setattr(ByContent, "submit", lambda s, one: asked.append(one) or submit(s, one))
    put(graded.folder, "ada", CH1, 0.5)
    put(graded.folder, "chi", CH1, 1.0)
    assert graded(FALCONS) == {"ada": MOST / 2, "ben": MOST / 2, "chi": MOST}
    assert len(asked) == 2
    assert {row["student"]: row.get("team") for row in graded.rows} == {
        "ada": "falcons",
        "ben": "falcons",
        "chi": None,
    }
    assert not any("no submission" in note or "no learner's file" in note for note in graded.notes)
    export(graded.out, COURSE, "html", "plain", Roster())
    page = (graded.out / "export" / "pages" / "ben.html").read_text()
    assert "Submitted as team <bdi>falcons</bdi>." in page and "ada" not in page


@pytest.mark.slow
def test_a_team_is_not_reported_as_identical_but_a_copy_of_its_file_is(graded):
    put(graded.folder, "ada", CH1, 0.5)
    put(graded.folder, "ben", CH1, 0.5)
    graded(FALCONS)
    assert identical_files(Store(graded.out)) == []
    put(graded.folder, "chi", CH1, 0.5)
    graded(FALCONS)
    assert [one["students"] for one in identical_files(Store(graded.out))] == [
        ["ada", "ben", "chi"]
    ]


@pytest.mark.slow
def test_extensions_and_overrides_stay_with_one_member(graded):
    put(graded.folder, "ada", CH1, 1.0, AT + DAY - 60)
    graded.out.mkdir()
    first = COURSE.chapters[0].exercises[0]
    (graded.out / "extensions.csv").write_text(
        f"student,chapter,due,hours,reason\nben,{CH1},,48,ill\n"
    )
    (graded.out / "overrides.csv").write_text(
        f"student,exercise,points,reason\nada,{first.name},0,not ada's own work\n"
    )
    rule = Lateness({CH1: DUE}, share_a_day=0.2, zone="UTC")
    points = graded(FALCONS, rule)
    assert points == {"ada": round(0.8 * (MOST - first.points), 6), "ben": MOST}


@pytest.mark.slow
def test_the_newest_of_several_files_counts_and_is_named(graded):
    put(graded.folder, "ada", CH1, 1.0, AT)
    put(graded.folder, "ben", CH1, 0.5, AT + 60)
    assert graded(FALCONS) == {"ada": MOST / 2, "ben": MOST / 2}
    said = f"members of team falcons submitted different files for {CH1}; the one of ben counts"
    assert any(note.startswith(said) for note in graded.notes)


@pytest.mark.slow
def test_a_line_on_a_chapter_goes_before_one_without(graded):
    put(graded.folder, "ada", CH1, 0.5)
    put(graded.folder, "chi", CH1, 1.0)
    points = graded(f"{FALCONS}ben,owls,{CH1}\nchi,owls,{CH1}\n")
    assert points == {"ada": MOST / 2, "ben": MOST, "chi": MOST}
    assert read_teams(graded.folder, COURSE).of["ben", CH2] == "falcons"


@pytest.mark.slow
def test_the_column_of_chapters_may_be_missing(graded):
    put(graded.folder, "ada", CH1, 0.5)
    assert set(graded("student,team\nada,falcons\nben,falcons\n")) == {"ada", "ben"}


@pytest.mark.slow
def test_a_resubmission_of_one_member_counts_for_all(graded):
    put(graded.folder, "ada", CH1, 0.5)
    graded(FALCONS)
    put(graded.folder, "ada", CH1, 1.0, text="again")
    assert graded(FALCONS) == {"ada": MOST, "ben": MOST}
    (*_, record) = Store(graded.out).history()
    assert {(one["student"], one["why"]) for one in record["moved"]} == {
        ("ada", "another file"),
        ("ben", "another file"),
    }


@pytest.mark.slow
def test_grading_a_member_again_grades_the_team_again(graded, monkeypatch):
    put(graded.folder, "ada", CH1, 0.5)
    put(graded.folder, "chi", CH1, 0.5)
    graded(FALCONS)
    monkeypatch.setattr(ByContent, "found", {"ada": 1.0, "chi": 1.0})
    assert graded(FALCONS, again="ben") == {"ada": MOST, "ben": MOST, "chi": MOST / 2}


@pytest.mark.slow
def test_a_member_without_a_folder_is_noted_and_with_a_roster_refused(graded):
    put(graded.folder, "ada", CH1, 0.5)
    graded(FALCONS)
    assert any(
        note.startswith("only teams.csv names ben, who have no folder") for note in graded.notes
    )
    assert set(graded(FALCONS, roster=("ada", "ben"))) == {"ada", "ben"}
    assert not any("only teams.csv" in note for note in graded.notes)
    with pytest.raises(CourseError, match="names ben, who are not on the roster"):
        graded(FALCONS, roster=("ada",))


@pytest.mark.parametrize(
    "line, why",
    [
        ("ben,owls,", "line 4: ben is in two teams, falcons and owls"),
        ("chi,,", "line 4: name a learner and a team"),
        ("chi,falcons,ch9", "the course has no chapter 'ch9'; leave it empty for every chapter"),
    ],
)
def test_a_line_that_makes_no_sense_is_refused_with_its_number(graded, line, why):
    put(graded.folder, "ada", CH1, 0.5)
    with pytest.raises(CourseError, match=why):
        graded(f"{FALCONS}{line}\n")


@pytest.mark.slow
def test_several_submitters_at_gradescope_are_a_team(tmp_path, monkeypatch):
    files = {name: {f"{CH1}.py": b"0.5 "} for name in ("ada", "chi")}
    folder = downloads.gradescope(tmp_path / "g", files, {})
    metadata = folder / "submission_metadata.yml"
    ben = "  - :name: Ben\n    :sid: '90'\n    :email: ben@uni.edu\n"
    text = metadata.read_text().replace("  :created_at", f"{ben}  :created_at", 1)
    metadata.write_text(text)
    found = plan("gradescope", folder, COURSE, Roster())
    assert found.teams == {("77", CH1): "submission_77", ("90", CH1): "submission_77"}
    assert note_on(found.teams) == ["1 team in teams.csv: 77, 90 (submission_77)"]
    write(found, tmp_path / "in")
    (tmp_path / "in" / "teams.csv").write_text(
        f"student,team,chapter\n90,owls,{CH2}\n90,old,{CH1}\n"
    )
    add_teams(tmp_path / "in", found.teams)
    teams = read_teams(tmp_path / "in", COURSE)
    assert teams.of == {("77", CH1): "submission_77", ("90", CH1): "submission_77"}
    assert f"90,owls,{CH2}" in (tmp_path / "in" / "teams.csv").read_text(), "other lines stay"
    grade_by_content(monkeypatch, tmp_path / "in", tmp_path / "out")
    assert [one["students"] for one in identical_files(Store(tmp_path / "out"))] == [
        ["77", "78", "90"]
    ]


@pytest.mark.parametrize("header", ["Group", "Gruppe", "Grupo"])
def test_groups_in_moodles_worksheet_are_teams(tmp_path, header):
    files = {name: {f"{CH1}.py": b"0.5 "} for name in ("ada", "ben")}
    path = downloads.moodle(tmp_path / "m.zip", files, {})
    first, *rest = path.read_text("utf-8-sig").splitlines()
    lines = [f"{first},{header}", *(f"{line},Falcons" for line in rest)]
    path.write_text("\n".join(lines))
    found = plan("moodle", tmp_path / "m.zip", COURSE, read_roster(path, "moodle"))
    assert found.teams == {("ada@uni.edu", CH1): "Falcons", ("ben@uni.edu", CH1): "Falcons"}


def test_a_team_has_one_answer_when_similar_answers_are_counted():
    files = [SubmittedFiles(name, CH1, f"{CH1}.py", b"x") for name in ("ada", "ben", "chi")]
    teams = Teams({("ada", CH1): "falcons", ("ben", CH1): "falcons"})
    assert [one.student for one in teams.once(files)] == ["ada", "chi"]
