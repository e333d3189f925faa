"""A class in which everything goes wrong that can go wrong with files, and what it gets.

A learner: (files in the chapter's folder, points, the first exercise's status, a word of its
message). A file's content may be a path, for a link to it, or None, for a pipe.
"""

import io
import json
import os
import zipfile
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import nbformat

from ..support import ROOT, Graded, cli, grade
from . import downloads
from .runs import CH1, MOST

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
Files = dict[str, bytes | Path | None]


def changed(new: str) -> bytes:
    """Return the solution with another body of the first exercise."""
    assert FIRST in WHOLE
    return WHOLE.replace(FIRST, new).encode()


def notebook(*sources: str) -> bytes:
    """Return a notebook with these cells of code."""
    cells = [nbformat.v4.new_code_cell(source) for source in sources]
    return json.dumps(nbformat.v4.new_notebook(cells=cells)).encode()


def zipped(*folders: str, text: str = TWO) -> bytes:
    """Return a zip with the chapter's file below these folders."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("/".join([*folders, PY]), text)
    return stream.getvalue()


# What course systems deliver, too.
FILES: dict[str, tuple[Files, float, str, str]] = {
    "right": ({PY: WHOLE.encode()}, MOST, "passed", "Right"),
    "two": ({PY: TWO.encode()}, 15, "passed", "Right"),
    "stub": ({PY: STUB.encode()}, 0, "not_attempted", "Not written yet"),
    "second_download": ({f"{CH1} (1).py": TWO.encode()}, 15, "passed", "Right"),
    "copy": ({f"{CH1} - Copy.py": WHOLE.encode()}, MOST, "passed", "Right"),
    "saved_as_text": ({f"{CH1}.txt": TWO.encode()}, 15, "passed", "Right"),
    "text_after_it": ({f"{PY}.txt": WHOLE.encode()}, MOST, "passed", "Right"),
    "capitals": ({f"{CH1}.PY": TWO.encode()}, 15, "passed", "Right"),
    "too_deep": ({f"work/{PY}": TWO.encode()}, 15, "passed", "Right"),
    "zip": ({"homework.zip": zipped("homework", text=WHOLE)}, MOST, "passed", "Right"),
    "zip_with_folders": ({"homework.zip": zipped("a", "b")}, 15, "passed", "Right"),
    "broken_zip": ({"homework.zip": zipped("a")[:200]}, 0, "error", "zip"),
    "notebook": ({NOTEBOOK: notebook(TWO)}, 15, "passed", "Right"),
    "notebook_in_pieces": (
        {NOTEBOOK: notebook("x = {[]: 1}", TWO, "x = 1\r y")}, 15, "passed", "Right",
    ),
    "notebook_as_script": ({PY: notebook(TWO)}, 15, "passed", "Right"),
    "no_notebook": ({NOTEBOOK: b"[" * 10_000}, 0, "error", "notebook"),
    "utf16": ({PY: TWO.encode("utf-16")}, 15, "passed", "Right"),
    "latin1": ({PY: f"# coding: latin-1\n{TWO}".encode("latin-1")}, 15, "passed", "Right"),
    "windows": ({PY: ("\ufeff" + TWO).replace("\n", "\r\n").encode()}, 15, "passed", "Right"),
    "empty": ({PY: b""}, 0, "error", "is empty"),
    "bytes": ({PY: bytes(range(256)) * 10}, 0, "error", "not UTF-8"),
    "no_colon": ({PY: b"def attention_scores(query, inputs)\n    return 1\n"}, 0, "error", "':'"),
    "raises_at_the_end": ({PY: f"{TWO}\nraise ValueError\n".encode()}, 15, "passed", "Right"),
    "something_else": ({"notes.txt": b"hello"}, 0, "error", "notes.txt"),
}  # fmt: skip
# What is only in folders: code that misbehaves, files that are none, and hostile names.
HERE: dict[str, tuple[Files, float, str, str]] = {
    "misnamed": ({"homework.py": WHOLE.encode()}, 0, "error", "homework.py"),
    "nothing": ({}, 0, "not_attempted", ""),
    "syntax": (
        {PY: WHOLE.replace("def attention_scores(", "def attention_scores((").encode()},
        MOST - 5, "error", "SyntaxError",
    ),
    "package": ({PY: b"import not_a_package\n" + WHOLE.encode()}, MOST, "passed", "Right"),
    "input": ({PY: WHOLE.encode() + b"\nname = input('?')\n"}, MOST, "passed", "Right"),
    "exits": ({PY: b"import sys\nsys.exit(0)\n" + WHOLE.encode()}, MOST, "passed", "Right"),
    "dies": ({PY: WHOLE.encode() + b"\nimport os\nos._exit(0)\n"}, MOST, "passed", "Right"),
    "loops": ({PY: WHOLE.encode() + b"\nwhile True: pass\n"}, MOST, "passed", "Right"),
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
    "prints": ({PY: WHOLE.encode() + b"\nprint('\\x1b[31m' + 'x' * 100000)\n"}, MOST, "passed", ""),
    "long_line": ({PY: b"x = " + b"(" * 200_000}, 0, "not_attempted", "defines no"),
    "zero_bytes": ({PY: b"import torch\n\0" + TWO.encode()}, 15, "passed", ""),
    "huge": ({PY: b"#" * (20 << 20)}, 0, "error", "bytes"),
    "odd_name": ({f"{CODES}<script>.py": b"x = 1"}, 0, "error", "<script>"),
    "link": ({PY: ROOT / "solutions" / PY}, 0, "error", "is a link"),
    "pipe": ({PY: None}, 0, "error", ""),
    f"{CODES}student": ({PY: b"x = 1"}, 0, "not_attempted", ""),
    "no\u00a0break": ({PY: WHOLE.encode()}, MOST, "passed", "Right"),
    "join\u200ded": ({PY: WHOLE.encode()}, MOST, "passed", "Right"),
    "soft\u00adhyphen": ({PY: WHOLE.encode()}, MOST, "passed", "Right"),
    "wide\u3000": ({PY: WHOLE.encode()}, MOST, "passed", "Right"),
    "lat\udce9": ({PY: WHOLE.encode()}, MOST, "passed", "Right"),
}  # fmt: skip
# Cells that cost nothing of what is in other cells or in a script next to the notebook.
CELLS = {
    "unhashable": "x = {[]: 1}",
    "lone_return": "x = 1\r y = 2",
    "long_sum": "x = " + "+".join(["1"] * 1200),
    "many_signs": "x = " + "-" * 5000 + "1",
    "brackets": "(" * 500,
    "spaces": " " * 40_000,
}
NO_NOTEBOOKS = {
    "deep": b"[" * 100_000,
    "numbers_for_cells": b'{"cells": [1, 2]}',
    "pairs_for_source": b'{"cells": [{"cell_type": "code", "source": {"a": 1}, "metadata": []}]}',
    "long_number": b'{"cells": [], "nbformat": ' + b"9" * 6000 + b"}",
}
for name, cell in CELLS.items():
    both = notebook(WHOLE, cell)
    HERE[name] = ({NOTEBOOK: both}, MOST, "passed", "Right")
    HERE[f"{name}_and_script"] = ({NOTEBOOK: both, PY: WHOLE.encode()}, MOST, "passed", "Right")
for name, content in NO_NOTEBOOKS.items():
    is_json = name in ("pairs_for_source", "long_number")
    found = ("not_attempted", "defines no") if is_json else ("error", "notebook")
    HERE[name] = ({NOTEBOOK: content}, 0, *found)
    HERE[f"{name}_and_script"] = ({NOTEBOOK: content, PY: WHOLE.encode()}, MOST, "passed", "Right")
CLASS = FILES | HERE
EARLY, LATE = (datetime(2025, 1, day, 12, tzinfo=UTC) for day in (10, 17))
# Names as results show them.
SHOWN = {
    f"{CODES}student": r"\x1b[31m\nstudent",
    "no\u00a0break": r"no\xa0break",
    "join\u200ded": r"join\u200ded",
    "soft\u00adhyphen": r"soft\xadhyphen",
    "wide\u3000": r"wide\u3000",
    "lat\udce9": r"lat\udce9",
}
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
        done = cli("collect", source, submitted, *told)
        assert done.returncode == 1 and "damaged zip" in done.stdout, done.stdout + done.stderr
    emails = {system: {n: f"{login(system[0], n)}@uni.edu" for n in files} for system in sources}
    return emails | {"gradescope": numbers}


@dataclass(frozen=True)
class TheClass:
    """The class after one run. collected: learners' folders by system and name."""

    graded: Graded
    submitted: Path
    collected: dict[str, dict[str, str]]


def grade_the_class(folder: Path) -> TheClass:
    """Write the class, collect it from three systems too, and grade all of it at once.

    Files with the same content are graded once, so that the systems cost nothing.
    """
    submitted = folder / "in"
    submitted.mkdir()
    write_folders(submitted)
    collected = collect(folder, submitted)
    graded = grade(submitted, folder / "out", "--isolation", "none")
    return TheClass(graded, submitted, collected)
