"""What a build has made before, by what it was made from: the folder `.tensorgrade/` of a course.

Nothing in it counts. Whatever is missing, stale or broken there is made again; the folder may be
deleted at any time. What rows need is imported with them: where nothing has changed, a build ends
before torch is there.
"""

import contextlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from ..course import CourseError

if TYPE_CHECKING:
    from ..recognition.imprints import Imprint

FOLDER = ".tensorgrade"
Table = dict[str, dict[str, "Imprint"]]  # by a version's digest, then by a case's


class Kept:
    """The folder of one course."""

    def __init__(self, root: Path):
        self.folder = root / FOLDER

    def rows(self, name: str, made_with: str) -> Table:
        """The imprints of one kind that are kept under a name and were made with the same."""
        from ..recognition.fingerprints import load_fingerprints

        path = self.folder / f"{name}.json"
        try:
            kept = load_fingerprints(path).by_exercise.get(made_with, [])
        except (CourseError, ValueError, AttributeError):  # not there, or cut off
            return {}
        return {one.mistakes[0]: one.imprints for one in kept}

    def keep_rows(self, name: str, made_with: str, rows: Table) -> None:
        """Keep imprints; those that were made with anything else are dropped."""
        from ..recognition.fingerprints import Fingerprint, Fingerprints, save_fingerprints

        prints = [Fingerprint((version,), imprints) for version, imprints in rows.items()]
        text = Fingerprints({made_with: prints})
        self.write(f"{name}.json", lambda path: save_fingerprints(path, text))

    def text(self, name: str) -> str:
        """A text that is kept; empty where there is none."""
        try:
            return (self.folder / name).read_text(encoding="utf-8")
        except (OSError, ValueError):
            return ""

    def keep_text(self, name: str, text: str) -> None:
        """Keep a text."""
        self.write(name, lambda path: path.write_text(text, encoding="utf-8"))

    def write(self, name: str, write: Callable[[Path], object]) -> None:
        """Write a file whole or not at all. Where nothing can be written, nothing is kept."""
        path = self.folder / name
        with contextlib.suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, half = tempfile.mkstemp(dir=path.parent, prefix=".half-")
            os.close(handle)
            try:
                write(Path(half))
                os.replace(half, path)
            finally:
                Path(half).unlink(missing_ok=True)
