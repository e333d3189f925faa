"""What a chapter's grades depend on: which files, and a digest of them."""

import hashlib
from pathlib import Path

ENGINE = Path(__file__).resolve().parent.parent
JUDGES = ("*.py", "judging/*.py", "runner/*.py", "backends/*.py")  # what in the engine makes a grade


def material(graders: Path, chapter: str = "*") -> dict[str, Path]:
    """The files that grading a chapter (or all) reads, by their path from the course's root."""
    root = graders.parent
    patterns = {
        graders: (f"test_{chapter}.py", "conftest.py", f"references/{chapter}.*"),
        root / "exercises": (f"given/{chapter}/*.py",),
    }
    found = [path for folder, names in patterns.items() for name in names for path in folder.glob(name)]
    return {str(path.relative_to(root)): path for path in sorted(found) if path.is_file()}


def digest_of(graders: Path, chapter: str = "*") -> str:
    """Changes when a hidden test, a reference, a stand-in, the course's settings or the engine do."""
    files = material(graders, chapter)
    for path in (graders.parent / "course_config.py", graders / "course.json"):
        files |= {path.name: path} if path.is_file() else {}
    for path in sorted(path for pattern in JUDGES for path in ENGINE.glob(pattern)):
        files[f"engine/{path.relative_to(ENGINE)}"] = path
    seen = hashlib.sha256()
    for name, path in files.items():
        content = path.read_bytes()
        seen.update(f"{name} {len(content)} ".encode() + content)
    return seen.hexdigest()[:16]
