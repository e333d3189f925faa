"""Setting up from the kit: its pages name what is there, its container's steps find their files."""

import json
import re
import zipfile
from importlib.metadata import metadata
from pathlib import Path

import pytest
import yaml

from tensorgrade.author.bundle import write_kit
from tensorgrade.cli.shared import audiences
from tensorgrade.instructor.channels import WORKFLOW

from ..commands import ROOT


@pytest.fixture(scope="module")
def kit(project, tmp_path_factory) -> Path:
    """The kit as a learner unpacks it."""
    folder = tmp_path_factory.mktemp("unpacked")
    write_kit(project, folder / "course.zip")
    zipfile.ZipFile(folder / "course.zip").extractall(folder)
    return folder / "course"


@pytest.mark.slow
def test_the_zip_is_packed_and_the_same_each_time(project, kit, tmp_path):
    write_kit(project, tmp_path / "course.zip")
    written = (tmp_path / "course.zip").read_bytes()
    assert written == (kit.parent / "course.zip").read_bytes()
    with zipfile.ZipFile(tmp_path / "course.zip") as archive:
        sizes = [(one.compress_size, one.file_size) for one in archive.infolist()]
    packed, unpacked = map(sum, zip(*sizes, strict=True))
    assert packed < unpacked / 2 and len(written) < unpacked / 2


def steps(dockerfile: Path) -> list[tuple[str, str]]:
    """(instruction, arguments) of a Dockerfile, comments and line breaks gone."""
    text = re.sub(r"\\\n\s*", " ", dockerfile.read_text(encoding="utf-8"))
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [(line.split(" ", 1)[0], line.split(" ", 1)[1]) for line in lines]


def build_context(folder: Path) -> Path:
    """The folder that a devcontainer is built from, by its own file; its Dockerfile is in it."""
    place = folder / ".devcontainer"
    build = json.loads((place / "devcontainer.json").read_text(encoding="utf-8"))["build"]
    assert (place / build["dockerfile"]).resolve() == (
        place / build["context"]
    ).resolve() / "Dockerfile"
    return (place / build["context"]).resolve()


@pytest.mark.parametrize("whose", ["learner", "instructor"])
def test_a_container_is_made_of_files_that_are_there(kit, whose):
    context = build_context(kit if whose == "learner" else ROOT)
    seen = steps(context / "Dockerfile")
    copied = {path for step, rest in seen if step == "COPY" for path in rest.split()[:-1]}
    assert seen[0][0] == "FROM" and all((context / path).exists() for path in copied)
    asked = [file for _, rest in seen for file in re.findall(r" -[cr] (\S+)", rest)]
    assert asked and all((context / file).is_file() for file in asked)
    assert copied == {"."} or copied.issuperset(asked)
    ignored = context / ".dockerignore"
    if ignored.exists():
        assert not set(asked) & set(ignored.read_text(encoding="utf-8").split())


KNOWN_STEPS = ("apt-get update ", "pip install ", "tensorgrade build", "chmod -R ")


@pytest.mark.parametrize("whose", ["learner", "instructor"])
def test_every_step_of_a_container_is_of_a_kind_that_is_looked_at(kit, whose):
    context = build_context(kit if whose == "learner" else ROOT)
    seen = steps(context / "Dockerfile")
    assert {step for step, _ in seen} <= {"FROM", "ARG", "WORKDIR", "COPY", "RUN", "CMD"}
    runs = [rest for step, rest in seen if step == "RUN"]
    assert runs and all(rest.startswith(KNOWN_STEPS) for rest in runs)
    closed = [re.findall(r"^chmod -R \S+ (.+)", rest) for rest in runs]
    paths = [path for found in closed for told in found for path in told.split()]
    assert all((context / path).exists() for path in paths) and bool(paths) == (context == ROOT)
    program, name = json.loads(seen[-1][1])
    assert seen[-1][0] == "CMD" and program == "tensorgrade" and name in audiences()


def test_both_containers_pin_the_same_versions(kit):
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8").split()
    names = (kit / "constraints.txt").read_text(encoding="utf-8").split()
    assert lock == names and not [name for name in lock if "+" in name]
    (wheel,) = kit.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        told = archive.read(next(n for n in archive.namelist() if n.endswith("/METADATA"))).decode()
    # Packages that the engine pins to one version need no other pin.
    asked = re.findall(r"^Requires-Dist: ([\w-]++)(?!==)", told, re.MULTILINE)
    pinned = {name.split("==")[0].lower().replace("_", "-") for name in names}
    assert {"torch", "pytest", "rich"} <= set(asked)
    assert set(asked) - {"tensorgrade"} <= pinned


def test_what_the_kits_page_names_is_in_the_kit(kit):
    page = (kit / "README.md").read_text(encoding="utf-8")
    named = set(re.findall(r"(?:exercises|notebooks)/\w+\.\w+|lessons\.html|[\w-]+\.txt", page))
    assert len(named) >= 6
    assert [name for name in named if not (kit / name).is_file()] == []
    assert page.index("tensorgrade watch") < page.index("pytest exercises/")


def test_the_lessons_page_of_the_kit_shows_no_progress_yet(kit):
    page = (kit / "lessons.html").read_text(encoding="utf-8")
    assert "tensorgrade read" in page and 'class="exercise done"' not in page


def test_the_workflow_of_repositories_made_of_the_kit_finds_what_it_needs(kit):
    (job,) = yaml.safe_load(WORKFLOW)["jobs"].values()
    runs = [step["run"] for step in job["steps"] if "run" in step]
    assert runs == ["pip install -c constraints.txt -r requirements.txt", "pytest exercises/"]
    needed = ("constraints.txt", "requirements.txt", "pyproject.toml", "exercises")
    assert all((kit / name).exists() for name in needed)
    (python,) = [s["with"]["python-version"] for s in job["steps"] if "python-version" in str(s)]
    assert metadata("tensorgrade")["Requires-Python"] == f">={python}"
