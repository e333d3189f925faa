"""A class in which everything goes wrong that can go wrong with files, graded once.

Also which of several files counts: names and places that are nearly right, versions, archives.
"""

import csv
import io
import json
import os
import zipfile
from pathlib import Path

import nbformat
import pytest

from ..support import ROOT, Graded, grade
from .downloads import zipped
from .runs import CH1, MOST, NAMES, notes_in, points_of, run_here

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name == "nt", reason="Windows refuses such names and links"),
]
PY, NOTEBOOK = f"{CH1}.py", f"{CH1}.ipynb"
WHOLE = (ROOT / "solutions" / PY).read_text(encoding="utf-8")
STUB = (ROOT / "exercises" / PY).read_text(encoding="utf-8")
# Two exercises of five and ten points, and letters outside of ASCII.
TWO = """import torch
# für 15 Punkte
def attention_scores(query, inputs):
    return inputs @ query
def softmax(x, dim=-1):
    e = torch.exp(x - x.amax(dim, keepdim=True))
    return e / e.sum(dim, keepdim=True)
"""
FIRST = "    return inputs @ query\n"  # the first exercise, in the solution
CODES = "\x1b[31m\n"
Files = dict[str, bytes | Path | None]  # a path is a link's, None a pipe


def changed(new: str) -> bytes:
    """Return the solution with another body of the first exercise."""
    assert FIRST in WHOLE
    return WHOLE.replace(FIRST, new).encode()


def notebook(*sources: str) -> bytes:
    """Return a notebook with these cells of code."""
    cells = [nbformat.v4.new_code_cell(source) for source in sources]
    return json.dumps(nbformat.v4.new_notebook(cells=cells)).encode()


def released(*sources: str) -> bytes:
    """Return the released notebook with more cells."""
    path = ROOT / "release" / CH1 / NOTEBOOK
    made = nbformat.read(path, as_version=4)
    made.cells += [nbformat.v4.new_code_cell(source) for source in sources]
    return nbformat.writes(made).encode()


ONE, FIFTEEN = TWO.partition("def softmax")[0].encode(), TWO.encode()
MEGABYTE = 1 << 20
Aged = dict[str, bytes | Path | tuple[bytes, int] | None]  # by path; with the age in seconds


# A learner: (files in the chapter's folder, points, the first exercise's status, a word of its
# message). Files, code that misbehaves, files that are none, and hostile names.
CLASS: dict[str, tuple[Files, float, str, str]] = {
    "right": ({PY: WHOLE.encode()}, MOST, "passed", "Right"),
    "stub": ({PY: STUB.encode()}, 0, "not_attempted", "Not written yet"),
    "second_download": ({f"{CH1} (1).py": TWO.encode()}, 15, "passed", "Right"),
    "saved_as_text": ({f"{PY}.txt": WHOLE.encode()}, MOST, "passed", "Right"),
    "too_deep": ({f"work/{PY}": TWO.encode()}, 15, "passed", "Right"),
    "zip": ({"homework.zip": zipped({f"a/b/{PY}": WHOLE})}, MOST, "passed", "Right"),
    "broken_zip": ({"homework.zip": zipped({f"a/{PY}": WHOLE})[:200]}, 0, "error", "zip"),
    "notebook": ({NOTEBOOK: notebook("x = {[]: 1}", TWO, "x = 1\r y")}, 15, "passed", "Right"),
    "no_notebook": ({NOTEBOOK: b"[" * 100_000}, 0, "error", "notebook"),
    "utf16": ({PY: TWO.encode("utf-16")}, 15, "passed", "Right"),
    "windows": ({PY: ("\ufeff" + TWO).replace("\n", "\r\n").encode()}, 15, "passed", "Right"),
    "empty": ({PY: b""}, 0, "error", "is empty"),
    "bytes": ({PY: bytes(range(256)) * 10}, 0, "error", "not UTF-8"),
    "something_else": ({"notes.txt": b"hello"}, 0, "error", "notes.txt"),
    "misnamed": ({"homework.py": WHOLE.encode()}, 0, "error", "homework.py"),
    "nothing": ({}, 0, "not_attempted", ""),
    "syntax": (
        {PY: WHOLE.replace("def attention_scores(", "def attention_scores((").encode()},
        MOST - 5, "error", "SyntaxError",
    ),
    "outside": (
        {PY: b"import not_a_package\nimport sys\nsys.exit(0)\n" + WHOLE.encode()
         + b"\nname = input('?')\nprint('\\x1b[31m' + 'x' * 100000)\nimport os\nos._exit(0)\n"},
        MOST, "passed", "Right",
    ),
    "loops_inside": (
        {PY: changed("    while True:\n        pass\n")}, MOST - 5, "timeout", "infinite loop",
    ),
    "dies_inside": (
        {PY: changed("    import os\n    os._exit(0)\n")}, MOST - 5, "killed", "process",
    ),
    "renamed": (
        {PY: WHOLE.replace("def attention_scores(", "def attention_score(").encode()},
        MOST - 5, "not_attempted", "`attention_score`",
    ),
    "twice": (
        {PY: WHOLE.encode() + b"\ndef attention_scores(query, inputs):\n    return inputs\n"},
        MOST - 5, "failed", "shape",
    ),
    "long_line": ({PY: b"x = " + b"(" * 200_000}, 0, "not_attempted", "defines no"),
    "zero_bytes": ({PY: b"import torch\n\0" + TWO.encode()}, 15, "passed", ""),
    "huge": ({PY: b"#" * (20 << 20)}, 0, "error", "bytes"),
    "two_files": ({NOTEBOOK: b"[1, 2]", PY: WHOLE.encode()}, MOST, "passed", "Right"),
    "odd_name": ({f"{CODES}<script>.py": b"x = 1"}, 0, "error", "<script>"),
    "link": ({PY: ROOT / "solutions" / PY}, 0, "error", "is a link"),
    "pipe": ({PY: None}, 0, "error", ""),
    f"{CODES}student": ({PY: b"x = 1"}, 0, "not_attempted", ""),
    "soft\u00adhyphen": ({PY: WHOLE.encode()}, MOST, "passed", "Right"),
    "lat\udce9": ({PY: WHOLE.encode()}, MOST, "passed", "Right"),
}  # fmt: skip


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
NEAR: dict[str, tuple[Aged, int]] = {
    "0_number": ({f"{CH1}/{CH1}(12).py": ONE}, 5),
    "0_dash": ({f"{CH1}/{CH1}-1.py": ONE}, 5),
    "0_copy": ({f"{CH1}/{CH1} copy 2.py": ONE}, 5),
    "0_capitals": ({f"{CH1}/{CH1.upper()}.py": ONE}, 5),
    "0_week": ({f"week 1/{CH1}/{PY}": ONE}, 5),
    "0_zip": ({"my.zip": zipped({f"__MACOSX/._{PY}": b"\0", f"a/{PY}": ONE, "a.txt": b"a"})}, 5),
    "0_zip_inside": ({f"{CH1}/{CH1}.zip": zipped({f"homework/{PY}": ONE})}, 5),
    "0_notebook_as_script": ({f"{CH1}/{PY}": b' {"cells": []}'}, 0),
    "0_newer": ({f"{CH1}/{PY}": (FIFTEEN, 100), f"{CH1}/{CH1} (1).py": ONE}, 5),
}
SAID = {  # of those that are not "counts as"
    "0_notebook_as_script": f"{PY} is a notebook, and read as one",
    "0_newer": f"{CH1}/{PY} is older and does not count",
}
BOMB = zipped({PY: b"#" * (8 * MEGABYTE)})
MANY = zipped({f"{n}/x.py": b"" for n in range(1000)} | {PY: ONE})
WHOLE_ZIP = zipped({PY: FIFTEEN * 3})
# A learner: (files, points, a word of the first exercise's message).
OTHER: dict[str, tuple[Aged, int, str]] = {
    "solution": ({f"{CH1}/{CH1}_solution.py": ONE}, 0, f"{CH1}_solution.py"),
    "checkpoint": ({f"{CH1}/.ipynb_checkpoints/{PY}": ONE}, 0, ""),
    "mac": ({f"__MACOSX/{PY}": ONE}, 0, ""),
    "deep": ({f"a/b/c/d/{PY}": ONE}, 0, ""),
    "short": ({"ch1_simplified.py": ONE}, 0, "no submission"),
    # versions
    "as_new": ({f"{CH1}/{PY}": (ONE, 1), f"{CH1}/{CH1} (1).py": FIFTEEN}, 15, ""),
    "given_to_learners": (
        {f"{CH1}/{PY}": (ONE, 1000), f"kit/exercises/given/ch4_multi_head_attention/{PY}": FIFTEEN,
         "checks.zip": zipped({f"exercises/given/ch4_multi_head_attention/{PY}": FIFTEEN})}, 5, ""),
    "only_given": (
        {f"kit/exercises/given/ch4_multi_head_attention/{PY}": FIFTEEN}, 0, "no submission"),
    "empty_and_not": ({f"{CH1}/{NOTEBOOK}": b" ", f"{CH1}/{PY}": ONE}, 5, ""),
    # a notebook and a script
    "untouched": ({f"{CH1}/{NOTEBOOK}": released(), f"{CH1}/{PY}": ONE}, 5, ""),
    "helper": (
        {f"{CH1}/{NOTEBOOK}": released("def helper():\n    return 1"), f"{CH1}/{PY}": ONE}, 5, ""),
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
    "file": ({CH1: ONE}, 0, "Not a directory"),
    "folder": ({f"{CH1}/{PY}/file": b""}, 0, ""),
    # what is written in another way, and is no text
    "utf16_without_mark": ({f"{CH1}/{PY}": "# café\n".encode("utf-16-le")}, 0, "not UTF-8"),
}  # fmt: skip


# Names as results show them.
SHOWN = {
    f"{CODES}student": r"\x1b[31m\nstudent",
    "soft\u00adhyphen": r"soft\xadhyphen",
    "lat\udce9": r"lat\udce9",
}
STUDENTS = {SHOWN.get(name, name): name for name in CLASS}
LINKS = ("link_to_learner", "link_to_folder")


def write(folder: Path, files: Aged) -> None:
    """Write a learner's files."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        content, age = content if isinstance(content, tuple) else (content, 0)
        if content is None:
            os.mkfifo(path)
        elif isinstance(content, Path):
            path.symlink_to(content)
        else:
            path.write_bytes(content)
            os.utime(path, (1_700_000_000 - age,) * 2)


def write_folders(submitted: Path) -> None:
    """Write SUBMITTED/<student>/<chapter>/ for the whole class, and what belongs to no learner."""
    for name, (files, *_) in CLASS.items():
        write(submitted / name / CH1, files)
    for name, (own, *_) in (NEAR | OTHER).items():
        write(submitted / name, own)
    (submitted / "right" / "another_course").mkdir()
    (submitted / "odd_name" / f"{CODES}chapter").mkdir()
    (submitted / "link_to_learner").symlink_to(submitted / "right")
    (submitted / "link_to_folder").mkdir()
    (submitted / "link_to_folder" / CH1).symlink_to(submitted / "right" / CH1)


@pytest.fixture(scope="module")
def graded(tmp_path_factory) -> Graded:
    """The class after one run."""
    folder = tmp_path_factory.mktemp("class")
    write_folders(folder / "in")
    graded = grade(folder / "in", folder / "out", "--isolation", "none")
    assert graded.status == 0, graded.said
    return graded


def test_all_get_what_their_files_deserve(graded):
    """Nearly right names and places count with a note; everything else says why not."""
    points, wrong = points_of(graded), []
    for shown, name in STUDENTS.items():
        _, deserved, status, word = CLASS[name]
        row = graded.rows[shown, CH1, NAMES[0]]
        if (points[shown], row["status"]) != (deserved, status) or word not in row["message"]:
            wrong.append((shown, points[shown], row["status"], row["message"]))
    for name, (_, deserved, word) in OTHER.items():
        said = graded.rows[name, CH1, NAMES[0]]["message"]
        if deserved not in (-1, points[name]) or word not in said:
            wrong.append((name, points[name], said))
    assert wrong == []
    assert notes_in(graded.said, "archives that are not opened")
    for student in (*LINKS, "link"):
        rows = [graded.rows[student, CH1, name] for name in NAMES]
        assert all(row["points"] == 0 and "is a link" in row["message"] for row in rows)
    for name, (_, deserved) in NEAR.items():
        word = SAID.get(name, f"counts as {PY}")
        notes = [note for note in notes_in(graded.said, word) if f"note: {name}: " in note]
        assert points[name] == deserved and notes, name


def test_each_learner_has_a_row_for_every_exercise_with_the_agreed_fields(graded):
    rows = graded.rows
    students = {*STUDENTS, *LINKS, *NEAR, *OTHER}
    assert set(rows) == {(student, CH1, name) for student in students for name in NAMES}
    fields = "student chapter exercise points max_points status mistakes message line isolation"
    for row in rows.values():
        assert set(row) >= {*fields.split(), "submitted", "late_seconds", "penalty"}
        assert 0 <= row["points"] <= row["max_points"] and row["isolation"] == "none"
        assert row["message"] and row["message"].isprintable()


def test_the_run_and_every_view_show_the_same_class(graded):
    out, points, said = graded.out, points_of(graded), graded.said
    left = {"results.jsonl", "results.sqlite", "report.html"}
    assert {path.name for path in out.iterdir()} == left
    size = (out / "report.html").stat().st_size
    assert size < (100 << 10) + 10_000 * len(graded.rows)
    assert "\x1b" not in said and notes_in(said, "another_course")
    assert "could not be graded as usual" in said

    def use(command: str, *options: object) -> str:
        done = run_here(command, out, *options, cwd=ROOT)
        assert done.returncode == 0, done.stderr
        return done.stdout

    use("export")
    text = (out / "export" / "grades.csv").read_text(encoding="utf-8")
    exported = {row["student"]: float(row["points"]) for row in csv.DictReader(io.StringIO(text))}
    assert exported == points
    use("export", "--format", "pages")
    assert len(list((out / "export" / "pages").iterdir())) == len(points)
    assert f"{points['renamed']:g} of 39 points count" in use("log", "renamed")
    page = (out / "report.html").read_text(encoding="utf-8")
    assert [name for name in points if f">{name}<" not in page] == []
    listed = page.partition("<h2>Identical")[2].partition("<h2>")[0]
    assert ">outside<" not in listed and ">stub<" not in listed and ">saved_as_text<" in listed
