"""A roster is read as course systems write it; what cannot be one is a sentence."""

import pytest

from tensorgrade.course import CourseError
from tensorgrade.instructor.roster import read_csv, read_roster
from tensorgrade.views.csv_cells import in_csv

MOODLE = "First name,Last name,ID number,Email address\nAda,Lovelace,s1,ada@x.org\n"
CANVAS = """Student,ID,SIS User ID,SIS Login ID,Section
    Points Possible,,,,
"Lovelace, Ada",101,u1,ada,S1
"Student, Test",999,,,S1
"""
SEMICOLONS = "\ufeffusername;name\r\nada;Lovelace\r\nbao;O'Connor\r\n"


@pytest.mark.parametrize(
    "text, column, names",
    [
        (MOODLE, "id number", ["s1"]),
        (CANVAS, "sis login id", ["ada"]),
        (SEMICOLONS, "username", ["ada", "bao"]),
        ("id,last_name,first_name,email\nada,L,A,\n", "id", ["ada"]),
    ],
)
def test_the_column_that_names_learners_is_found(tmp_path, text, column, names):
    (tmp_path / "class.csv").write_text(text, encoding="utf-8")
    roster = read_roster(tmp_path / "class.csv")
    assert (roster.column, list(roster.folders)) == (column, names)


@pytest.mark.parametrize(
    "content, sentence",
    [
        (b"colour,shape\nred,round\n", "none of the columns"),
        (b"", "none of the columns"),
        (b"id\nada\nada\n", "names ada twice"),
        (b"ada\n", "none of the columns"),
        (b"id,name\n", "has a header, but no learners"),
        (b"id,name\n,Ada\n", "has no names"),
        (b"id\n\xff\xfe\n", 'not UTF-8 text; in Excel, save it as "CSV UTF-8"'),
    ],
)
def test_what_is_no_roster_is_a_sentence(tmp_path, content, sentence):
    (tmp_path / "class.csv").write_bytes(content)
    with pytest.raises(CourseError, match=sentence):
        read_roster(tmp_path / "class.csv")


def test_a_file_that_is_not_there_is_a_sentence_and_none_is_an_empty_roster(tmp_path):
    with pytest.raises(CourseError, match="cannot be read: No such file"):
        read_roster(tmp_path / "class.csv")
    assert read_roster(None).folders == ()


def test_what_is_written_is_read_again_and_is_no_formula():
    rows = [["ada", 'a, "b"\n;'], ["=1+1", "@x"], ["-", -1]]
    back = read_csv(in_csv(["Name", "Told"], rows))
    assert [list(row.values()) for _, row in back] == [
        ["ada", 'a, "b"\n;'],
        ["'=1+1", "'@x"],
        ["-", "-1"],
    ]
