"""Forty learners, and everything that goes wrong with files, in four layouts: the same points.

`pytest -s` prints the table of expected and actual results.
"""

import io
import json
import os
import shutil
import zipfile
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import nbformat
import pytest

from tensorgrade.attempts.setup import Setup
from tensorgrade.course_sources import load_course
from tensorgrade.instructor import run as running
from tensorgrade.instructor.collecting import plan
from tensorgrade.instructor.grader import grade_with
from tensorgrade.instructor.report.page import write_report
from tensorgrade.instructor.roster import Roster, read_roster
from tensorgrade.instructor.write_submissions import write
from tensorgrade.lateness import Lateness, read_time

from ..commands import ROOT
from . import downloads
from .runs import Silent

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]
CH1 = "ch1_simplified_attention"
COURSE = load_course(ROOT / "graders")
PY, NOTEBOOK = f"{CH1}.py", f"{CH1}.ipynb"
WHOLE = (ROOT / "solutions" / PY).read_text(encoding="utf-8")
STUB = (ROOT / "exercises" / PY).read_text(encoding="utf-8")
MOST = COURSE.chapter(CH1).points
TWO = """import torch
# für 15 Punkte
def attention_scores(query, inputs):
    return inputs @ query
def softmax(x, dim=-1):
    e = torch.exp(x - x.amax(dim, keepdim=True))
    return e / e.sum(dim, keepdim=True)
"""
IN_TIME, LATE = "2027-01-10 12:00:00 UTC", "2027-01-17 12:00:00 UTC"
RULE = Lateness({CH1: "2027-01-15 12:00 UTC"}, share_a_day=0.1)


def notebook(*sources: str) -> bytes:
    """A notebook with these cells of code."""
    cells = [nbformat.v4.new_code_cell(source) for source in sources]
    return json.dumps(nbformat.v4.new_notebook(cells=cells)).encode()


def zipped(**files: str) -> bytes:
    """A zip with these files, `_` standing for a slash."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, text in files.items():
            archive.writestr(f"{name.replace('_', '/')}/{PY}", text)
    return stream.getvalue()


# The submitted files, and the points that they are worth.
KINDS: dict[str, tuple[dict[str, bytes], float]] = {
    "all right": ({PY: WHOLE.encode()}, MOST),
    "two of five": ({PY: TWO.encode()}, 15),
    "still the stub": ({PY: STUB.encode()}, 0),
    "the second download": ({f"{CH1} (1).py": TWO.encode()}, 15),
    "a copy": ({f"{CH1} - Copy.py": WHOLE.encode()}, MOST),
    "saved as text": ({f"{CH1}.txt": TWO.encode()}, 15),
    "text behind it": ({f"{PY}.txt": WHOLE.encode()}, MOST),
    "capitals": ({f"{CH1}.PY": TWO.encode()}, 15),
    "a folder too deep": ({f"work/{PY}": TWO.encode()}, 15),
    "a zip": ({"homework.zip": zipped(homework=WHOLE)}, MOST),
    "a zip with folders": ({"homework.zip": zipped(a_b=TWO)}, 15),
    "a broken zip": ({"homework.zip": zipped(a=TWO)[:200]}, 0),
    "a notebook": ({NOTEBOOK: notebook(TWO)}, 15),
    "a notebook that will not parse": ({NOTEBOOK: notebook("x = {[]: 1}", TWO, "x = 1\r y")}, 15),
    "a notebook saved as a script": ({PY: notebook(TWO)}, 15),
    "no notebook": ({NOTEBOOK: b"[" * 10_000}, 0),
    "UTF-16": ({PY: TWO.encode("utf-16")}, 15),
    "Latin-1": ({PY: f"# coding: latin-1\n{TWO}".encode("latin-1")}, 15),
    "Windows' ends of lines": ({PY: ("\ufeff" + TWO).replace("\n", "\r\n").encode()}, 15),
    "an empty file": ({PY: b""}, 0),
    "no text": ({PY: bytes(range(256)) * 10}, 0),
    "does not parse": ({PY: b"def attention_scores(query, inputs)\n    return 1\n"}, 0),
    "one broken, the rest right": ({PY: f"{TWO}\nraise ValueError\n".encode()}, 15),
    "another name": ({"solution.py": WHOLE.encode()}, MOST),
    "something else": ({"notes.txt": b"hello"}, 0),
    "a link": ({}, 0),
    "nothing": ({}, 0),
    "late": ({PY: WHOLE.encode()}, MOST),
    "late and nearly named": ({f"{CH1} (2).py": TWO.encode()}, 15),
}
# Forty: each kind once, then some again; the same bytes as others is no trouble either.
LEARNERS = {f"l{n:02d}": list(KINDS)[n % len(KINDS)] for n in range(40)}
WHEN = {login: LATE if "late" in kind else IN_TIME for login, kind in LEARNERS.items()}
EXPECTED = {login: KINDS[kind][1] for login, kind in LEARNERS.items()}
FILES = {login: KINDS[kind][0] for login, kind in LEARNERS.items()}


def folders(folder: Path) -> tuple[Path, dict[str, str]]:
    """Write `SUBMITTED/<student>/<chapter>/`, each file with its own time."""
    submitted = folder / "in"
    for login, files in FILES.items():
        place = submitted / login / CH1
        place.mkdir(parents=True)
        if LEARNERS[login] == "a link":
            (place / PY).symlink_to(ROOT / "solutions" / PY)
        for name, content in files.items():
            # There is no record of the chapter of a file under another name.
            path = place / (PY if name == "solution.py" else name)
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(content)
            os.utime(path, (read_time(WHEN[login]).timestamp(),) * 2)
    return submitted, {login: login for login in FILES}


def by_moodle(folder: Path) -> tuple[Path, dict[str, str]]:
    """The zip and the worksheet, which says when."""
    said = {login: worksheets_time(at) for login, at in WHEN.items() if FILES[login]}
    roster = downloads.moodle(folder / "m.zip", FILES, said)
    names = {login: f"{login}@uni.edu" for login in FILES}
    return collected("moodle", folder / "m.zip", folder / "in", read_roster(roster)), names


def worksheets_time(at: str) -> str:
    """A time as Moodle's worksheet writes it."""
    return f"{read_time(at):%A, %d %B %Y, %I:%M %p}"


def by_canvas(folder: Path) -> tuple[Path, dict[str, str]]:
    """The zip, in which there are no folders, and the gradebook; neither says when."""
    flat = {login: {Path(n).name: c for n, c in own.items()} for login, own in FILES.items()}
    late = {login for login, at in WHEN.items() if at == LATE}
    roster = downloads.canvas(folder / "c.zip", flat, late)
    names = {login: f"{login}@uni.edu" for login in FILES}
    return collected("canvas", folder / "c.zip", folder / "in", read_roster(roster)), names


def by_gradescope(folder: Path) -> tuple[Path, dict[str, str]]:
    """Write the export with its metadata; learners without a submission are on the roster."""
    when = {login: at.replace("UTC", "+00:00") for login, at in WHEN.items()}
    source = downloads.gradescope(folder / "g", FILES, when)
    names = {login: str(number) for number, login in enumerate(FILES, 77)}
    (folder / "roster.csv").write_text("sid\n" + "\n".join(names.values()) + "\n")
    roster = read_roster(folder / "roster.csv")
    return collected("gradescope", source, folder / "in", roster), names


def collected(layout: str, source: Path, submitted: Path, roster: Roster) -> Path:
    """What `tensorgrade collect --chapter` makes of a download."""
    found = plan(layout, source, COURSE, roster, chapter=CH1, zone="UTC")
    assert write(found, submitted) == []
    return submitted


LAYOUTS: dict[str, Callable[[Path], tuple[Path, dict[str, str]]]] = {
    "folders": folders,
    "moodle": by_moodle,
    "canvas": by_canvas,
    "gradescope": by_gradescope,
}


class Here:
    """Grades in this very process, each content once for all four: what is tried are layouts."""

    lost, ahead = (), 1

    def __init__(self, grader):
        self.grader, self.known = grader, {}

    def check_in(self) -> dict[str, int]:
        return {"none": 1}

    def submit(self, submitted_files) -> Future:
        done: Future = Future()
        key = (
            submitted_files.filename,
            submitted_files.content,
            submitted_files.script,
            submitted_files.reason,
            submitted_files.missing,
        )
        if key not in self.known:
            self.known[key] = grade_with(self.grader, submitted_files)
        done.set_result([replace(v, student=submitted_files.student) for v in self.known[key]])
        return done


@pytest.fixture(scope="module")
def here(grader):
    return Here(grader)


@pytest.fixture
def grade(here, monkeypatch):
    """Grades a folder of hand-ins; returns the rows."""
    monkeypatch.setattr(running, "workers_for", lambda *_: nullcontext(here))
    course = load_course(ROOT / "graders")
    monkeypatch.setattr(running, "load_course", lambda folder: course)

    def graded(submitted: Path, out: Path, names=(), lateness=None) -> list[dict]:
        object.__setattr__(course, "lateness", lateness or Lateness())
        setup = running.Run(Setup(ROOT / "graders", "none"), roster=tuple(names))
        return running.grade_class(submitted, out, setup, Silent())

    return graded


def points(rows: list[dict], names: dict[str, str]) -> dict[str, float]:
    """Each learner has one row for each exercise."""
    assert len(rows) == len(names) * len(COURSE.chapter(CH1).exercises)
    own = {login: [r for r in rows if r["student"] == name] for login, name in names.items()}
    return {login: round(sum(r["points"] for r in of), 6) for login, of in own.items()}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_forty_have_the_same_points_in_every_layout_and_nothing_gets_lost(grade, tmp_path, layout):
    submitted, names = LAYOUTS[layout](tmp_path)
    out, everybody = tmp_path / "out", names.values()
    got = points(grade(submitted, out, everybody), names)
    for login, kind in LEARNERS.items():
        print(f"{layout:12}{login:5}{kind:32}{EXPECTED[login]:5g}{got[login]:6g}")
    assert got == EXPECTED
    assert points(grade(submitted, out, everybody), names) == EXPECTED, "the same again"
    few = tmp_path / "few"
    for name in list(everybody)[:3]:
        shutil.copytree(submitted / name, few / name)
    assert points(grade(few, out), names) == EXPECTED, "three alone"
    better = submitted / names["l01"] / CH1 / PY
    better.write_text(WHOLE, encoding="utf-8")
    now = EXPECTED | {"l01": MOST}
    assert points(grade(submitted, out, everybody), names) == now, "another file"
    page = write_report(out, COURSE).read_text(encoding="utf-8")
    assert [name for name in everybody if f">{name}<" not in page] == []


def test_late_work_loses_the_same_wherever_the_system_says_when(grade, tmp_path):
    """Canvas' download does not say when; there nothing is late, as the manual says."""
    less = {
        login: round(p * (0.8 if "late" in LEARNERS[login] else 1), 6)
        for login, p in EXPECTED.items()
    }
    for layout, make in LAYOUTS.items():
        (tmp_path / layout).mkdir()
        submitted, names = make(tmp_path / layout)
        got = points(grade(submitted, tmp_path / layout / "out", names.values(), RULE), names)
        assert got == (EXPECTED if layout == "canvas" else less), layout
