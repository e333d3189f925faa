"""Files: those of the engine, whole ones to write, and originals and copies of chapters' scripts.

A kit brings the originals, in `.tensorgrade/`. In a course's repository, each build stores them.
"""

import hashlib
import os
import shutil
import tempfile
from datetime import datetime
from pathlib import Path

ENGINE = Path(__file__).resolve().parent
OWN_FOLDER = ".tensorgrade"  # in the kit: files that only this machine needs
# Decides points, statuses and sentences. If this code changes, all files are graded again. These
# are whole folders, so a new file in one of them is included automatically.
JUDGED_WITH = (
    "runner",
    "exchange",
    "recognition",
    "course.py",
    "project.py",
    "sandbox",
    "sources",
    "judging",
    "attempts",
)

# Files and folders that Python, editors, tools and operating systems create.
LEFT_BEHIND = {
    *("__pycache__", "__MACOSX", ".DS_Store", "Thumbs.db", "desktop.ini"),
    *(".git", ".ipynb_checkpoints", ".pytest_cache", ".mypy_cache", ".ruff_cache"),
}


def engine_files(*places: str) -> dict[str, Path]:
    """Return the files of these engine folders (or single files), in order, by relative path."""
    paths = sorted(path for place in places for path in files_below(ENGINE / place))
    named = {path.relative_to(ENGINE): path for path in paths}
    return {name.as_posix(): path for name, path in named.items() if is_ours(name)}


def files_below(folder: Path, hidden: bool = False) -> list[Path]:
    """Return the files below a folder, or the one file, that `is_ours` accepts."""
    paths = folder.rglob("*") if folder.is_dir() else [folder]
    return [path for path in paths if path.is_file() and is_ours(path.relative_to(folder), hidden)]


def is_ours(path: Path, hidden: bool = False) -> bool:
    """Return True unless a part of a relative path is hidden or was created by some program.

    hidden: accept hidden files and folders too, except those that programs create.

    >>> is_ours(Path(".ipynb_checkpoints/ch1.ipynb"), hidden=True), is_ours(Path("kit/.DS_Store"))
    (False, False)
    >>> is_ours(Path(".devcontainer/a.json"), hidden=True), is_ours(Path(".devcontainer/a.json"))
    (True, False)
    """
    is_visible = hidden or not any(part.startswith(".") for part in path.parts)
    return is_visible and LEFT_BEHIND.isdisjoint(path.parts)


def digest_of_files(files: dict[str, Path], *more: str) -> str:
    """Return a digest that changes with the content or name of a file, or with another text."""
    seen = hashlib.sha256(repr(more).encode())
    for name, path in files.items():
        content = path.read_bytes()
        seen.update(f"{name} {len(content)} ".encode() + content)
    return seen.hexdigest()[:32]


def write_file(path: Path, content: bytes) -> None:
    """Write a file, and its folder, under a temporary name and rename it. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    number, name = tempfile.mkstemp(dir=path.parent, prefix=".tmp-")
    try:
        with os.fdopen(number, "wb") as file:
            file.write(content)
        umask = os.umask(0o077)  # it can only be read by setting it
        os.umask(umask)
        os.chmod(name, 0o666 & ~umask)  # mkstemp makes files for one user only
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def original_of(root: Path, chapter: str) -> Path:
    """Return the path of a chapter's original script."""
    return root / OWN_FOLDER / "originals" / f"{chapter}.py"


def keep_copy(root: Path, path: Path) -> Path:
    """Copy a file under a name with the time, and return the copy."""
    folder = root / OWN_FOLDER / "copies"
    folder.mkdir(parents=True, exist_ok=True)
    copy = folder / f"{path.stem}_{datetime.now():%Y-%m-%d_%H-%M-%S-%f}{path.suffix}"
    return Path(shutil.copy2(path, copy))
