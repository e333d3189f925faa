"""Which of a learner's files counts: names and places that are nearly right, versions, archives.

tests/instructor/test_class.py has the ordinary ones. What counts shows in the points: ONE is a file
of 5 points, TWO of 15.
"""

import os
import re
import zipfile
from pathlib import Path

import nbformat
import pytest

from ..instructor.downloads import zipped
from ..instructor.runs import CH1, CH2, MOST, NAMES, Term, notes_in, points_of
from ..support import ROOT, Graded, grade

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows refuses such names and links")
PY, NOTEBOOK = f"{CH1}.py", f"{CH1}.ipynb"
ONE = b"def attention_scores(query, inputs):\n    return inputs @ query\n"
TWO = (
    ONE
    + b"""import torch
def softmax(x, dim=-1):
    e = torch.exp(x - x.amax(dim, keepdim=True))
    return e / e.sum(dim, keepdim=True)
"""
)
MEGABYTE = 1 << 20
Content = bytes | Path | None  # a path is a link's, None a folder
Files = dict[str, Content | tuple[bytes, int]]  # by path; with the age in seconds


def notebook(*sources: str) -> bytes:
    """Return the released notebook with more cells."""
    released = ROOT / "release" / CH1 / NOTEBOOK
    made = nbformat.read(released, as_version=4)
    made.cells += [nbformat.v4.new_code_cell(source) for source in sources]
    return nbformat.writes(made).encode()


def lying() -> bytes:
    """Return a zip whose member is larger than it says."""
    data = bytearray(zipped({PY: bytes(64 * MEGABYTE)}))
    central = data.find(b"PK\x01\x02")
    data[central + 24 : central + 28] = (100).to_bytes(4, "little")
    return bytes(data)


def with_a_wrong_byte(whole: bytes, place: int) -> bytes:
    """Return a zip in which a byte is wrong."""
    return whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :]


# These count, with a note. A learner: (files, points). Only the first 20 notes are shown.
NEAR: dict[str, tuple[Files, int]] = {
    "0_number": ({f"{CH1}/{CH1}(12).py": ONE}, 5),
    "0_dash": ({f"{CH1}/{CH1}-1.py": ONE}, 5),
    "0_copy": ({f"{CH1}/{CH1} copy 2.py": ONE}, 5),
    "0_capitals": ({f"{CH1}/{CH1.upper()}.py": ONE}, 5),
    "0_week": ({f"week 1/{CH1}/{PY}": ONE}, 5),
    "0_zip": ({"my.zip": zipped({f"__MACOSX/._{PY}": b"\0", f"a/{PY}": ONE, "a.txt": b"a"})}, 5),
    "0_zip_inside": ({f"{CH1}/{CH1}.zip": zipped({f"homework/{PY}": ONE})}, 5),
    "0_notebook_as_script": ({f"{CH1}/{PY}": b' {"cells": []}'}, 0),
    "0_newer": ({f"{CH1}/{PY}": (TWO, 100), f"{CH1}/{CH1} (1).py": ONE}, 5),
}
SAID = {  # of those that are not "counts as"
    "0_notebook_as_script": f"{PY} is a notebook, and read as one",
    "0_newer": f"{CH1}/{PY} is older and does not count",
}
BOMB = zipped({PY: b"#" * (8 * MEGABYTE)})
MANY = zipped({f"{n}/x.py": b"" for n in range(1000)} | {PY: ONE})
WHOLE_ZIP = zipped({PY: TWO * 3})
# A learner: (files, points, a word of the first exercise's message).
OTHER: dict[str, tuple[Files, int, str]] = {
    "beside": ({PY: ONE}, 5, ""),
    "solution": ({f"{CH1}/{CH1}_solution.py": ONE}, 0, f"{CH1}_solution.py"),
    "checkpoint": ({f"{CH1}/.ipynb_checkpoints/{PY}": ONE}, 0, ""),
    "mac": ({f"__MACOSX/{PY}": ONE}, 0, ""),
    "deep": ({f"a/b/c/d/{PY}": ONE}, 0, ""),
    "short": ({"ch1_simplified.py": ONE}, 0, "no submission"),
    "nothing": ({}, 0, "no submission"),
    # versions
    "as_new": ({f"{CH1}/{PY}": (ONE, 1), f"{CH1}/{CH1} (1).py": TWO}, 15, ""),
    "given_to_learners": (
        {f"{CH1}/{PY}": (ONE, 1000), f"kit/exercises/given/ch4_multi_head_attention/{PY}": TWO,
         "checks.zip": zipped({f"exercises/given/ch4_multi_head_attention/{PY}": TWO})}, 5, ""),
    "only_given": ({f"kit/exercises/given/ch4_multi_head_attention/{PY}": TWO}, 0, "no submission"),
    "empty_notebook": ({f"{CH1}/{NOTEBOOK}": b""}, 0, f"{NOTEBOOK} is empty"),
    "empty_and_not": ({f"{CH1}/{NOTEBOOK}": b" ", f"{CH1}/{PY}": ONE}, 5, ""),
    # a notebook and a script
    "untouched": ({f"{CH1}/{NOTEBOOK}": notebook(), f"{CH1}/{PY}": ONE}, 5, ""),
    "helper": (
        {f"{CH1}/{NOTEBOOK}": notebook("def helper():\n    return 1"), f"{CH1}/{PY}": ONE}, 5, ""),
    "no_notebook": ({f"{CH1}/{NOTEBOOK}": b'{"cells": 7}', PY: ONE}, 5, ""),
    # archives
    "bomb": ({"homework.zip": BOMB}, 0, "has more than 1048576 bytes"),
    "other_method": ({"work.zip": zipped({PY: ONE}, zipfile.ZIP_BZIP2)}, 0, "in a way that is not"),
    "lying": ({"work.zip": lying()}, 0, "is damaged"),
    "in_an_archive": ({"work.zip": zipped({"a.zip": zipped({PY: ONE})})}, 0, "work.zip"),
    "in_an_archive_there": (
        {f"{CH1}/work.zip": zipped({"a.zip": zipped({PY: ONE})})}, 0, "Not opened"),
    "rar": ({f"{CH1}/work.rar": b"1"}, 0, "Not opened"),
    "linked_in_zip": ({"link.zip": zipped({f"*{PY}": b"/etc/passwd"})}, 0, "link.zip"),
    "many_in_zip": ({"many.zip": MANY}, 0, "many.zip"),
    **{f"byte{place}": ({"a.zip": with_a_wrong_byte(WHOLE_ZIP, place)}, -1, "")
       for place in range(30, WHOLE_ZIP.index(b"PK\x01\x02"), 9)},
    # links, and files in the place of folders
    "linked_folder": ({"work": ROOT / "solutions"}, 0, ""),
    "linked_chapter": ({CH1: ROOT / "solutions"}, 0, "is a link, not a folder"),
    "file": ({CH1: ONE}, 0, "is a file, not a folder"),
    "folder": ({f"{CH1}/{PY}": None}, 0, ""),
    # what is written in another way, and is no text
    "utf16_without_mark": ({f"{CH1}/{PY}": "# café\n".encode("utf-16-le")}, 0, "not UTF-8"),
}  # fmt: skip


def write(folder: Path, files: Files) -> None:
    """Write a learner's files."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        content, age = content if isinstance(content, tuple) else (content, 0)
        if content is None:
            path.mkdir()
        elif isinstance(content, Path):
            path.symlink_to(content)
        else:
            path.write_bytes(content)
            os.utime(path, (1_700_000_000 - age,) * 2)


@pytest.fixture(scope="module")
def graded(tmp_path_factory) -> Graded:
    """All of these learners, graded once."""
    folder = tmp_path_factory.mktemp("class")
    for name, (files, *_) in (NEAR | OTHER).items():
        write(folder / "in" / name, files)
    made = grade(folder / "in", folder / "out", "--isolation", "none")
    assert made.status == 0, made.said
    return made


@pytest.mark.slow
def test_nearly_right_names_and_places_count_with_a_note(graded):
    points = points_of(graded, CH1)
    for name, (_, deserved) in NEAR.items():
        word = SAID.get(name, f"counts as {PY}")
        notes = [note for note in notes_in(graded.said, word) if f"note: {name}: " in note]
        assert points[name] == deserved and notes, name


@pytest.mark.slow
def test_everything_else_counts_for_what_it_is_or_says_why_not(graded):
    points, wrong = points_of(graded, CH1), []
    for name, (_, deserved, word) in OTHER.items():
        said = graded.rows[name, CH1, NAMES[0]]["message"]
        fine = deserved in (-1, points[name]) and word in said
        wrong += [] if fine else [(name, points[name], said)]
    assert wrong == []
    assert notes_in(graded.said, "archives that are not opened")


# --- folders ------------------------------------------------------------------------------------


@pytest.fixture
def term(monkeypatch, tmp_path) -> Term:
    """A term whose files say what they are worth."""
    return Term(tmp_path / "term", monkeypatch)


def put_all(folder: Path, *paths: str) -> None:
    for path in paths:
        write(folder, {path: b"0.5 "})


SOME = [f"ada/{CH1}/{PY}"]


@pytest.mark.parametrize(
    "paths, word",
    [
        *(([*SOME, own], f"is a course, because it holds {own}")
          for own in ("course_config.py", "exercises/course.json", "course.json")),
        ([f"HW1/{name}/{PY}" for name in ("ada", "ben", "chi")],
         "HW1 seems to hold a folder for each learner: ada, ben, chi"),
        ([f"HW1/{name}/{CH1}/{NOTEBOOK}" for name in ("ada", "ben")], "HW1 seems to hold"),
        (["people.csv"], "one folder too high"),
        ([f"{CH1}/{PY}", f"{CH2}/{CH2}.py"], "holds chapters, so it is one folder too deep"),
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


def test_strict_takes_exact_names_only(term):
    write(term.submitted, {f"ada/{CH1}/{PY}": (b"1.0", 9), f"ada/{CH1}/{CH1} (1).py": b"0.5"})
    write(term.submitted, {f"ben/{CH1} (1).py": b"0.5"})
    strict = term.grade("--strict")
    assert points_of(strict) == {"ada": MOST, "ben": 0} and "counts as" not in strict.said
    assert points_of(term.grade()) == {"ada": MOST / 2, "ben": MOST / 2}


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
