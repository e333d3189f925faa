"""The container image: every file that holds an answer is closed in it, or is not copied."""

import fnmatch
import subprocess

import pytest

from ..hidden import found_in, secrets_of
from ..support import ROOT

DOCKERFILE = ROOT / "Dockerfile"


def steps(instruction: str) -> list[list[str]]:
    lines = DOCKERFILE.read_text(encoding="utf-8").splitlines()
    return [line.split()[1:] for line in lines if line.startswith(f"{instruction} ")]


def copied() -> list[str]:
    """Return the files that the image gets, by their paths in the repository."""
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
    """Return the folders and files that the image closes."""
    (told,) = (step for step in steps("RUN") if step[:3] == ["chmod", "-R", "go="])
    return set(told[3:])


def test_only_what_grading_needs_is_in_it():
    tops = {path.partition("/")[0] for path in copied()}
    assert not tops & {"tests", "courses", "docs", "benchmarks", ".github", ".git"}
    assert {"tensorgrade", "exercises"} | closed() <= tops


@pytest.mark.slow
def test_no_answer_is_open_in_it(project):
    secrets, private = secrets_of(project), closed()
    every = [piece for pieces in secrets.values() for piece in pieces]
    told = {path: set(found_in((ROOT / path).read_bytes(), every)) for path in copied()}
    assert [path for path in told if told[path] and path.partition("/")[0] not in private] == []
    # The search is for something: the closed files hold every kind that git tracks.
    found = set().union(*told.values())
    tracked = secrets.keys() - {"hidden numbers"}
    assert [kind for kind in tracked if not found & set(secrets[kind])] == []
