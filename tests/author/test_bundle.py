"""The learner's kit: complete, and nothing hidden in it. engine/test_packaged.py installs one."""

import json
import re
import subprocess
import sys
import zipfile
from importlib.metadata import metadata
from itertools import pairwise

import pytest
import yaml

from ..hidden import found_in, opened, secrets_of
from ..kits import unpacked
from ..support import ROOT, cli
from .small_course import edit

pytestmark = pytest.mark.slow

# How many pieces of each kind there are at least, so that the search is for something.
AT_LEAST = {
    "solutions": 40,
    "graders": 100,
    "mistakes": 50,
    "hidden numbers": 200,
    "seed": 1,
}


@pytest.fixture(scope="module")
def files(kit) -> dict[str, bytes]:
    """The kit's files by path; zips inside it are opened too."""
    paths = [path for path in kit.rglob("*") if path.is_file()]
    return opened({path.relative_to(kit).as_posix(): path.read_bytes() for path in paths})


def test_nothing_hidden_is_in_the_kit(project, files):
    secrets = secrets_of(project)
    few = [kind for kind, pieces in secrets.items() if len(pieces) < AT_LEAST[kind]]
    assert not few and secrets.keys() == AT_LEAST.keys()
    assert len(secrets["seed"][0]) >= 20, "it could be guessed"
    every = [piece for pieces in secrets.values() for piece in pieces]
    found = {name: found_in(content, every) for name, content in files.items()}
    assert {name: pieces[:3] for name, pieces in found.items() if pieces} == {}
    assert json.loads(files["exercises/course.json"])["seed"] is None
    for before in range(8):  # wherever a piece stood, it would be found
        assert every[-1] in found_in(b"-" * before + every[-1] + b"-", every)


def test_what_learners_need_is_there(project, files):
    for chapter in project.course.chapters:
        assert f"exercises/{chapter.name}.py" in files
        assert f"notebooks/{chapter.name}.ipynb" in files
    assert {"README.md", "AGENTS.md", "pyproject.toml", "exercises/course.json"} <= set(files)
    assert not [name for name in files if name.startswith(("graders", "solutions", "source"))]
    shown = {name.split("/")[0] for name in files if not name.startswith(".")}
    assert shown >= {"README.md", "exercises", "notebooks", "lessons.html"} and len(shown) <= 7
    page = files["README.md"].decode()
    named = set(
        re.findall(r"(?:exercises|notebooks)/\w+\.\w+|lessons\.html|\.setup/[\w-]+\.txt", page)
    )
    assert len(named) >= 6 and named <= set(files)
    assert page.index("tensorgrade watch") < page.index("pytest exercises/")
    lessons = files["lessons.html"].decode()
    assert "tensorgrade read" in lessons and 'class="exercise done"' not in lessons


def test_the_task_of_vs_code_lists_the_line_to_work_on(own):
    task = json.loads((own / ".vscode" / "tasks.json").read_text(encoding="utf-8"))["tasks"][0]
    command = [sys.executable, *task["args"], "-k", "softmax_naive"]
    done = subprocess.run(command, cwd=own, capture_output=True, text=True)
    patterns = [one["regexp"] for one in task["problemMatcher"]["pattern"]]
    both = [list(map(re.match, patterns, lines)) for lines in pairwise(done.stdout.splitlines())]
    (found,) = [one for one in both if all(one)]
    assert found[0][1] == "Start here: softmax_naive"
    assert found[1][1] == "exercises/ch1_simplified_attention.py" and int(found[1][2]) > 1


def test_its_requirements_name_its_wheel_and_pin_what_it_asks_for(files):
    (wheel,) = [name for name in files if name.endswith(".whl")]
    more = "einops\njaxtyping\n"  # what the course lets learners import
    assert files[".setup/requirements.txt"].decode() == f"./{wheel}[learner]\n{more}"
    assert files[".setup/requirements-notebooks.txt"].decode() == f"./{wheel}[notebooks]\n{more}"
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8").split()
    assert files[".setup/constraints.txt"].decode().split() == lock
    assert not [name for name in lock if "+" in name]
    about = next(text for name, text in files.items() if name.endswith("/METADATA")).decode()
    # Packages that the engine pins to one version need no other pin.
    asked = set(re.findall(r"^Requires-Dist: ([\w-]++)(?!==)", about, re.MULTILINE))
    pinned = {name.split("==")[0].lower().replace("_", "-") for name in lock}
    assert {"torch", "pytest", "rich"} <= asked and asked - {"tensorgrade"} <= pinned
    assert {"einops", "jaxtyping"} <= pinned


def test_the_zip_is_the_same_each_time(kit, tmp_path):
    unpacked(tmp_path)
    assert (tmp_path / "kit.zip").read_bytes() == (kit.parent / "kit.zip").read_bytes()
    with zipfile.ZipFile(tmp_path / "kit.zip") as archive:
        assert {one.compress_type for one in archive.infolist()} == {zipfile.ZIP_DEFLATED}
    full = cli("bundle", "--out", "/dev/full/kit.zip")
    assert full.returncode == 2 and "Traceback" not in full.stderr


def test_a_kit_needs_the_notebooks_that_nbgrader_makes_of_this_lesson(course, tmp_path):
    (notebook,) = course.glob("source/*first*/*.ipynb")
    released = course / "release" / notebook.parent.name / notebook.name
    edit(course, str(notebook.relative_to(course)), "# ", "# Newly: ")
    for word in ("older than the lesson", "missing"):
        said = cli("bundle", "--out", tmp_path / "kit.zip", cwd=course)
        assert said.returncode == 2 and f"{released} is {word}; `nbgrader" in said.stderr, said
        released.unlink(missing_ok=True)
    assert not (tmp_path / "kit.zip").exists()


def test_what_programs_leave_behind_is_not_in_it(course, tmp_path):
    left = (
        "exercises/.ipynb_checkpoints/ch1-checkpoint.ipynb",
        "exercises/.DS_Store",
        "kit/.DS_Store",
        "kit/__pycache__/setup.pyc",
        "kit/.devcontainer/.ipynb_checkpoints/x.ipynb",
        "kit/.devcontainer/devcontainer.json",
    )
    for name in left:
        (course / name).parent.mkdir(parents=True, exist_ok=True)
        (course / name).write_text("left behind", encoding="utf-8")
    paths = [path for path in unpacked(tmp_path, course).rglob("*") if path.is_file()]
    (kept,) = [path for path in paths if path.read_bytes() == b"left behind"]
    assert kept.name == "devcontainer.json"


# --- containers and workflows -----------------------------------------------------------------


@pytest.mark.parametrize("whose", ["learner", "instructor"])
def test_a_container_is_made_of_files_that_are_there(kit, whose):
    place = (kit if whose == "learner" else ROOT) / ".devcontainer"
    build = json.loads((place / "devcontainer.json").read_text(encoding="utf-8"))["build"]
    context = (place / build["context"]).resolve()
    steps = re.sub(r"\\\n\s*", " ", (place / build["dockerfile"]).read_text(encoding="utf-8"))
    copied = " ".join(re.findall(r"^COPY (.+) \S+$", steps, re.MULTILINE)).split()
    asked = re.findall(r" -[cr] (\S+)", steps)
    closed = " ".join(re.findall(r"chmod -R \S+ (.+)", steps)).split()
    assert asked and bool(closed) == (context == ROOT)
    assert all((context / path).exists() for path in [*copied, *asked, *closed])
    assert copied == ["."] or {*copied}.issuperset(asked)
    (command,) = re.findall(r"^CMD (.+)", steps, re.MULTILINE)
    assert cli(json.loads(command)[1], "--help").returncode == 0


def test_the_workflow_of_repositories_made_of_the_kit_finds_what_it_needs(kit):
    page = (ROOT / "docs" / "how-to" / "git-hosts.md").read_text(encoding="utf-8")
    (workflow,) = re.findall(r"^```yaml.*?\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    (job,) = yaml.safe_load(workflow)["jobs"].values()
    runs = [step["run"] for step in job["steps"] if "run" in step]
    assert runs[0].startswith("pip install -c .setup/constraints.txt torch --extra-index-url")
    assert runs[1:] == [
        "pip install -c .setup/constraints.txt -r .setup/requirements.txt",
        "pytest exercises/",
    ]
    assert all((kit / f".setup/{name}.txt").exists() for name in ("constraints", "requirements"))
    (python,) = [s["with"]["python-version"] for s in job["steps"] if "python-version" in str(s)]
    assert metadata("tensorgrade")["Requires-Python"] == f">={python}"
