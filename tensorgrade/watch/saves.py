"""Notices which files have been saved, by looking at their times and sizes."""

from pathlib import Path


class Saves:
    """Some files, and how each of them looked the last time."""

    def __init__(self, paths: list[Path]):
        self.seen = {path: look(path) for path in paths}

    def since_last(self) -> list[Path]:
        """The files that have changed since this was last asked."""
        now = {path: look(path) for path in self.seen}
        changed = [path for path, state in now.items() if state != self.seen[path]]
        self.seen = now
        return changed


def look(path: Path) -> tuple[int, int, int] | None:
    """(time in ns, size in bytes, inode); None where there is no file."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
