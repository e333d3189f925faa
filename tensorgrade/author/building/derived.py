"""A generated file: a way to write it, and a comparison with the file on disk."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Derived:
    """One generated file. fresh: returns True if the file on disk is up to date."""

    path: Path
    write: Callable[[], None]
    fresh: Callable[[], bool]


def text_file(path: Path, text: str) -> Derived:
    """Return a derived text file."""
    return Derived(
        path,
        lambda: write_bytes(path, text.encode()),
        lambda: path.exists() and path.read_text(encoding="utf-8") == text,
    )


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file, and its folder if it is missing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
