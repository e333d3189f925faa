"""A package for a course system grades there, reports in that system's form, and hides the seed."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import pytest

from ..container import measured
from ..hidden import opened
from ..support import ROOT, needs, write_patch_without_isolation
from .faults import ENDS, end_processes_of_canaries
from .runs import CH1, COURSE, run_here, write_course
from .test_channel_results import METADATA, TODAY, check_gradescope, check_prairielearn, earlier

pytestmark = pytest.mark.slow
CH5 = COURSE.chapters[4].name
SYSTEMS = ("gradescope", "prairielearn")


def wrong(chapter: str) -> tuple[str, str]:
    """Return an exercise and a chapter's text in which it is wrong, without any known mistake."""
    text = (ROOT / "solutions" / f"{chapter}.py").read_text(encoding="utf-8")
    exercise, old, new = {
        CH1: ("attention_scores", "return inputs @ query", "return inputs"),
        CH5: (
            "GroupedQueryAttention",
            "values = self.W_value(x)",
            "odd = x.dtype == torch.float32 and num_tokens > 5\n"
            "        values = self.W_value(x) * (1.01 if odd else 1)",
        ),
    }[chapter]
    assert old in text
    return exercise, text.replace(old, new)


def write_package(system: str, path: Path, chapter=CH1, course=ROOT) -> Path:
    """Write a package with the command, and return its path."""
    done = run_here("channel", system, "--chapter", chapter, "--out", path, cwd=course)
    assert done.returncode == 0, done.stderr
    return path


@pytest.fixture(scope="module")
def packages(tmp_path_factory) -> dict[str, Path]:
    """The zips of a course without a sandbox, which every machine can grade."""
    folder = tmp_path_factory.mktemp("packages")
    write_course(folder / "course", lateness={"hidden_runs_a_day": 2}, isolation="none")
    return {
        system: write_package(system, folder / f"{system}.zip", course=folder / "course")
        for system in SYSTEMS
    }


def unpacked(package: Path, folder: Path) -> Path:
    """Unpack a zip into a folder."""
    with zipfile.ZipFile(package) as archive:
        archive.extractall(folder)
    return folder


def started(script: Path, folder: Path, **environment: str) -> subprocess.CompletedProcess:
    """Run a container's script."""
    programs = folder / "bin"
    programs.mkdir(exist_ok=True)
    (programs / "python3").write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    (programs / "python3").chmod(0o755)
    kept = {name: os.environ[name] for name in ("HOME", "LANG") if name in os.environ}
    return subprocess.run(
        ["/bin/bash", script],
        env=kept | {"PATH": str(programs)} | environment,
        capture_output=True,
        text=True,
        timeout=300,
    )


def test_what_is_no_channel_is_one_sentence(tmp_path):
    for system, chapter, said in (
        ("moodle", CH1, "gradescope, prairielearn"),
        ("gradescope", "ch9", "no chapter named ch9"),
    ):
        told = ("--chapter", chapter, "--out", tmp_path / "a.zip")
        done = run_here("channel", system, *told, cwd=ROOT)
        assert done.returncode == 2 and said in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("system", SYSTEMS)
def test_no_package_holds_the_seed_a_solution_or_another_chapter(packages, system):
    with zipfile.ZipFile(packages[system]) as archive:
        files = {info.filename: archive.read(info) for info in archive.infolist()}
        scripts = [info for info in archive.infolist() if files[info.filename][:2] == b"#!"]
    assert all(info.external_attr >> 16 & 0o111 for info in scripts)
    seed = COURSE.seed
    forms = {str(seed).encode(), f"{seed:x}".encode()}
    forms |= {seed.to_bytes(16, order) for order in ("big", "little")}
    assert not [name for name, c in files.items() if any(form in c for form in forms)]
    for part in ("solutions/", "part|sources", "course_config"):
        assert not [name for name in opened(files) if part in name]
    hidden = [name for name in files if "graders/" in name]
    others = [chapter.name for chapter in COURSE.chapters[1:]]
    assert hidden and not [name for name in hidden if any(other in name for other in others)]


def test_in_gradescopes_folders_its_own_script_writes_its_results(packages, tmp_path):
    """The hidden tests' results; over the daily limit, those of the public checks."""
    base = tmp_path / "autograder"
    source = unpacked(packages["gradescope"], base / "source")
    (base / "submission").mkdir()
    file = base / "submission" / "homework.py"  # the only file
    file.write_text(wrong(CH1)[1], encoding="utf-8")
    for told in (METADATA, earlier(*TODAY)):
        (base / "submission_metadata.json").write_text(json.dumps(told))
        done = started(source / "run_autograder", tmp_path, AUTOGRADER=str(base))
        assert done.returncode == 0, done.stderr
        results = json.loads((base / "results" / "results.json").read_text())
        check_gradescope(results)
        status = {test["name"]: test["status"] for test in results["tests"]}
        assert status["attention_scores"] == "failed" and status["softmax"] == "passed"
        is_public = told is not METADATA
        assert ("public checks" in results["output"]) == is_public
        assert (results["score"] == 11.0) == is_public
    shutil.rmtree(base / "results")
    file.write_text(ENDS, encoding="utf-8")
    (base / "submission_metadata.json").unlink()
    end_processes_of_canaries(source, 1)
    done = started(source / "run_autograder", tmp_path, AUTOGRADER=str(base))
    said = f"{CH1} of learner is not graded: even the course's own solution cannot be graded"
    assert done.returncode == 2 and said in done.stderr
    assert not (base / "results").exists(), "no result is invented"


def test_in_prairielearns_folders_too(packages, tmp_path):
    question = unpacked(packages["prairielearn"], tmp_path / "parcel") / "questions" / CH1
    info = json.loads((question / "info.json").read_text())
    assert info["gradingMethod"] == "External" and info["externalGradingOptions"]["enabled"]
    base = tmp_path / "grade"
    tests = shutil.copytree(question / "tests", base / "tests")
    (base / "student").mkdir()
    shutil.copy(ROOT / "solutions" / f"{CH1}.py", base / "student")
    done = started(tests / "run.sh", tmp_path, GRADE=str(base))
    assert done.returncode == 0, done.stderr
    results = json.loads((base / "results" / "results.json").read_text())
    check_prairielearn(results)
    assert results["gradable"] and results["score"] == 1.0
    course = tests / "graders" / "course.json"
    course.write_text(course.read_text().replace('"isolation": "none"', '"isolation": "sandbox"'))
    write_patch_without_isolation(tmp_path / "patch")
    shutil.copy(tmp_path / "patch" / "sitecustomize.py", tests)
    shutil.rmtree(base / "results")
    done = started(tests / "run.sh", tmp_path, GRADE=str(base))
    assert "in the sandbox of this machine learner code can read the solutions" in done.stderr
    assert done.returncode == 2 and not (base / "results").exists()


@needs("containers, made by root")
@needs("a course that other users can reach")
@pytest.mark.parametrize(
    "system, chapter",
    [
        ("gradescope", CH1),
        pytest.param("gradescope", CH5, marks=pytest.mark.proof),
        pytest.param("prairielearn", CH1, marks=pytest.mark.proof),
    ],
)
def test_in_their_containers_the_packages_grade_as_nobody_in_their_memory(system, chapter):
    """Root without namespaces, mounts and Landlock, in folders open to all users."""
    exercise, text = wrong(chapter)
    with tempfile.TemporaryDirectory() as folder:
        base, found = Path(folder) / "base", Path(folder) / "parcel"
        unpacked(write_package(system, Path(folder) / "parcel.zip", chapter), found)
        source, learners, script = {
            "gradescope": (found, "submission", "source/run_autograder"),
            "prairielearn": (found / "questions" / chapter / "tests", "student", "tests/run.sh"),
        }[system]
        shutil.copytree(source, base / Path(script).parent)
        (base / learners).mkdir()
        (base / learners / f"{chapter}.py").write_text(text, encoding="utf-8")
        for path in (base, Path(folder)):
            path.chmod(0o755)
        told = {"AUTOGRADER": str(base), "GRADE": str(base)}
        told["PATH"] = f"{Path(sys.executable).parent}:/usr/bin:/bin"
        command = ["/bin/bash", str(base / script)]
        status, megabytes, _ = measured(
            command, base, False, 700, core=0.5 if chapter == CH5 else 1, **told
        )
        assert status == 0 and megabytes > 100
        results = json.loads((base / "results" / "results.json").read_text())
        check_gradescope(results) if system == "gradescope" else check_prairielearn(results)
        tests = {test["name"]: str(test) for test in results["tests"]}
        assert set(tests) == {one.name for one in COURSE.chapter(chapter).exercises}
        assert "Right." not in tests[exercise]
        graders = base / Path(script).parent / "graders"
        assert graders.stat().st_mode & 0o077 == 0, "nobody else reads them"
