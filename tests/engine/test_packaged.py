"""The engine by itself: installed without the course around it, it makes a course that works."""

import os
import subprocess
import sys

import pytest

from ..commands import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A folder with the installed engine and nothing else of this repository."""
    folder = tmp_path_factory.mktemp("installed")
    source = tmp_path_factory.mktemp("source")
    for name in ("pyproject.toml", "tensorgrade"):
        (source / name).symlink_to(ROOT / name)
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
    command += ["--no-build-isolation", "--no-index", "--target", folder, source]
    subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True)
    return folder


def tensorgrade(installed, cwd, *arguments) -> str:
    """A command of the installed engine, started outside of this repository."""
    command = [sys.executable, "-P", "-m", "tensorgrade.cli", *map(str, arguments)]
    environment = os.environ | {"PYTHONPATH": str(installed)}
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_new_course_builds_with_it(installed, tmp_path):
    assert (installed / "tensorgrade" / "author" / "scaffolds.py").is_file()
    assert not (installed / "graders").exists()
    tensorgrade(installed, tmp_path, "new", "course", "mine")
    said = tensorgrade(installed, tmp_path / "mine", "build")
    assert said.rstrip().endswith("All derived files are fresh.")
    assert "files in" in tensorgrade(installed, tmp_path / "mine", "bundle")
