"""A cache of build results in a course's `.tensorgrade/` folder, by digests of their sources.

The cache holds nothing of value. Anything missing, stale or damaged is rebuilt, and the folder may
be deleted at any time. The code for rows is imported only on use, so that a build without changes
finishes before it imports torch.
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
Table = dict[str, dict[str, "Imprint"]]  # by a version's digest, then by a case's digest


class Kept:
    """The cache folder of one course."""

    def __init__(self, root: Path):
        self.folder = root / FOLDER

    def rows(self, name: str, made_with: str) -> Table:
        """Return the cached imprints under a name if they were made with the same code."""
        from ..recognition.fingerprints import load_fingerprints

        path = self.folder / f"{name}.json"
        try:
            kept = load_fingerprints(path).by_exercise.get(made_with, [])
        except (CourseError, ValueError, AttributeError):  # missing, or truncated
            return {}
        return {one.mistakes[0]: one.imprints for one in kept}

    def keep_rows(self, name: str, made_with: str, rows: Table) -> None:
        """Cache imprints under a name, replacing any that were made with other code."""
        from ..recognition.fingerprints import Fingerprint, Fingerprints, save_fingerprints

        prints = [Fingerprint((version,), imprints) for version, imprints in rows.items()]
        text = Fingerprints({made_with: prints})
        self.write(f"{name}.json", lambda path: save_fingerprints(path, text))

    def text(self, name: str) -> str:
        """Return a cached text, or an empty string if there is none."""
        try:
            return (self.folder / name).read_text(encoding="utf-8")
        except (OSError, ValueError):
            return ""

    def keep_text(self, name: str, text: str) -> None:
        """Cache a text."""
        self.write(name, lambda path: path.write_text(text, encoding="utf-8"))

    def write(self, name: str, write: Callable[[Path], object]) -> None:
        """Write a complete file or none. If the folder is not writable, cache nothing."""
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
