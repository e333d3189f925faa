"""The learner's kit: complete, usable on its own, and free of everything hidden, by content."""

import io
import json
import os
import re
import subprocess
import sys
import zipfile
from dataclasses import replace
from shutil import copytree

import numpy as np
import pytest
import torch

from tensorgrade.author.building.derive import script_for_learners
from tensorgrade.author.building.script import read_script
from tensorgrade.author.bundle import files_of_kit, write_kit, write_zip
from tensorgrade.course import CourseError
from tensorgrade.exchange.references import load_references

# Runs a module without the finder of an editable install, which would fill gaps in the kit.
ALONE = """
import runpy, sys
sys.meta_path = [finder for finder in sys.meta_path if "editable" not in repr(finder).lower()]
sys.argv = sys.argv[1:]
runpy.run_module(sys.argv[0], run_name="__main__")
"""


@pytest.fixture(scope="module")
def kit(request):
    """The kit's files by path; zips inside it are opened too."""
    from tensorgrade.project import find_project

    files = files_of_kit(find_project(request.path.parent))
    for name in [name for name in files if name.endswith((".zip", ".whl"))]:
        with zipfile.ZipFile(io.BytesIO(files[name])) as inner:
            files |= {f"{name}!{part}": inner.read(part) for part in inner.namelist()}
    return files


def solution_lines(project) -> set[str]:
    """Telling lines of the reference solutions, without their indentation.

    Return the lines of a find-the-bug exercise that differ from the given code.
    """
    found = set()
    for chapter in project.course.chapters:
        given = script_for_learners(project, chapter).exercises
        for name, cell in read_script(project.solution(chapter.name)).exercises.items():
            given_code = given[name].metadata.get("given", "")
            shown = {line.strip() for line in given_code.splitlines()}
            for region in re.findall(
                r"### BEGIN SOLUTION(.*?)### END SOLUTION", cell.source, re.DOTALL
            ):
                lines = {line.strip() for line in region.splitlines() if len(line.strip()) > 24}
                found |= lines - shown
    return found


def test_a_full_disk_leaves_the_earlier_zip_and_is_one_sentence(monkeypatch, tmp_path):
    write_zip(tmp_path / "kit.zip", b"earlier")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(CourseError, match=r"kit\.zip cannot be written: No space left on device"):
        write_zip(tmp_path / "kit.zip", b"new")
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"earlier"]


@pytest.mark.slow
def test_no_line_of_a_solution(project, kit):
    lines = solution_lines(project)
    assert len(lines) > 40
    for name, content in kit.items():
        text = content.decode("utf-8", "ignore")
        assert not {line for line in lines if line in text}, name


@pytest.mark.slow
def test_no_line_of_a_hidden_test_or_a_mistake(project, kit):
    # The course's own checks go to learners unchanged; the rest of the graders does not.
    hidden = [path for path in project.graders.rglob("*.py") if path.name != "checks.py"]
    assert len(hidden) > 25
    public = "".join(path.read_text("utf-8") for path in project.exercises.glob("test_*.py"))
    lines = {line.strip() for path in hidden for line in path.read_text("utf-8").splitlines()}
    shared_words = {m.message for m in project.mistakes}
    lines = {
        line
        for line in lines
        if len(line) > 40
        and line not in public
        and not any(line.strip('"') in m for m in shared_words)
    }
    code = {
        line
        for line in lines
        if any(c in line for c in "=@(") and not line.startswith(("from tensorgrade", '"'))
    }
    assert len(code) > 100
    for name, content in kit.items():
        text = content.decode("utf-8", "ignore")
        assert not {line for line in code if line in text}, name


@pytest.mark.slow
def test_what_programs_leave_behind_is_not_in_it(project, tmp_path):
    for folder in ("exercises", "kit"):
        copytree(project.root / folder, tmp_path / folder)
    for name in ("course_config.py", "graders", "release", "solutions"):
        (tmp_path / name).symlink_to(project.root / name)
    project = replace(project, root=tmp_path)
    before = set(files_of_kit(project))
    for name in (
        "exercises/.ipynb_checkpoints/ch1-checkpoint.ipynb",
        "exercises/.DS_Store",
        "kit/.DS_Store",
        "kit/__pycache__/setup.pyc",
        "kit/.devcontainer/.ipynb_checkpoints/x.ipynb",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    assert set(files_of_kit(project)) == before
    assert ".devcontainer/devcontainer.json" in before


def is_code(text: str) -> bool:
    """Long enough to be telling, and more than the name of a shape."""
    return len(text) > 30 and any(c in text for c in ".=@")


@pytest.mark.slow
def test_no_code_of_a_mistake(project, kit):
    made = {
        new
        for m in project.mistakes
        for edits in m.edits.values()
        for _, new in edits
        if is_code(new)
    }
    assert len(made) > 50
    for name, content in kit.items():
        text = content.decode("utf-8", "ignore")
        assert not {new for new in made if new in text}, name


@pytest.mark.slow
def test_no_hidden_reference(project, kit):
    needles = []
    for chapter in project.course.chapters:
        references = load_references(project.graders / "references" / f"{chapter.name}.safetensors")
        for case, expected in references.entries:
            if not case.tensors:  # nothing is drawn: what comes out is the formula's, for anybody
                continue
            for tensor in [*case.tensors.values(), *expected.tensors.values()]:
                if (
                    tensor.is_floating_point()
                    and tensor.numel() >= 3
                    and len(set(tensor.flatten()[:3].tolist())) == 3
                ):
                    first = tensor.flatten()[: max(3, 8 // tensor.itemsize)].contiguous()
                    needles.append(first.view(torch.uint8).numpy().tobytes())
    assert len(needles) > 200
    everything = b"\0".join(kit.values())
    assert not found_in(everything, needles)
    for before in range(8):  # wherever one stood, it would be seen
        assert needles[-1] in found_in(b"-" * before + needles[-1], needles)


def found_in(text: bytes, needles: list[bytes]) -> list[bytes]:
    """Return the needles in a text; if the first eight bytes of one match, compare all of it."""
    assert min(map(len, needles)) >= 8
    by_start: dict[int, list[bytes]] = {}
    for needle in needles:
        by_start.setdefault(int.from_bytes(needle[:8], "little"), []).append(needle)
    starts, found = np.array(sorted(by_start), "<u8"), []
    for shift in range(8):
        numbers = np.frombuffer(text, "<u8", (len(text) - shift) // 8, shift)
        nearest = starts[np.searchsorted(starts, numbers).clip(max=len(starts) - 1)]
        for place in np.flatnonzero(nearest == numbers):
            at = shift + 8 * int(place)
            alike = by_start[int(numbers[place])]
            found += [needle for needle in alike if text.startswith(needle, at)]
    return found


def test_no_course_seed(project, kit):
    seed = str(project.course.seed).encode()
    assert len(seed) >= 6 and not [name for name, content in kit.items() if seed in content]
    assert json.loads(kit["exercises/course.json"])["seed"] is None


def test_no_weights_that_would_earn_points(project, kit):
    files = [file for chapter in project.course.chapters for file in project.beside(chapter.name)]
    assert files and all(len(file.content) > 100_000 for file in files)
    pieces = [
        file.content[at : at + 256] for file in files for at in range(50_000, 400_000, 50_000)
    ]
    everything = b"".join(kit.values())
    assert not [piece for piece in pieces if piece in everything]


def test_what_learners_need_is_there(project, kit):
    for chapter in project.course.chapters:
        assert {f"exercises/{chapter.name}.py", f"exercises/test_{chapter.name}.py"} <= set(kit)
    assert {"README.md", "AGENTS.md", "pyproject.toml", "exercises/course.json"} <= set(kit)
    assert not [name for name in kit if name.startswith(("graders", "solutions", "source"))]


def test_its_requirements_name_its_wheel(kit):
    (wheel,) = [name for name in kit if name.endswith(".whl")]
    more = "einops\njaxtyping\n"  # what the course lets learners import
    assert kit["requirements.txt"].decode() == f"./{wheel}[learner]\n{more}"
    assert kit["requirements-notebooks.txt"].decode() == f"./{wheel}[notebooks]\n{more}"
    for name in more.split():
        assert f"\n{name}==" in kit["constraints.txt"].decode()


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_it_works_on_its_own(project, tmp_path):
    write_kit(project, tmp_path / "kit.zip")
    with zipfile.ZipFile(tmp_path / "kit.zip") as archive:
        archive.extractall(tmp_path)
    folder = tmp_path / "kit"
    (wheel,) = folder.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(tmp_path / "installed")
    installed = str(tmp_path / "installed")
    environment = os.environ | {"PYTHONPATH": installed, "PYTHONDONTWRITEBYTECODE": "1"}

    def run(*command):
        command = [sys.executable, "-c", ALONE, *command]
        return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)

    fresh = run("pytest", "exercises")
    assert fresh.returncode == 1 and "to do" in fresh.stdout and "Traceback" not in fresh.stdout
    for chapter in project.course.chapters:
        source = project.solution(chapter.name).read_text("utf-8")
        (folder / "exercises" / f"{chapter.name}.py").write_text(source, "utf-8")
        for file in project.beside(chapter.name):
            (folder / "exercises" / file.name).write_bytes(file.content)
    solved = run("pytest", "exercises")
    assert solved.returncode == 0, solved.stdout
    assert "hint 1" in run("tensorgrade.cli", "hint", "softmax").stdout
    assert "there is no course_config.py" in run("tensorgrade.cli", "build").stderr
    listed = run("tensorgrade.cli", "--help").stdout
    assert "watch" in listed and "For instructors" not in listed and "For authors" not in listed
