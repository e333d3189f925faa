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


def engine_files(*places: str) -> dict[str, Path]:
    """The files of these folders (or single files) of the engine, by their path in it, in order."""
    paths = [path for place in places for path in files_below(ENGINE / place)]
    return {str(path.relative_to(ENGINE).as_posix()): path for path in sorted(paths)}


def files_below(path: Path) -> list[Path]:
    """All files of a folder, or the one file; nothing that Python or an editor left there."""
    paths = path.rglob("*") if path.is_dir() else [path]
    return [file for file in paths if file.is_file() and is_ours(file)]


def is_ours(path: Path) -> bool:
    """Whether a file was written by people."""
    return "__pycache__" not in path.parts and not path.name.startswith(".")


def digest_of_files(files: dict[str, Path], *more: str) -> str:
    """Changes when one of the files, its name, or one of the other texts does."""
    seen = hashlib.sha256(repr(more).encode())
    for name, path in files.items():
        content = path.read_bytes()
        seen.update(f"{name} {len(content)} ".encode() + content)
    return seen.hexdigest()[:32]
