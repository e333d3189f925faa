"""Attacks with the submitted files before any code runs: links, pipes, sizes, names, bytes."""

import os

import pytest

from .conftest import CHAPTER, ROOT, WRONG

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
CODES = "\x1b[31m\n"


@pytest.fixture(scope="module")
def submissions(classroom, tmp_path_factory):
    """A class of odd hand-ins, graded."""
    room = classroom("submissions")
    solution = ROOT / "solutions" / f"{CHAPTER}.py"
    room.hand_in("honest", solution.read_text(encoding="utf-8"))
    folder = room.submitted / "link_to_file" / CHAPTER
    folder.mkdir(parents=True)
    (folder / f"{CHAPTER}.py").symlink_to(solution)
    (room.submitted / "link_to_folder").mkdir()
    (room.submitted / "link_to_folder" / CHAPTER).symlink_to(room.submitted / "honest" / CHAPTER)
    (room.submitted / "link_to_learner").symlink_to(room.submitted / "honest")
    folder = room.submitted / "pipe" / CHAPTER
    folder.mkdir(parents=True)
    os.mkfifo(folder / f"{CHAPTER}.py")
    room.hand_in("huge", "#" * (20 << 20))
    room.hand_in("long_line", "x = " + "(" * 200_000)
    room.hand_in("no_text", "").joinpath(f"{CHAPTER}.py").write_bytes(b"\xff\xfe" * 100)
    room.hand_in("zero_bytes", WRONG.replace("\n", "\n\0", 3))
    folder = room.submitted / "odd_name" / CHAPTER
    folder.mkdir(parents=True)
    (folder / f"{CODES}<script>.py").write_text("x = 1")
    (room.submitted / "odd_name" / f"{CODES}chapter").mkdir()
    room.hand_in(f"{CODES}student", "x = 1")
    return room.grade(tmp_path_factory.mktemp("out"), "--jobs", "1")


@pytest.mark.parametrize(
    "student", ["link_to_file", "pipe", "huge", "long_line", "no_text", "zero_bytes", "odd_name"]
)
def test_odd_handin_gets_rows_and_no_points(submissions, student):
    """A row for every exercise, no more points than for wrong answers, a printable sentence."""
    rows = submissions.rows[student].values()
    assert len(rows) == 6
    assert sum(row["points"] for row in rows) <= 3
    assert all(row["message"] and row["message"].isprintable() for row in rows)


def test_links_lead_nowhere(submissions):
    """Nothing is graded through a linked file or folder; the rows say that it is one."""
    for student in ("link_to_file", "link_to_folder", "link_to_learner"):
        rows = submissions.rows[student].values()
        assert all(row["points"] == 0 and "is a link" in row["message"] for row in rows)
    assert all(row["status"] == "passed" for row in submissions.rows["honest"].values())


def test_names_reach_no_terminal_raw(submissions):
    """Names of files and folders are printed without their control characters."""
    assert "\x1b" not in submissions.output
