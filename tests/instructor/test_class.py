"""A class in which everything goes wrong that can go wrong with files, collected and graded once.

tests/submissions/test_which_file.py has more files, and which one of several counts.
"""

import csv
import io
import json
import os
import zipfile
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import nbformat
import pytest

from ..support import ROOT, Graded, grade
from . import downloads
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


def zipped(*folders: str) -> bytes:
    """Return a zip with the chapter's file below these folders."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("/".join([*folders, PY]), WHOLE)
    return stream.getvalue()


# A learner: (files in the chapter's folder, points, the first exercise's status, a word of its
# message). These are what course systems deliver, too.
FILES: dict[str, tuple[Files, float, str, str]] = {
    "right": ({PY: WHOLE.encode()}, MOST, "passed", "Right"),
    "stub": ({PY: STUB.encode()}, 0, "not_attempted", "Not written yet"),
    "second_download": ({f"{CH1} (1).py": TWO.encode()}, 15, "passed", "Right"),
    "saved_as_text": ({f"{PY}.txt": WHOLE.encode()}, MOST, "passed", "Right"),
    "too_deep": ({f"work/{PY}": TWO.encode()}, 15, "passed", "Right"),
    "zip": ({"homework.zip": zipped("a", "b")}, MOST, "passed", "Right"),
    "broken_zip": ({"homework.zip": zipped("a")[:200]}, 0, "error", "zip"),
    "notebook": ({NOTEBOOK: notebook("x = {[]: 1}", TWO, "x = 1\r y")}, 15, "passed", "Right"),
    "no_notebook": ({NOTEBOOK: b"[" * 100_000}, 0, "error", "notebook"),
    "utf16": ({PY: TWO.encode("utf-16")}, 15, "passed", "Right"),
    "windows": ({PY: ("\ufeff" + TWO).replace("\n", "\r\n").encode()}, 15, "passed", "Right"),
    "empty": ({PY: b""}, 0, "error", "is empty"),
    "bytes": ({PY: bytes(range(256)) * 10}, 0, "error", "not UTF-8"),
    "something_else": ({"notes.txt": b"hello"}, 0, "error", "notes.txt"),
}
# What is only in folders: code that misbehaves, files that are none, and hostile names.
HERE: dict[str, tuple[Files, float, str, str]] = {
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
CLASS = FILES | HERE
EARLY, LATE = (datetime(2025, 1, day, 12, tzinfo=UTC) for day in (10, 17))
# Names as results show them.
SHOWN = {
    f"{CODES}student": r"\x1b[31m\nstudent",
    "soft\u00adhyphen": r"soft\xadhyphen",
    "lat\udce9": r"lat\udce9",
}
STUDENTS = {SHOWN.get(name, name): name for name in CLASS}
LINKS = ("link_to_learner", "link_to_folder")


def time_of(name: str) -> datetime:
    """Return when a learner submits: every third one later."""
    return LATE if list(CLASS).index(name) % 3 == 0 else EARLY


def write_folders(submitted: Path) -> None:
    """Write SUBMITTED/<student>/<chapter>/ for the whole class, and what belongs to no learner."""
    for name, (files, *_) in CLASS.items():
        folder = submitted / name / CH1
        folder.mkdir(parents=True)
        for file, content in files.items():
            path = folder / file
            path.parent.mkdir(exist_ok=True)
            if content is None:
                os.mkfifo(path)
            elif isinstance(content, Path):
                path.symlink_to(content)
            else:
                path.write_bytes(content)
    (submitted / "right" / "another_course").mkdir()
    (submitted / "odd_name" / f"{CODES}chapter").mkdir()
    (submitted / "link_to_learner").symlink_to(submitted / "right")
    (submitted / "link_to_folder").mkdir()
    (submitted / "link_to_folder" / CH1).symlink_to(submitted / "right" / CH1)


def login(mark: str, name: str) -> str:
    """Return a name that Canvas could give to a file."""
    return mark + name.replace("_", "")


def collect(folder: Path, submitted: Path) -> dict[str, dict[str, str]]:
    """Collect the same files from three systems; return the learners' folders, by system."""
    files = {name: own for name, (own, *_) in FILES.items()}
    flat = {n: {Path(file).name: c for file, c in own.items()} for n, own in files.items()}
    moodle, canvas = ({login(mark, name): flat[name] for name in flat} for mark in "mc")
    worksheet = {login("m", n): f"{time_of(n):%A, %d %B %Y, %I:%M %p}" for n in files}
    created = {name: f"{time_of(name):%Y-%m-%d %H:%M:%S} +00:00" for name in files}
    rosters = {
        "moodle": downloads.moodle(folder / "moodle.zip", moodle, worksheet),
        "canvas": downloads.canvas(folder / "canvas.zip", canvas, set()),
        "gradescope": folder / "gradescope.csv",
    }
    numbers = {name: str(number) for number, name in enumerate(files, 77)}
    rosters["gradescope"].write_text("\n".join(["sid", *numbers.values()]) + "\n")
    export = downloads.gradescope(folder / "gradescope", files, created)
    sources = {"moodle": folder / "moodle.zip", "canvas": folder / "canvas.zip"}
    for system, source in (sources | {"gradescope": export}).items():
        zone = ("--zone", "UTC") if system == "moodle" else ()
        told = ("--from", system, "--chapter", CH1, "--roster", rosters[system], *zone)
        done = run_here("collect", source, submitted, *told, cwd=ROOT)
        assert done.returncode == 1 and "damaged zip" in done.stdout, done.stdout + done.stderr
    emails = {system: {n: f"{login(system[0], n)}@uni.edu" for n in files} for system in sources}
    return emails | {"gradescope": numbers}


@dataclass(frozen=True)
class TheClass:
    """The class after one run. collected: learners' folders by system and name."""

    graded: Graded
    submitted: Path
    collected: dict[str, dict[str, str]]


@pytest.fixture(scope="module")
def class_(tmp_path_factory) -> TheClass:
    """The class, also collected from three systems, and graded.

    Files with the same content are graded once, so that the systems cost nothing.
    """
    folder = tmp_path_factory.mktemp("class")
    submitted = folder / "in"
    submitted.mkdir()
    write_folders(submitted)
    collected = collect(folder, submitted)
    graded = grade(submitted, folder / "out", "--isolation", "none")
    assert graded.status == 0, graded.said
    return TheClass(graded, submitted, collected)


def test_all_get_what_their_files_deserve(class_):
    points, wrong = points_of(class_.graded), []
    for shown, name in STUDENTS.items():
        _, deserved, status, word = CLASS[name]
        row = class_.graded.rows[shown, CH1, NAMES[0]]
        if (points[shown], row["status"]) != (deserved, status) or word not in row["message"]:
            wrong.append((shown, points[shown], row["status"], row["message"]))
    assert wrong == []
    for student in (*LINKS, "link"):
        rows = [class_.graded.rows[student, CH1, name] for name in NAMES]
        assert all(row["points"] == 0 and "is a link" in row["message"] for row in rows)


def test_course_systems_deliver_the_same_points_and_times(class_):
    """Canvas' download does not say when."""
    points = points_of(class_.graded)
    for system, folders in class_.collected.items():
        assert set(folders) == set(FILES)
        for name, folder in folders.items():
            assert points[folder] == CLASS[name][1], (system, name)
            at = class_.graded.rows[folder, CH1, NAMES[0]]["submitted"]
            when = None if system == "canvas" else f"{time_of(name):%Y-%m-%d %H:%M:%S} UTC"
            assert not points[folder] or at == when, (system, name)


def test_each_learner_has_a_row_for_every_exercise_with_the_agreed_fields(class_):
    rows = class_.graded.rows
    collected = {folder for own in class_.collected.values() for folder in own.values()}
    students = {*STUDENTS, *LINKS, *collected}
    assert set(rows) == {(student, CH1, name) for student in students for name in NAMES}
    fields = "student chapter exercise points max_points status mistakes message line isolation"
    for row in rows.values():
        assert set(row) >= {*fields.split(), "submitted", "late_seconds", "penalty"}
        assert 0 <= row["points"] <= row["max_points"] and row["isolation"] == "none"
        assert row["message"] and row["message"].isprintable()


def test_the_run_and_every_view_show_the_same_class(class_):
    out, points, said = class_.graded.out, points_of(class_.graded), class_.graded.said
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
    people = sum(map(len, class_.collected.values()))
    assert len(list((out / "export" / "pages").iterdir())) == people, "in people.csv"
    assert f"{points['renamed']:g} of 39 points count" in use("log", "renamed")
    page = (out / "report.html").read_text(encoding="utf-8")
    assert [name for name in points if f">{name}<" not in page] == []
    listed = page.partition("<h2>Identical")[2].partition("<h2>")[0]
    assert ">outside<" not in listed and ">stub<" not in listed and ">utf16<" in listed
