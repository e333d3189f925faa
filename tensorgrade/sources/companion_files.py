"""Companion files: weights submitted alongside a chapter's code, found and read as bytes."""

import os.path
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Beside:
    """One companion file, or the reason for its absence.

    reason: a sentence on why there is no content; empty if there is content.
    missing: no file of that name was submitted.
    """

    name: str
    content: bytes = b""
    reason: str = ""
    missing: bool = False


def files_beside(files: Mapping[str, int], folder: Path, *elsewhere: Path) -> tuple[Beside, ...]:
    """Return the files of these names, each from the first folder that has it.

    files: the largest size allowed for each name, in bytes.
    """
    places = {name: [place / name for place in (folder, *elsewhere)] for name in files}
    there = {
        name: [path for path in paths if os.path.lexists(path)] for name, paths in places.items()
    }
    return tuple(
        file_beside((there[name] or places[name])[0], most) for name, most in files.items()
    )


def file_beside(path: Path, most_bytes: int, name: str = "") -> Beside:
    """Return one file, under its own name or under `name`. Symbolic links are not followed."""
    name = name or path.name
    try:
        if path.is_symlink():
            return Beside(name, reason=f"{name} is a link, not a file.")
        if not path.is_file():
            return missing(name)
        if path.stat().st_size > most_bytes:
            return too_large(name, most_bytes)
        content = path.read_bytes()
    except OSError as error:
        return Beside(name, reason=f"{name} cannot be read: {error.strerror}.")
    return of_content(name, content)


def of_content(name: str, content: bytes) -> Beside:
    """Return a file with this content."""
    return Beside(name, content, "" if content else f"{name} is empty.")


def missing(name: str) -> Beside:
    """Return the result for a file that does not exist."""
    return Beside(name, reason=f"There is no {name} next to the chapter's file.", missing=True)


def too_large(name: str, most_bytes: int) -> Beside:
    """Return the result for a file that exceeds its maximum size."""
    return Beside(name, reason=f"{name} has more than {most_bytes} bytes, which no answer needs.")
