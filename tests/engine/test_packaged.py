"""The packages that are released: what is in them, and that the wheel works without the course."""

import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from ..support import ROOT, release

pytestmark = [pytest.mark.slow, pytest.mark.machine]
LEFT = {".git", ".venv", "build", "demo", "dist"}


def run(*command: object, cwd: Path) -> str:
    done = subprocess.run(list(map(str, command)), cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def packages(tmp_path_factory) -> Path:
    """Return a folder with the wheel and the source package, built without a network."""
    source = tmp_path_factory.mktemp("source")  # a build leaves files beside the sources
    for path in ROOT.iterdir():
        if path.name not in LEFT and path.suffix != ".egg-info":
            (source / path.name).symlink_to(path)
    out = tmp_path_factory.mktemp("packages")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", out, source, cwd=out)
    return out


def files_in_wheel(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def engine_files() -> set[str]:
    paths = (ROOT / "tensorgrade").rglob("*")
    files = (path for path in paths if path.is_file() and path.suffix != ".pyc")
    return {path.relative_to(ROOT).as_posix() for path in files}


def test_the_wheel_holds_the_engine_and_its_licence(packages):
    (wheel,) = packages.glob("*.whl")
    names = set(files_in_wheel(wheel))
    info = {name for name in names if ".dist-info/" in name}
    assert names - info == engine_files()
    assert {"tensorgrade/py.typed", "tensorgrade/views/lessons.html"} <= names
    assert any(name.endswith("licenses/LICENSE") for name in info)


def test_the_source_package_holds_nothing_private(packages):
    (path,) = packages.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        names = {
            name.partition("/")[2]
            for name in archive.getnames()
            if archive.getmember(name).isfile()
        }
    beside = {name for name in names if not name.startswith(("tensorgrade/", "tensorgrade.egg"))}
    assert engine_files() <= names
    assert beside == {
        *("CHANGELOG.md", "LICENSE", "MANIFEST.in", "PKG-INFO", "README.md"),
        *("pyproject.toml", "setup.cfg"),
    }


@pytest.fixture(scope="module")
def environment(packages, tmp_path_factory) -> Path:
    """Return the programs of an environment that holds the wheel, and sees what it depends on."""
    folder = tmp_path_factory.mktemp("environment")
    run(sys.executable, "-m", "venv", "--without-pip", folder, cwd=folder)
    (installed,) = folder.glob("lib/python*/site-packages")
    dependencies = [path for path in sys.path if path.endswith("site-packages")]
    (installed / "dependencies.pth").write_text("\n".join(dependencies), encoding="utf-8")
    pip = [sys.executable, "-m", "pip", "--python", folder / "bin" / "python"]
    run(*pip, "install", "--no-deps", "--no-index", *packages.glob("*.whl"), cwd=folder)
    return folder / "bin"


@pytest.fixture(scope="module")
def course(environment, tmp_path_factory) -> Path:
    """Return a new course, made and built by the wheel."""
    folder = tmp_path_factory.mktemp("elsewhere")
    place = run(
        environment / "python", "-c", "import tensorgrade as t; print(t.__file__)", cwd=folder
    )
    assert Path(place).is_relative_to(environment.parent)
    run(environment / "tensorgrade", "new", "course", "mine", cwd=folder)
    said = run(environment / "tensorgrade", "build", cwd=folder / "mine")
    assert said.rstrip().endswith("All derived files are fresh.")
    release(folder / "mine")
    return folder / "mine"


def test_the_kit_of_a_new_course_holds_the_same_wheel_and_pip_installs_it(
    environment, packages, course, tmp_path
):
    run(environment / "tensorgrade", "bundle", "--out", tmp_path / "kit.zip", cwd=course)
    zipfile.ZipFile(tmp_path / "kit.zip").extractall(tmp_path)
    kit, installed = tmp_path / "kit", tmp_path / "installed"
    (carried,), (built,) = (kit / ".setup").glob("*.whl"), packages.glob("*.whl")
    assert carried.name == built.name
    own = re.compile(r"dist-info/(WHEEL|RECORD|top_level\.txt)$")
    ours, theirs = (
        {name: text for name, text in files_in_wheel(path).items() if not own.search(name)}
        for path in (carried, built)
    )
    assert ours == theirs
    pip = [sys.executable, "-m", "pip", "install", "--no-deps", "--no-index", "--target"]
    run(*pip, installed, "-c", ".setup/constraints.txt", "-r", ".setup/requirements.txt", cwd=kit)
    environment = os.environ | {"PYTHONPATH": str(installed)}
    command = [sys.executable, "-P", "-m", "pytest", "exercises"]
    done = subprocess.run(command, cwd=kit, env=environment, capture_output=True, text=True)
    assert done.returncode == 1 and "to do" in done.stdout, done.stdout + done.stderr
