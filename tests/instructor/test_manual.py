"""The manual of a term is true: its commands run, as they are typed, in its order."""

import os
import re
import shlex
from pathlib import Path

import pytest

from ..commands import ROOT, run
from . import downloads

PAGE = (ROOT / "docs" / "how-to" / "instructor.md").read_text(encoding="utf-8")
TERM = PAGE[PAGE.index("\n## A term\n") :]
COMMANDS = re.findall(r"^    tensorgrade (.+)$", TERM, re.MULTILINE)
CH1 = "ch1_simplified_attention"
SLOW = ("build",)  # minutes; `make check` runs it
LINKED = ("graders", "exercises", "solutions", "release", "kit", "pyproject.toml")


@pytest.fixture(scope="module")
def said(tmp_path_factory) -> dict[str, str]:
    """What each command said, in a course's folder with two downloads in it."""
    folder = tmp_path_factory.mktemp("course")
    for name in (*LINKED, "course_config.py", "nbgrader_config.py"):
        (folder / name).symlink_to(ROOT / name)
    solution = (ROOT / "solutions" / f"{CH1}.py").read_bytes()
    files = {"ada": {f"{CH1}.py": solution}, "bao": {f"{CH1} (1).py": b"x = 1"}}
    downloads.moodle(folder / "moodle.zip", files, {})
    downloads.canvas(folder / "canvas.zip", files, set())
    return {command: typed(command, folder) for command in COMMANDS if command not in SLOW}


def typed(command: str, folder: Path) -> str:
    """What one command says. The machine of a test may lock nothing in."""
    words = shlex.split(command.replace("STUDENT", "ada@uni.edu"))
    if words[0] in ("grade", "explain"):
        words += ["--isolation", "none"]
    done = run("tensorgrade.cli", *words, cwd=folder, PYTHONPATH=str(ROOT), PATH=os.environ["PATH"])
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_every_command_of_the_page_runs(said):
    assert len(said) >= 15 and {c.split()[0] for c in said} >= {
        "doctor", "bundle", "collect", "grade", "explain", "report", "export", "channel",
    }  # fmt: skip
    grade = next(text for command, text in said.items() if command.startswith("grade"))
    assert "bao@uni.edu: " not in grade and "12 rows in out" in grade
    explain = next(text for command, text in said.items() if command.startswith("explain"))
    assert explain.startswith("softmax: 10 of 10 points") and "What you wrote:" in explain
    preview, collect = (text for command, text in said.items() if command.startswith("collect"))
    assert "would be written" in preview and "2 files written" in collect


def test_the_page_has_a_row_for_every_layout_and_a_command_for_every_channel():
    from tensorgrade.instructor.channels import PARCELS
    from tensorgrade.instructor.exporting import WRITERS
    from tensorgrade.instructor.layouts import LAYOUTS

    assert all(f"| `{layout}` |" in TERM for layout in LAYOUTS)
    assert all(f"channel {system} " in TERM for system in PARCELS)
    assert all(f"--format {form}" in TERM for _, form in WRITERS if form != "plain")
