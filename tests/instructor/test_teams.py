"""Learners who submit together: one file, and rows with the same points for each member."""

import pytest

from . import downloads
from .downloads import collect
from .runs import CH1, CH2, MOST, NAMES, WHEN

FIRST = 5  # points of the first exercise
FALCONS = ("student,team,chapter", "ada,falcons,", "ben,falcons,")


@pytest.mark.slow
def test_one_file_has_the_same_points_for_each_member(term):
    term.put("ada", 0.5)
    term.put("chi", 0.5)
    term.write("teams.csv", *FALCONS)
    graded = term.grade()
    assert term.points() == {"ada": MOST / 2, "ben": MOST / 2, "chi": MOST / 2}
    teams = {student: row.get("team") for (student, _, _), row in graded.rows.items()}
    assert teams == {"ada": "falcons", "ben": "falcons", "chi": None}
    assert "no submission for" not in graded.said
    assert "only teams.csv names ben" in graded.said, "who has no folder"
    page = term.exported("pages/ben.html", "--format", "pages")
    assert "falcons" in page and "ada" not in page
    listed = term.page().partition("<h2>Identical")[2].partition("<h2>")[0]
    assert ">chi<" in listed, "a copy of a team's file is listed"
    term.put("ben", 1.0, WHEN + 60)
    said = term.grade().said
    assert "members of team falcons submitted different files" in said and "of ben counts" in said
    assert term.points() == {"ada": MOST, "ben": MOST, "chi": MOST / 2}, "the newest counts"
    assert any("another file" in line for line in term.log("ada"))


@pytest.mark.slow
def test_extensions_and_overrides_stay_with_one_member_and_a_chapters_line_goes_first(term):
    term.settings(deadlines={CH1: "2027-01-15 00:00"}, share_a_day=0.2, zone="UTC")
    term.put("ada", 1.0)
    term.put("chi", 0.0)
    term.write("teams.csv", *FALCONS, f"chi,owls,{CH1}", f"dan,owls,{CH1}", f"ada,owls,{CH2}")
    term.write("extensions.csv", "student,chapter,due,hours,reason", f"ben,{CH1},,48,ill")
    own = f"ada,{NAMES[0]},0,not ada's own work"
    term.write("overrides.csv", "student,exercise,points,reason", own)
    first = round(0.8 * (MOST - FIRST), 6)
    assert term.points() == {"ada": first, "ben": MOST, "chi": 0, "dan": 0}


def test_groups_of_course_systems_are_teams(tmp_path):
    """Gradescope names several submitters; the tests of downloads have Moodle's groups."""
    files = {name: {f"{CH1}.py": b"0.5 "} for name in ("ada", "ben")}
    folder = downloads.gradescope(tmp_path / "g", files, {})
    metadata = folder / "submission_metadata.yml"
    more = "  - :name: Chi\n    :sid: '90'\n    :email: chi@uni.edu\n  :created_at"
    metadata.write_text(metadata.read_text().replace("  :created_at", more, 1))
    teams = tmp_path / "in" / "teams.csv"
    found = collect("gradescope", folder, tmp_path / "in")
    assert found.said.count("used; of the group submission_77") == 2
    assert found.count == {"77": "0.5 ", "78": "0.5 ", "90": "0.5 "}
    own = [f"{student},submission_77,{CH1}" for student in ("77", "90")]
    assert teams.read_text().splitlines()[1:] == own
    teams.write_text(teams.read_text() + f"90,owls,{CH2}\n")
    alone = downloads.gradescope(tmp_path / "h", files, {})
    collect("gradescope", alone, tmp_path / "in")
    assert teams.read_text().splitlines()[1:] == [own[1], f"90,owls,{CH2}"]
