"""The learner's kit: one zip with everything to learn and check, and nothing that is hidden."""

import re
import zipfile
from pathlib import Path

from ..course import Course, CourseError
from ..exchange.references import refuse_missing
from ..folders import kit_files
from ..project import Project
from ..views.lessons import lessons_page

BUILD = re.compile(r"\+cpu$", re.MULTILINE)  # learners may have torch for a graphics card
NOTHING_PINNED = "# The course has no requirements.lock: any versions will do.\n"
STAMP = (2020, 1, 1, 0, 0, 0)  # so that the same kit has the same bytes


def files_of_kit(project: Project) -> dict[str, bytes]:
    """The kit's files by their path in the zip."""
    files = {}
    for path in sorted(project.exercises.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts and not path.name.startswith("."):
            files[str(path.relative_to(project.root))] = path.read_bytes()
    for name, path in kit_files().items():
        files[f"tensorgrade/{name}"] = path.read_bytes()
    for path in sorted((project.root / "release").glob("*/*.ipynb")):
        files[f"notebooks/{path.name}"] = path.read_bytes()
    files["lessons.html"] = lessons_page(public_course(project), project.root, {}).encode()
    lock = project.root / "requirements.lock"
    pinned = lock.read_text(encoding="utf-8") if lock.exists() else NOTHING_PINNED
    files["constraints.txt"] = BUILD.sub("", pinned).encode()
    for path in sorted((project.root / "kit").rglob("*")):
        if path.is_file():
            files[path.relative_to(project.root / "kit").as_posix()] = path.read_bytes()
    return files


def public_course(project: Project) -> Course:
    """The course as learners know it."""
    return Course.from_json((project.exercises / "course.json").read_text(encoding="utf-8"))


def write_kit(project: Project, out: Path) -> int:
    """Write the kit; returns how many files it holds. Raises CourseError before a build."""
    if not (project.exercises / "course.json").exists():
        raise CourseError("there is no exercises/course.json yet; run `tensorgrade build` first")
    for chapter in public_course(project).chapters:
        refuse_missing(project.exercises / "references" / f"{chapter.name}.safetensors")
    files = files_of_kit(project)
    out.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in files.items():
            place = zipfile.ZipInfo(f"{out.stem}/{name}", STAMP)
            archive.writestr(place, content, zipfile.ZIP_DEFLATED)  # which a ZipInfo forgets
    return len(files)
