"""The engine's own folders, and what follows from them.

What a grade depends on and what references are made with are folders, so that a new file is in the
right place by lying there. docs/explanation/architecture.md draws them.
"""

import hashlib
from pathlib import Path

ENGINE = Path(__file__).resolve().parent
FINGERPRINTS = ".fingerprints.json.gz"  # how the name of a chapter's file of them ends
# Runs the cases, keeps what came back, boils it down: references and fingerprints change with it.
RECORDED_WITH = ("runner", "exchange", "recognition")
# Decides points, statuses and sentences: a change here, and everything is graded again.
JUDGED_WITH = (
    *RECORDED_WITH,
    "course.py",
    "course_sources.py",
    "grader_files.py",
    "marker.py",
    "isolation",
    "sources",
    "judging",
    "attempts",
    "testing",
)

# What Python, editors, tools and operating systems leave in a folder.
LEFT_BEHIND = {
    *("__pycache__", "__MACOSX", ".DS_Store", "Thumbs.db", "desktop.ini"),
    *(".git", ".ipynb_checkpoints", ".pytest_cache", ".mypy_cache", ".ruff_cache"),
}


def engine_files(*places: str) -> dict[str, Path]:
    """The files of these folders (or single files) of the engine, by their path in it, in order."""
    paths = sorted(path for place in places for path in files_below(ENGINE / place))
    named = {path.relative_to(ENGINE): path for path in paths}
    return {name.as_posix(): path for name, path in named.items() if is_ours(name)}


def files_below(folder: Path, hidden: bool = False) -> list[Path]:
    """Return all files of a folder, or the one file, that `is_ours` accepts."""
    paths = folder.rglob("*") if folder.is_dir() else [folder]
    return [path for path in paths if path.is_file() and is_ours(path.relative_to(folder), hidden)]


def is_ours(path: Path, hidden: bool = False) -> bool:
    """Return True unless a part of a relative path is hidden or was left behind by a program.

    hidden: accept hidden files and folders that no program leaves behind.

    >>> is_ours(Path(".ipynb_checkpoints/ch1.ipynb"), hidden=True), is_ours(Path("kit/.DS_Store"))
    (False, False)
    >>> is_ours(Path(".devcontainer/a.json"), hidden=True), is_ours(Path(".devcontainer/a.json"))
    (True, False)
    """
    is_visible = hidden or not any(part.startswith(".") for part in path.parts)
    return is_visible and LEFT_BEHIND.isdisjoint(path.parts)


def digest_of_files(files: dict[str, Path], *more: str) -> str:
    """Changes when one of the files, its name, or one of the other texts does."""
    seen = hashlib.sha256(repr(more).encode())
    for name, path in files.items():
        content = path.read_bytes()
        seen.update(f"{name} {len(content)} ".encode() + content)
    return seen.hexdigest()[:32]
