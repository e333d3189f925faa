"""Files of weights that are handed in beside a chapter's code: found, and read as bytes."""

import os.path
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Beside:
    """One such file. reason: why there is nothing in it, as a sentence; empty where there is.

    missing: nothing of that name was handed in.
    """

    name: str
    content: bytes = b""
    reason: str = ""
    missing: bool = False


def files_beside(files: Mapping[str, int], folder: Path, *elsewhere: Path) -> tuple[Beside, ...]:
    """The files of these names, none larger than it may be, from the first folder that has one."""
    places = {name: [place / name for place in (folder, *elsewhere)] for name in files}
    there = {
        name: [path for path in paths if os.path.lexists(path)] for name, paths in places.items()
    }
    return tuple(
        file_beside((there[name] or places[name])[0], most) for name, most in files.items()
    )


def file_beside(path: Path, most_bytes: int, name: str = "") -> Beside:
    """One file, under its own name or another one. No link is followed."""
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
    """The file with this content."""
    return Beside(name, content, "" if content else f"{name} is empty.")


def missing(name: str) -> Beside:
    """The file, where there is none."""
    return Beside(name, reason=f"There is no {name} beside the chapter's file.", missing=True)


def too_large(name: str, most_bytes: int) -> Beside:
    """The file, where it is larger than it may be."""
    return Beside(name, reason=f"{name} has more than {most_bytes} bytes, which no answer needs.")
