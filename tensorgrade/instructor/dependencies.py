"""What a chapter's grades depend on: which files, and a digest of them."""

import ast
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
    public, config = graders / "course.json", graders.parent / "course_config.py"
    files |= {public.name: public} if public.is_file() else {}
    engine = {f"engine/{name}": path for name, path in engine_files(*JUDGED_WITH).items()}
    return digest_of_files(files | engine, settings_in(config) if config.is_file() else "")[:16]


def settings_in(config: Path) -> str:
    """The settings' code without their dates: a deadline that moves grades nobody again."""
    text = config.read_text(encoding="utf-8")
    try:
        tree = ast.parse(text)
    except SyntaxError:  # whoever loads it says so
        return text
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        call.keywords = [keyword for keyword in call.keywords if keyword.arg != "lateness"]
    return ast.dump(tree)
