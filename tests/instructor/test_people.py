"""People keep their folders and numbers, whatever class lists show; what is unclear is refused."""

import csv

import pytest

from .downloads import collect, write_zip
from .runs import CH1

FULL, MAIL, LOGIN = "Full name", "Email address", "Username"
ADA, BEN = "Ada Lind,ada@uni.edu", "Ben Okoro,ben@uni.edu"


def people(folder) -> list[dict[str, str]]:
    """Return the rows of people.csv."""
    path = folder / "people.csv"
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    return list(csv.DictReader(text.splitlines()))


def grade_list(term, *lines: str):
    """Grade the class with a class list of these lines."""
    return term.run(
        "grade", term.submitted, "--out", term.out, "--isolation", "none",
        "--roster", term.write("roster.csv", *lines),
    )  # fmt: skip


HEADER = f"{FULL},{MAIL}"
# Lists one after the other; a word of the refusal of the last, or the students in the end.
STEPS: dict[str, tuple[list[list[str]], str]] = {
    "a column appears": (
        [[HEADER, ADA, BEN], [f"{HEADER},{LOGIN}", f"{ADA},u1", f"{BEN},u2"]],
        "ada@uni.edu ben@uni.edu",
    ),
    "a column goes": (
        [[f"{HEADER},{LOGIN}", f"{ADA},u1", f"{BEN},u2"], [HEADER, ADA, BEN]], "u1 u2",
    ),
    "a column fills up": (
        [[f"{LOGIN},{HEADER}", f",{ADA}", f"u2,{BEN}"], [f"{LOGIN},{HEADER}", f"u1,{ADA}"]],
        "ada@uni.edu u2",
    ),
    "another name and address": (
        [[f"{LOGIN},{HEADER}", f"u1,{ADA}"], [f"{LOGIN},{HEADER}", "u1,Cleo Berg,cleo@uni.edu"]],
        "u1",
    ),
    "an address moves to a new person": (
        [[f"{LOGIN},{HEADER}", f"u1,{ADA}"],
         [f"{LOGIN},{HEADER}", "u9,Adam Dorn,ada@uni.edu", "u1,Ada Lind,lind@uni.edu"]], "u1 u9",
    ),
    "an address with a new name": (
        [[HEADER, ADA], [HEADER, "Eve Dorn,ada@uni.edu"]],
        "ada@uni.edu was Ada Lind (ada@uni.edu) so far",
    ),
    "a person with two ids": (
        [[f"{LOGIN},{HEADER}", f"u1,{ADA}"], [f"{LOGIN},{HEADER}", f"u9,{ADA}"]],
        "line 2: Ada Lind (u1) has the login u1 in people.csv, and here u9",
    ),
    "two people in one row": (
        [[f"{LOGIN},ID number", "u1,", ",n2"], [f"{LOGIN},ID number", "u1,n2"]],
        "in people.csv",
    ),
    "the same person twice": (
        [[f"{LOGIN},ID", "u1,101", "u1,205"]], "line 3: u1 has the canvas_id 101 in people.csv",
    ),
    "one name twice, and no id": ([[FULL, "Ada Lind"], [FULL, "Ada Lind", "Ada Lind"]], "line 3"),
    "an address as login": (
        [[HEADER, ADA], ["Student,ID,SIS Login ID", '"Lind, Ada",101,ada@uni.edu']], "ada@uni.edu",
    ),
    "staff": ([["Name,Email,Role", "Ada,a@x,Student", "Tom,t@x,TA", "Ina,i@x,Instructor"]], "a@x"),
    "names that are equal as folders": ([[LOGIN, "a/b", "a_b", "A:B"]], "A_B_3 a_b a_b_2"),
    "names of our files": ([[LOGIN, "Teams.csv", "collected.csv"]], "_Teams.csv _collected.csv"),
}  # fmt: skip


@pytest.mark.parametrize("name", STEPS)
def test_people_stay_themselves_in_later_lists(term, name):
    lists, expected = STEPS[name]
    term.put("someone", 1.0)
    *before, last = [grade_list(term, *lines) for lines in lists]
    assert all(done.returncode == 0 for done in before)
    students = [one["student"] for one in people(term.folder)]
    said = " ".join((last.stdout + last.stderr).split())
    if last.returncode:
        assert expected in said
        assert len(students) <= len(lists[0]) - 1, "nothing of it is written"
    else:
        assert sorted(students) == sorted(expected.split())
        assert [one["number"] for one in people(term.folder)] == [
            str(number) for number in range(1, len(students) + 1)
        ]


def test_a_folder_that_is_there_stays_that_of_its_learner(term):
    term.put("ada@uni.edu", 1.0)
    assert grade_list(term, f"{LOGIN},{HEADER}", f"u1,{ADA}").returncode == 0
    (ada,) = people(term.folder)
    assert ada == {
        "number": "1", "student": "ada@uni.edu", "name": "Ada Lind", "email": "ada@uni.edu",
        "login": "u1", "id_number": "", "canvas_id": "", "sid": "", "git": "", "section": "",
    }  # fmt: skip
    assert term.points() == {"ada@uni.edu": 39.0}


@pytest.mark.parametrize(
    "line, word",
    [
        ("1,ada,,,,,,,,", "that of ada too"),
        ("2,ada,,,,,,,,", "that of ada too"),
        ("2,ben,,,u1,,,,,", "that of ada too"),
        ("x,ben,,,,,,,,", "line 3: a person needs a number"),
    ],
)
def test_a_wrong_line_of_people_is_refused(term, line, word):
    header = "number,student,name,email,login,id_number,canvas_id,sid,git,section"
    (term.folder / "people.csv").write_text(f"{header}\n1,ada,,,u1,,,,,\n{line}\n")
    term.put("ada", 1.0)
    assert word in " ".join(term.grade(refused=True).said.split())


def test_a_section_is_collected_graded_and_shown_alone(term):
    """Cleo is in two sections."""
    sections = ("ada,Lab 1", "ben,Lab 2", 'cleo,"Lab 1, and Lab 2"')
    roster = term.write("roster.csv", "Username,Section", *sections)
    files = {f"hw-{login}/{CH1}.py": login for login in ("ada", "ben", "cleo")}
    source, asked = write_zip(term.folder / "r.zip", files), ("--roster", roster, "--section")
    found = collect("git", source, term.folder / "own", *asked, "lab 2")
    assert found.count == {"ben": "ben", "cleo": "cleo"} and found.status == 0
    for login in ("ada", "ben", "cleo"):
        term.put(login, 0.5)
    assert {student for student, *_ in term.grade(*asked, "Lab 1").rows} == {"ada", "cleo"}
    assert {student for student, *_ in term.grade().rows} == {"ada", "ben", "cleo"}
    assert "ben" not in term.page("--section", "Lab 1")
    text = term.exported("lab 1/grades.csv", "--section", "lab 1")
    assert "cleo" in text and "ben" not in text
    said = term.use("export", "--section", "Lab 3", refused=True)
    assert "no section Lab 3" in " ".join(said.split())
