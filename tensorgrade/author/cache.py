"""A cache of build results in a course's `.tensorgrade/` folder, each with a key of its sources.

The folder may be deleted at any time, because a build can make everything in it again. This module
never imports torch, so a build without changes finishes before torch is loaded.
"""

import contextlib
import os
import sys
import tempfile
from collections.abc import Iterable
from hashlib import blake2b
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from ..folders import ENGINE, files_below

FOLDER = ".tensorgrade"
BUILT, BUILT_WITH_PAIRS = "built.txt", "built_with_pairs.txt"  # the last line of a full build
WATCHED = ("solutions", "graders", "exercises", "source")
PACKAGES = ("torch", "safetensors", "pytest", "jupytext", "nbformat")


def cached(root: Path, name: str, key: str) -> str | None:
    """Return the text that was cached under a name with this key, or None."""
    try:
        found, _, text = (root / FOLDER / name).read_text(encoding="utf-8").partition("\n")
    except (OSError, ValueError):
        return None
    return text if found == key else None


def cache(root: Path, name: str, key: str, text: str) -> None:
    """Cache a text completely or not at all. If the folder is not writable, do nothing."""
    path = root / FOLDER / name
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, half = tempfile.mkstemp(dir=path.parent, prefix=".half-")
        os.close(handle)
        try:
            Path(half).write_text(f"{key}\n{text}", encoding="utf-8")
            os.replace(half, path)
        finally:
            Path(half).unlink(missing_ok=True)


def contents(root: Path) -> dict[str, str]:
    """Return digests of all files that a build reads or writes, and the versions of packages."""
    paths = [path for name in WATCHED for path in files_below(root / name)]
    paths += root.glob("*_config.py")
    found = {f"engine {path.relative_to(ENGINE)}": digest_of(path) for path in files_below(ENGINE)}
    found |= contents_of(root, paths) | {"Python": sys.version}
    return found | {name: version_of(name) for name in PACKAGES}


def contents_of(root: Path, paths: Iterable[Path]) -> dict[str, str]:
    """Return digests of some files of a course."""
    return {str(path.relative_to(root)): digest_of(path) for path in paths}


def key_of(found: dict[str, str]) -> str:
    """Return one digest of what `contents` found."""
    return blake2b(repr(sorted(found.items())).encode(), digest_size=16).hexdigest()


def digest_of(path: Path) -> str:
    """Return a digest of a file's content."""
    return blake2b(path.read_bytes(), digest_size=16).hexdigest()


def version_of(package: str) -> str:
    """Return the installed version of a package, or an empty string if it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return ""
