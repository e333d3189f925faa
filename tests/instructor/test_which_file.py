"""Which folders are a class, and which of its learners and chapters get rows."""

import os
import re
from pathlib import Path

import pytest

from .runs import CH1, CH2, notes_in, points_of

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows refuses such names and links")
PY, NOTEBOOK = f"{CH1}.py", f"{CH1}.ipynb"


def put_all(folder: Path, *paths: str) -> None:
    """Write files that are worth half of the points."""
    for path in (folder / name for name in paths):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("0.5 ")
        os.utime(path, (1_700_000_000,) * 2)


SOME = [f"ada/{CH1}/{PY}"]


@pytest.mark.parametrize(
    "paths, word",
    [
        *(([*SOME, own], f"because it holds {own}")
          for own in ("course_config.py", "exercises/course.json", "course.json")),
        ([f"HW1/{name}/{PY}" for name in ("ada", "ben", "chi")],
         "HW1 seems to hold a folder for each learner: ada, ben, chi"),
        ([f"HW1/{name}/{CH1}/{NOTEBOOK}" for name in ("ada", "ben")], "HW1 seems to hold"),
        (["people.csv"], "one folder too high"),
        ([f"{CH1}/{PY}", f"{CH2}/{CH2}.py"], "one folder too deep"),
        ([f"{CH1}/{name}/src/{CH1} (1).py" for name in ("ada", "ben")] + [f"{CH2}/ada/{CH2}.py"],
         f"{CH1} seems to hold a folder for each learner: ada, ben"),
    ],
)  # fmt: skip
def test_a_folder_that_is_no_class_is_refused(term, paths, word):
    put_all(term.submitted, *paths)
    (term.submitted / "__MACOSX").mkdir()
    assert word in re.sub(r"\s+", " ", term.grade(refused=True).said)


def test_a_class_list_says_that_a_folder_is_a_learner(term):
    put_all(term.submitted, *(f"HW1/{name}/{PY}" for name in ("ada", "ben", "chi")))
    roster = term.write("roster.csv", "student_id", "HW1")
    assert set(points_of(term.grade("--roster", roster))) == {"HW1"}


@pytest.mark.parametrize(
    "paths",
    [
        (f"ada/{PY}", f"ada/old/{PY}", f"ada/new/{PY}"),
        (f"ada/a/{PY}", f"ada/b/{CH2}.py"),
        (f"ada/work/a/{PY}", f"ada/work/b/{PY}"),
        (f"ada/a/{PY}", f"ada/.older/{PY}"),
        (f"ada/old/{PY}", f"ada/new/{PY}", f"bob/{CH1}/{PY}"),
        (f"ada/{CH1}/old/{PY}", f"ada/{CH1}/new/{PY}"),
    ],
)
def test_several_folders_of_one_learner_are_accepted(term, paths):
    put_all(term.submitted, *paths)
    assert points_of(term.grade(), CH1)["ada"] > 0


def test_everyone_with_a_folder_has_rows_for_each_chapter_that_is_graded(term):
    put_all(term.submitted, *SOME, f"ben/{CH2}/{CH2}.py", "list.csv", ".git/x")
    put_all(term.submitted, *(f"{number}.txt" for number in range(50)), f"{CH1}/{PY}")
    (term.submitted / "chi").mkdir()
    (term.submitted / "linked").symlink_to("ada")
    (term.submitted / "ring").symlink_to("ring")
    found = term.grade()
    missing = {row[:2] for row, one in found.rows.items() if one["status"] == "not_attempted"}
    assert {("ada", CH2), ("ben", CH1), ("chi", CH1), ("chi", CH2)} <= missing
    assert {row[:2] for row in found.rows} >= {(name, CH1) for name in ("ada", "linked")}
    points = points_of(found)
    assert points["ada"] and points["ben"] and not points["chi"] and not points["linked"]
    assert ".git" not in points
    assert "0.txt" in "".join(notes_in(found.said, "left out, because of no chapter"))
    said = "".join(notes_in(found.said, f"no submission for {CH1}"))
    assert "ben" in said and "chi" in said and "ada" not in said


@pytest.mark.machine
@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root reads every folder")
def test_a_folder_that_cannot_be_read_is_that_learners_trouble_alone(term):
    put_all(term.submitted, *SOME, f"ben/{CH1}/{PY}")
    (term.submitted / "ben").chmod(0)
    try:
        points = points_of(term.grade())
    finally:
        (term.submitted / "ben").chmod(0o700)
    assert points["ada"] > 0 and points["ben"] == 0
