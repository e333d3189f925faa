"""The date of a file's last commit counts as its time, and a clone's own settings never run."""

import subprocess
from pathlib import Path

import pytest

from tensorgrade.instructor.collecting import plan
from tensorgrade.instructor.commit_dates import commit_dates
from tensorgrade.instructor.roster import Roster

from .test_report import CHAPTER, COURSE

FILE = f"{CHAPTER.name}.py"


def git(clone: Path, *arguments: str, date: str = "2026-01-10T10:00:00+02:00") -> None:
    """Run git in a clone, at a certain time."""
    own = {"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date, "GIT_CONFIG_GLOBAL": "/dev/null"}
    who = ["-c", "user.name=ada", "-c", "user.email=ada@uni.edu", "-c", "gc.auto=0"]
    subprocess.run(
        ["git", *who, *arguments], cwd=clone, env={"PATH": "/usr/bin:/bin"} | own, check=True
    )


@pytest.fixture
def clone(tmp_path) -> Path:
    """A clone with a file that was committed twice, and another one that was committed once."""
    folder = tmp_path / "clones" / "attention-1-ada"
    folder.mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main")
    (folder / FILE).write_text("x = 1\n")
    (folder / "notes ü.txt").write_text("x")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "one")
    (folder / FILE).write_text("x = 2\n")
    git(folder, "commit", "-qam", "two", date="2026-01-12T23:30:00+02:00")
    return folder


DATES = {FILE: "2026-01-12T23:30:00+02:00", "notes ü.txt": "2026-01-10T10:00:00+02:00"}


def test_each_file_has_the_date_of_its_last_commit(clone):
    assert commit_dates(clone) == DATES


def test_packed_and_detached_histories_are_read_too(clone):
    git(clone, "pack-refs", "--all")
    git(clone, "repack", "-adq")
    assert commit_dates(clone) == DATES
    git(clone, "checkout", "-q", "--detach", "HEAD~1")
    assert commit_dates(clone)[FILE] == DATES["notes ü.txt"]


def test_a_collected_file_is_dated_by_its_commit(clone):
    found = plan("git", clone.parent, COURSE, Roster())
    (place,) = (place for place in found.places if place.submitted.name == FILE)
    assert place.submitted.time == "2026-01-12 21:30:00 UTC" and not place.submitted.time_note


def test_a_commit_in_the_future_is_replaced_with_a_note(clone):
    (clone / FILE).write_text("x = 3\n")
    git(clone, "commit", "-qam", "three", date="2090-01-01T00:00:00Z")
    found = plan("git", clone.parent, COURSE, Roster())
    (place,) = (place for place in found.places if place.submitted.name == FILE)
    assert (
        not place.submitted.time.startswith("2090")
        and "is not a possible submission time" in place.submitted.time_note
    )


SETTINGS = """
[core]
    fsmonitor = touch {0}
    pager = touch {0}
    alternateRefsCommand = touch {0}
    hooksPath = {1}
[log]
    showSignature = true
[gpg]
    program = touch {0}
[pager]
    log = touch {0}
[diff]
    external = touch {0}
"""


def test_nothing_that_a_clone_configures_runs(clone, tmp_path):
    trap = tmp_path / "touched"
    with (clone / ".git" / "config").open("a") as config:
        config.write(SETTINGS.format(trap, tmp_path))
    assert commit_dates(clone) == DATES and not trap.exists()


@pytest.mark.parametrize(
    "head", ["", "ref: ../../secret", "ref: refs/heads/../../x", "--help", "0" * 40]
)
def test_a_clone_without_a_readable_history_has_no_dates(clone, head):
    (clone / ".git" / "HEAD").write_text(head)
    assert commit_dates(clone) == {}
