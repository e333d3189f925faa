"""Companion files: weights submitted alongside a chapter's code, found and read as bytes."""

import os.path
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class CompanionFile:
    """One companion file, or the reason for its absence.

    reason: a sentence on why there is no content; empty if there is content.
    missing: no file of that name was submitted.
    """

    name: str
    content: bytes = b""
    reason: str = ""
    missing: bool = False


def companion_files(
    files: Mapping[str, int], folder: Path, *elsewhere: Path
) -> tuple[CompanionFile, ...]:
    """Return the files of these names, each from the first folder that has it.

    files: the largest size allowed for each name, in bytes.
    """
    places = {name: [place / name for place in (folder, *elsewhere)] for name in files}
    there = {
        name: [path for path in paths if os.path.lexists(path)] for name, paths in places.items()
    }
    return tuple(
        companion_file((there[name] or places[name])[0], most) for name, most in files.items()
    )


def companion_file(path: Path, most_bytes: int, name: str = "") -> CompanionFile:
    """Return one file, under its own name or under `name`. Symbolic links are not followed."""
    name = name or path.name
    try:
        if path.is_symlink():
            return CompanionFile(name, reason=f"{name} is a link, not a file.")
        if not path.is_file():
            return missing(name)
        if path.stat().st_size > most_bytes:
            return too_large(name, most_bytes)
        content = path.read_bytes()
    except OSError as error:
        return CompanionFile(name, reason=f"{name} cannot be read: {error.strerror}.")
    return of_content(name, content)


def of_content(name: str, content: bytes) -> CompanionFile:
    """Return a file with this content."""
    return CompanionFile(name, content, "" if content else f"{name} is empty.")


def missing(name: str) -> CompanionFile:
    """Return the result for a file that does not exist."""
    return CompanionFile(
        name, reason=f"There is no {name} next to the chapter's file.", missing=True
    )


def too_large(name: str, most_bytes: int) -> CompanionFile:
    """Return the result for a file that exceeds its maximum size."""
    return CompanionFile(
        name, reason=f"{name} has more than {most_bytes} bytes, which no answer needs."
    )
