"""A problem with one submission costs only what it must, and affects no other learner."""

import json
import shutil
import sqlite3
import subprocess
from pathlib import Path

import pytest

from ..commands import ROOT, run

CHAPTER = "ch1_simplified_attention"
SOLUTION = (ROOT / "solutions" / f"{CHAPTER}.py").read_text(encoding="utf-8")
LOOP = SOLUTION.replace("    return inputs @ query", "    while True:\n        pass")
CRASH = SOLUTION.replace("    return inputs @ query", "    import os\n    os._exit(0)")

# student → (file name, content, status of attention_scores, of softmax, words of the message)
CLASS = {
    "right": (f"{CHAPTER}.py", SOLUTION, "passed", "passed", "Right"),
    "stub": (
        f"{CHAPTER}.py",
        (ROOT / "exercises" / f"{CHAPTER}.py").read_text("utf-8"),
        "not_attempted",
        "not_attempted",
        "Not written yet",
    ),
    "empty": (f"{CHAPTER}.py", "", "error", "error", "is empty"),
    "misnamed": ("homework.py", SOLUTION, "error", "error", "homework.py"),
    "latin1": (f"{CHAPTER}.py", SOLUTION.encode() + b"# caf\xe9\n", "passed", "passed", "Right"),
    "binary": (f"{CHAPTER}.py", b"\x89PNG\x00\xff", "error", "error", "not UTF-8"),
    "syntax": (
        f"{CHAPTER}.py",
        SOLUTION.replace("def attention_scores(", "def attention_scores(("),
        "error",
        "passed",
        "SyntaxError",
    ),
    "package": (f"{CHAPTER}.py", "import not_a_package\n" + SOLUTION, "passed", "passed", "Right"),
    "input": (f"{CHAPTER}.py", SOLUTION + "\nname = input('?')\n", "passed", "passed", "Right"),
    "exits": (f"{CHAPTER}.py", "import sys\nsys.exit(0)\n" + SOLUTION, "passed", "passed", "Right"),
    "dies": (f"{CHAPTER}.py", SOLUTION + "\nimport os\nos._exit(0)\n", "passed", "passed", "Right"),
    "loops": (f"{CHAPTER}.py", SOLUTION + "\nwhile True: pass\n", "passed", "passed", "Right"),
    "loops_inside": (f"{CHAPTER}.py", LOOP, "timeout", "passed", "Is there an infinite loop?"),
    "dies_inside": (f"{CHAPTER}.py", CRASH, "killed", "passed", "The process that ran it ended"),
    "renamed": (
        f"{CHAPTER}.py",
        SOLUTION.replace("def attention_scores(", "def attention_score("),
        "partial",
        "passed",
        "`attention_score` should be called `attention_scores`",
    ),
    "twice": (
        f"{CHAPTER}.py",
        SOLUTION + "\ndef attention_scores(query, inputs):\n    return inputs\n",
        "failed",
        "passed",
        "shape",
    ),
    "prints": (
        f"{CHAPTER}.py",
        SOLUTION + "\nprint('\\x1b[31m' + 'x' * 100000)\n",
        "passed",
        "passed",
        "Right",
    ),
}


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """The rows of the class above, by student and exercise, and where they stand."""
    folder = tmp_path_factory.mktemp("class")
    for student, (name, content, *_) in CLASS.items():
        path = folder / "in" / student / CHAPTER / name
        path.parent.mkdir(parents=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    (folder / "in" / "right" / "another_course").mkdir()
    done = grade(folder)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = read_rows(folder)
    return {(row["student"], row["exercise"]): row for row in rows}, folder, done.stdout


def grade(folder: Path, *more: str) -> subprocess.CompletedProcess:
    options = ("--out", folder / "out", "--isolation", "none", *more)
    return run("tensorgrade.cli", "grade", folder / "in", *options)


def read_rows(folder: Path) -> list[dict]:
    return [
        json.loads(line)
        for line in (folder / "out" / "results.jsonl").read_text("utf-8").splitlines()
    ]


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("student", CLASS)
def test_each_gets_what_is_right(graded, student):
    rows, _, _ = graded
    _, _, scores, softmax, words = CLASS[student]
    first = rows[student, "attention_scores"]
    assert (first["status"], rows[student, "softmax"]["status"]) == (scores, softmax), first
    assert words in first["message"], first
    assert "\x1b" not in first["message"]


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_row_for_every_exercise_with_the_agreed_fields(graded):
    rows, _, said = graded
    assert len(rows) == 6 * len(CLASS)
    fields = "student chapter exercise points max_points status mistakes message isolation".split()
    fields += ["line", "stage", "sure", "group", "message_id", "params"]
    fields += ["submitted", "late_seconds", "penalty"]
    for row in rows.values():
        assert (
            list(row) == fields
            and isinstance(row["points"], float)
            and 0 <= row["points"] <= row["max_points"]
        )
        assert row["isolation"] == "none"
    assert "another_course is not a learner's file for a chapter" in said


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_started_again_it_goes_on_where_it_stopped(graded):
    _, folder, _ = graded
    out = folder / "out"
    before = (out / "results.jsonl").read_bytes()
    assert (
        "graded before" in grade(folder).stdout and (out / "results.jsonl").read_bytes() == before
    )
    with sqlite3.connect(out / "results.sqlite") as connection:  # as after an interruption
        half = "SELECT number FROM attempts LIMIT (SELECT COUNT(*) / 2 FROM attempts)"
        connection.execute(f"DELETE FROM attempts WHERE number IN ({half})")
    (out / "results.jsonl").write_bytes(before[: len(before) * 2 // 3])
    again = shutil.copytree(folder, folder.parent / "again")
    assert grade(again, "--jobs", "1").returncode == 0
    assert (again / "out" / "results.jsonl").read_bytes() == before
