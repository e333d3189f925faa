"""Read the dates of commits in a learner's clone, without using anything that the clone configures.

A clone's `.git/config` can start programs. So git runs in an empty repository of our own, which
borrows only the clone's objects.
"""

import os
import re
import subprocess
import tempfile
from pathlib import Path

SECONDS = 20
MOST_BYTES = 4 << 20  # of git's answer
SETTINGS = ("core.commitGraph=false", "core.quotePath=false", "log.showSignature=false")
LOG = "log --first-parent --no-renames --name-only -z --format=%x01%cI".split()
ID = re.compile(r"[0-9a-f]{40}")
LARGEST_FILE = 1 << 20  # bytes of .git/HEAD and .git/packed-refs


def commit_dates(clone: Path) -> dict[str, str]:
    """Return the date of the last commit of each file in a clone, by its path; {} if unknown.

    The learner's machine sets these dates. A clone contains no date that a server has set.
    """
    objects, commit = clone / ".git" / "objects", head_of(clone / ".git")
    if commit is None or not objects.is_dir() or objects.is_symlink():
        return {}
    try:
        with tempfile.TemporaryDirectory() as own:
            run_git(own, "init", "--bare", "--quiet", own)
            Path(own, "objects", "info", "alternates").write_text(f"{objects.resolve()}\n")
            return dates_in(run_git(own, *LOG, commit))
    except (OSError, subprocess.SubprocessError):  # no git, or no history that it can read
        return {}


def head_of(folder: Path) -> str | None:
    """Return the id of the commit that is checked out, from a `.git` folder; None if unknown."""
    head = read_small(folder / "HEAD")
    name = head.removeprefix("ref: ")
    if name == head:
        return head if ID.fullmatch(head) else None
    if not re.fullmatch(r"refs/heads/[\w./-]+", name) or ".." in name:
        return None
    found = read_small(folder / name)
    packed = re.search(
        rf"^({ID.pattern}) {re.escape(name)}$", read_small(folder / "packed-refs"), re.M
    )
    return found if ID.fullmatch(found) else packed and packed[1]


def read_small(path: Path) -> str:
    """Return the text of a regular file, without spaces around it; "" if there is none."""
    if path.is_symlink() or not path.is_file() or path.stat().st_size > LARGEST_FILE:
        return ""
    return path.read_text(encoding="utf-8", errors="replace").strip()


def run_git(repository: str, *arguments: str) -> bytes:
    """Return what git prints. Raises SubprocessError or OSError."""
    command = ["git", f"--git-dir={repository}"]
    command += [part for setting in SETTINGS for part in ("-c", setting)]
    own = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_NO_LAZY_FETCH": "1"}
    environment = {"PATH": os.environ.get("PATH", ""), "HOME": repository} | own
    with tempfile.TemporaryFile() as answer:
        subprocess.run(
            [*command, *arguments],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=answer,
            stderr=subprocess.DEVNULL,
            timeout=SECONDS,
            check=True,
        )
        answer.seek(0)
        return answer.read(MOST_BYTES)


def dates_in(log: bytes) -> dict[str, str]:
    """Return the latest date of each path in git's log.

    >>> dates_in(b"\\x012027-01-10\\0\\na.py\\0\\x012027-01-09\\0\\na.py\\0b.py\\0")
    {'a.py': '2027-01-10', 'b.py': '2027-01-09'}
    """
    dates: dict[str, str] = {}
    for commit in log.split(b"\1")[1:]:
        date, *paths = commit.decode(errors="replace").split("\0")
        for path in paths:
            dates.setdefault(path.removeprefix("\n"), date)
    return {path: date for path, date in dates.items() if path}
