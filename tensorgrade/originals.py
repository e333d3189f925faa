"""Original stubs, and copies of files that a command replaces, in a folder's `.tensorgrade/`.

A kit brings its originals. In a course's repository, each build stores them.
"""

import shutil
from datetime import datetime
from pathlib import Path

from .folders import OWN_FOLDER


def original_of(root: Path, chapter: str) -> Path:
    """Return the path of a chapter's original script."""
    return root / OWN_FOLDER / "originals" / f"{chapter}.py"


def keep_copy(root: Path, path: Path) -> Path:
    """Copy a file under a name with the time, and return the copy."""
    folder = root / OWN_FOLDER / "copies"
    folder.mkdir(parents=True, exist_ok=True)
    stamp, number = f"{datetime.now():%Y-%m-%d_%H-%M-%S}", 1
    copy = folder / f"{path.stem}_{stamp}{path.suffix}"
    while copy.exists():
        number += 1
        copy = folder / f"{path.stem}_{stamp}_{number}{path.suffix}"
    return Path(shutil.copy2(path, copy))


def keep_answers(root: Path, stub: Path) -> Path | None:
    """Copy a chapter's script that is about to be replaced, and return the copy.

    Return None if it is still the script that the last build wrote.
    """
    original = original_of(root, stub.stem)
    if not stub.is_file():
        return None
    if original.is_file() and original.read_bytes() == stub.read_bytes():
        return None
    return keep_copy(root, stub)


def store_original(root: Path, stub: Path) -> None:
    """Store a chapter's script that a build wrote, unless it is stored already."""
    original = original_of(root, stub.stem)
    if not original.is_file() or original.read_bytes() != stub.read_bytes():
        original.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(stub, original)
