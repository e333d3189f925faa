"""Hand-ins in, hand-ins × exercises rows out: odd names, and notebooks that parsers choke on."""

import json
import os

import nbformat
import pytest

from ..commands import ROOT, run

CHAPTER = "ch1_simplified_attention"
SOLUTION = (ROOT / "solutions" / f"{CHAPTER}.py").read_text(encoding="utf-8")
EXERCISES, FULL = 6, 39
# Beside all definitions, each costs nothing.
CELLS = {
    "unhashable": "x = {[]: 1}",
    "unhashable_set": "{[]}",
    "lone_return": "x = 1\r y = 2",
    "long_sum": "x = " + "+".join(["1"] * 1200),
    "many_signs": "x = " + "-" * 5000 + "1",
    "brackets": "(" * 500,
    "spaces": " " * 40_000,
}
NO_NOTEBOOKS = {
    "deep": b"[" * 100_000,
    "numbers_for_cells": b'{"cells": [1, 2]}',
    "a_source_of_pairs": b'{"cells": [{"cell_type": "code", "source": {"a": 1}, "metadata": []}]}',
    "a_long_number": b'{"cells": [], "nbformat": ' + b"9" * 6000 + b"}",
}
NAMES = [
    "no\u00a0break",
    "join\u200ded",
    "soft\u00adhyphen",
    "wide\u3000",
    "new\nline",
    "lat\udce9",
]


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """The rows of a class of such hand-ins, by learner; an honest one comes first and last."""
    folder = tmp_path_factory.mktemp("odd")

    def hand_in(student: str, **files: bytes) -> None:
        place = folder / "in" / student / CHAPTER
        place.mkdir(parents=True)
        for kind, content in files.items():
            (place / f"{CHAPTER}.{kind}").write_bytes(content)

    for student in ("aaa", "zzz", *NAMES):
        hand_in(student, py=SOLUTION.encode())
    for student, cell in CELLS.items():
        cells = [nbformat.v4.new_code_cell(source) for source in (SOLUTION, cell)]
        notebook = json.dumps(nbformat.v4.new_notebook(cells=cells)).encode()
        hand_in(student, ipynb=notebook)
        hand_in(f"{student}_beside_a_script", ipynb=notebook, py=SOLUTION.encode())
    for student, content in NO_NOTEBOOKS.items():
        hand_in(student, ipynb=content)
        hand_in(f"{student}_beside_a_script", ipynb=content, py=SOLUTION.encode())
    options = ("--out", folder / "out", "--isolation", "none", "--jobs", "1")
    done = run("tensorgrade.cli", "grade", folder / "in", *options)
    assert done.returncode == 0, done.stdout + done.stderr
    found: dict[str, list[dict]] = {}
    for line in (folder / "out" / "results.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        found.setdefault(row["student"], []).append(row)
    return found


pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(300),
    pytest.mark.skipif(os.name == "nt", reason="Windows refuses such names"),
]


def test_everybody_is_there(rows):
    assert len(rows) == 2 + len(NAMES) + 2 * len(CELLS) + 2 * len(NO_NOTEBOOKS)
    assert {len(of_one) for of_one in rows.values()} == {EXERCISES}


def test_what_is_right_beside_it_gets_full_points(rows):
    points = {student: sum(row["points"] for row in of_one) for student, of_one in rows.items()}
    assert {s for s, p in points.items() if p != FULL} == set(NO_NOTEBOOKS)


def test_files_that_are_no_notebooks_get_a_reason(rows):
    for student in NO_NOTEBOOKS:
        assert {bool(row["message"]) for row in rows[student]} == {True}


def test_what_cannot_be_seen_in_a_name_is_written_out(rows):
    assert {r"no\xa0break", r"join\u200ded", r"soft\xadhyphen", r"lat\udce9"} <= set(rows)
