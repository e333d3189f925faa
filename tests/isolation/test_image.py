"""The container image: whatever holds an answer is closed in it, or is not copied."""

import fnmatch
import os
import re
import subprocess
import zipfile
from pathlib import Path

import pytest

from tensorgrade.attempts import answer_files
from tensorgrade.isolation import remedies
from tensorgrade.isolation.levels import UID, NotIsolated, must_be_closed

from ..support import ROOT

DOCKERFILE = ROOT / "Dockerfile"


def steps(instruction: str) -> list[list[str]]:
    lines = DOCKERFILE.read_text(encoding="utf-8").splitlines()
    return [line.split()[1:] for line in lines if line.startswith(f"{instruction} ")]


def copied() -> list[str]:
    """The files that the image gets, by their paths in the repository."""
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").split()
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    sources = [source for step in steps("COPY") for source in step[:-1]]
    return [
        path
        for path in listed.stdout.splitlines()
        if any(
            path == source or path.startswith(f"{source}/") or source == "." for source in sources
        )
        if not any(path == one or fnmatch.fnmatch(path, f"{one}/*") for one in ignored)
    ]


def closed() -> set[str]:
    """The folders and files that the image closes."""
    (told,) = (step for step in steps("RUN") if step[:3] == ["chmod", "-R", "go="])
    return set(told[3:])


@pytest.fixture(scope="module")
def image(tmp_path_factory) -> Path:
    """A folder with the image's files; what it closes is closed."""
    root = tmp_path_factory.mktemp("image") / "course"
    for path in copied():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        copy(ROOT / path, root / path)
    for name in closed():
        (root / name).chmod(0o700 if (root / name).is_dir() else 0o600)
    return root


def copy(source: Path, target: Path) -> None:
    target.write_bytes(source.read_bytes())
    target.chmod(0o644)


@pytest.fixture
def reachable(monkeypatch):
    """pytest's own folders are closed to others: only modes below the image's root count."""

    def told(root: Path) -> None:
        inside = remedies.mode_of
        monkeypatch.setattr(
            remedies,
            "mode_of",
            lambda path: inside(path) if root in (path, *path.parents) else 0o755,
        )

    return told


def test_no_answer_is_open_in_the_image(image, reachable):
    reachable(image)
    assert answer_files.answer_paths(image) == []
    must_be_closed(UID, answer_files.private_paths(image / "graders"))


def test_only_what_grading_needs_is_in_it():
    tops = {path.partition("/")[0] for path in copied()}
    assert not tops & {"tests", "courses", "docs", "benchmarks", ".github", ".git"}
    assert {"tensorgrade", "graders", "solutions", "exercises", "course_config.py"} <= tops


OPENED = {
    "a right answer among tests": "tests/answers/right_answers/ch2_self_attention/einsum.py",
    "another course's solution": "courses/tokens/solutions/ch1_byte_pairs.py",
    "another course's graders": "courses/tokens/graders/ch1_byte_pairs/merge.py",
    "another course's seed": "courses/tokens/course_config.py",
    "another course's references": "courses/tokens/graders/references/ch1_byte_pairs.safetensors",
    "a notebook": "source/ch2_self_attention/ch2_self_attention.ipynb",
}


@pytest.mark.parametrize("what", OPENED)
def test_an_answer_is_found_whatever_its_folder(tmp_path, reachable, what):
    source = ROOT / OPENED[what]
    if not source.exists():
        (source, *_) = sorted(source.parent.glob(f"*{source.suffix}"))
    root = tmp_path / "course"
    for path in ("solutions/ch2_self_attention.py", "solutions/ch4_multi_head_attention.py"):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        copy(ROOT / path, root / path)
    reachable(root)
    assert answer_files.answer_paths(root) == [root / "solutions"]
    (root / "somewhere" / "else").mkdir(parents=True)
    copy(source, root / "somewhere" / "else" / source.name)
    assert answer_files.answer_paths(root) == [root / "solutions", root / "somewhere"]
    (root / "solutions").chmod(0o700)
    with pytest.raises(NotIsolated, match=re.escape(f"chmod -R go= {root / 'somewhere'}")):
        must_be_closed(UID, answer_files.private_paths(root / "graders"))


def test_what_cannot_be_opened_ends_no_search(tmp_path, reachable):
    root = tmp_path / "course"
    (root / "papers").mkdir(parents=True)
    (root / "papers" / "broken.zip").write_bytes(b"PK\x03\x04 broken")
    os.mkfifo(root / "papers" / "pipe")
    os.mkfifo(root / "papers" / "pipe.py")
    with zipfile.ZipFile(root / "papers" / "half.zip", "w") as archive:
        archive.writestr("a.py", "### BEGIN SOLUTION\n")
        archive.writestr("b.py", "x = 1\n### BEGIN SOLUTION\nx = 2\n### END SOLUTION\n")
    half = (root / "papers" / "half.zip").read_bytes()
    reachable(root)
    assert answer_files.answer_paths(root) == [root / "papers"]
    (root / "papers" / "half.zip").write_bytes(half.replace(b"x = 2", b"x = 3"))
    assert answer_files.answer_paths(root) == []


@pytest.mark.slow
def test_what_learners_have_holds_no_answer(reachable):
    reachable(ROOT)
    tops = {path.name for path in answer_files.answer_paths(ROOT)}
    assert {"graders", "solutions", "source", "tests", "courses", "course_config.py"} <= tops
    assert not tops & {"exercises", "release", "kit", "tensorgrade", "README.md"}
