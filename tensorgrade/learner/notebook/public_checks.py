"""Find the public checks near a notebook: a `checks.zip` next to it, or the `exercises/` folder."""

import functools
import tempfile
import zipfile
from pathlib import Path

from ...course import CourseError

CHECKS = "checks.zip"
UNPACKED: list[tempfile.TemporaryDirectory] = []


def find_exercises(start: Path | None = None) -> Path:
    """Return the folder of the public checks: in `start` or in the nearest folder above it.

    It is an unpacked `checks.zip`, or an `exercises` folder with a `course.json`. start: by default
    the current folder. Raises CourseError.
    """
    start = (start or Path.cwd()).resolve()
    for folder in (start, *start.parents):
        if (folder / CHECKS).is_file():
            return unpacked(folder / CHECKS, (folder / CHECKS).stat().st_mtime_ns)
        if (folder / "exercises" / "course.json").is_file():
            return folder / "exercises"
    raise CourseError(
        f"the public checks are missing: put {CHECKS} next to the notebook, in {start}"
    )


@functools.cache
def unpacked(archive: Path, changed: int) -> Path:
    """Unpack a zip file into a folder that is deleted when Python exits.

    changed: the time when the zip file was last written; a newer file is unpacked again.
    """
    folder = tempfile.TemporaryDirectory(prefix="checks-")
    UNPACKED.append(folder)
    zipfile.ZipFile(archive).extractall(folder.name)
    return Path(folder.name) / "exercises"
