"""What a chapter's grades depend on: which files, and a digest of them."""

from pathlib import Path

from ..folders import JUDGED_WITH, digest_of_files, engine_files


def graders_files(graders: Path, chapter: str = "*") -> dict[str, Path]:
    """The files that grading a chapter (or all) reads, by their path from the course's root."""
    root = graders.parent
    # What lies beside the chapters is shared: grader files import it. Families of mistakes are
    # read by nobody who grades.
    patterns = {
        graders: (
            f"{chapter}/*.py",
            "*.py",
            f"references/{chapter}.safetensors",
            f"references/{chapter}.fingerprints.json",
        ),
        # An error's own text is told where the public cases end in the same one.
        root / "exercises": (f"given/{chapter}/*.py", f"references/{chapter}.safetensors"),
    }
    paths = [
        path for folder, names in patterns.items() for name in names for path in folder.glob(name)
    ]
    return {
        str(path.relative_to(root)): path
        for path in sorted(paths)
        if path.is_file() and path.parent.name != "mistakes"
    }


def digest_of(graders: Path, chapter: str = "*") -> str:
    """Changes when a hidden test, a check of the course's own, a reference or a stand-in does.

    And when the course's settings or the engine do.
    """
    files = graders_files(graders, chapter)
    for path in (graders.parent / "course_config.py", graders / "course.json"):
        files |= {path.name: path} if path.is_file() else {}
    engine = {f"engine/{name}": path for name, path in engine_files(*JUDGED_WITH).items()}
    return digest_of_files(files | engine)[:16]
