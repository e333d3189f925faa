"""The learner's kit: one zip with everything to learn and check, and nothing that is hidden."""

import zipfile
from pathlib import Path

from .course import CourseError
from .project import Project

# Parts of the engine that a learner's own checks need. The rest serves instructors and authors.
ENGINE = (
    "*.py", "backends/*.py", "judging/*.py", "runner/*.py", "sandbox/*.py", "views/*.py",
    "notebook/**/*", "watch/*.py", "grading/__init__.py", "grading/session.py",
)
LEFT_OUT = {"casebook.py", "mistakes.py", "project.py", "bundle.py"}
STAMP = (2020, 1, 1, 0, 0, 0)  # so that the same kit has the same bytes


def kit_files(project: Project) -> dict[str, bytes]:
    """The kit's files by their path in the zip."""
    files = {}
    for path in sorted(project.exercises.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts and not path.name.startswith("."):
            files[str(path.relative_to(project.root))] = path.read_bytes()
    engine = Path(__file__).parent
    for pattern in ENGINE:
        for path in sorted(engine.glob(pattern)):
            if path.is_file() and path.name not in LEFT_OUT and "__pycache__" not in path.parts:
                files[f"tensorgrade/{path.relative_to(engine)}"] = path.read_bytes()
    for path in sorted((project.root / "release").glob("*/*.ipynb")):
        files[f"notebooks/{path.name}"] = path.read_bytes()
    for path in sorted((project.root / "kit").iterdir()):
        files[path.name] = path.read_bytes()
    return files


def write_kit(project: Project, out: Path) -> int:
    """Write the kit; returns how many files it holds. Raises CourseError before a build."""
    if not (project.exercises / "course.json").exists():
        raise CourseError("there is no exercises/course.json yet; run `tensorgrade build` first")
    files = kit_files(project)
    out.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(f"{out.stem}/{name}", STAMP), content)
    return len(files)
