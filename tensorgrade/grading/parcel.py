"""Hidden graders as bytes, for workers that share no file system with the instructor."""

import io
import zipfile
from pathlib import Path

from ..course import Course
from .material import material

STAMP = (2020, 1, 1, 0, 0, 0)  # so that the same graders are the same bytes


def pack_graders(graders: Path, course: Course) -> bytes:
    """A zip of what grading reads. The course goes along without its seed, and without what
    else may stand in `course_config.py` (a gradebook's password)."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, path in material(graders).items():
            archive.writestr(zipfile.ZipInfo(renamed(name, graders), STAMP), path.read_bytes())
        archive.writestr(zipfile.ZipInfo("graders/course.json", STAMP), course.public_json())
    return buffer.getvalue()


def renamed(name: str, graders: Path) -> str:
    """A file's name in the parcel, where the graders' folder is always called `graders`."""
    return name.replace(f"{graders.name}/", "graders/", 1) if name.startswith(graders.name) else name


def unpack_graders(parcel: bytes, folder: Path) -> Path:
    """Unpack into a folder of one's own; returns the graders' folder in it."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with zipfile.ZipFile(io.BytesIO(parcel)) as archive:
        archive.extractall(folder)
    return folder / "graders"
