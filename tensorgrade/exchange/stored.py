"""The file of an exercise and a side: what a build recorded, and a key of what it ran.

A side is `graders/` or `exercises/`. The file is in the format of safetensors. Parts that are not
tensors are stored as compressed JSON.
"""

import json
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load, save

from ..course import CourseError
from ..folders import write_file
from .stored_key import NO_SUM, SUFFIX, checksum, key_in

PART = "part|"  # prefix for the names of parts
DAMAGES = (SafetensorError, zlib.error, ValueError, KeyError, TypeError)


def stored_path(folder: Path, chapter: str, exercise: str) -> Path:
    """Return the path of an exercise's file. folder: `graders/` or `exercises/`."""
    return folder / "references" / chapter / f"{exercise}{SUFFIX}"


def stored_bytes(key: str, parts: Mapping[str, Any], tensors: dict[str, torch.Tensor]) -> bytes:
    """Return the content of a file. The same parts and tensors give the same bytes."""
    packed = {f"{PART}{name}": packed_part(part) for name, part in parts.items()}
    # The metadata has one entry only, because safetensors writes several in a varying order.
    content = save(tensors | packed, metadata={"key": f"{key} {NO_SUM}"})
    return content.replace(NO_SUM.encode(), checksum(content).encode(), 1)


def store(path: Path, key: str, parts: Mapping[str, Any], tensors: dict[str, torch.Tensor]) -> None:
    """Write a file completely or not at all."""
    write_file(path, stored_bytes(key, parts, tensors))


def read_tensors(path: Path) -> dict[str, torch.Tensor]:
    """Return all tensors of a file, sorted by name, with the packed parts.

    Raises CourseError if the file is missing or damaged.
    """
    refuse_missing(path)
    try:  # loading all at once takes a third of the time
        return dict(sorted(load(path.read_bytes()).items()))
    except DAMAGES:
        raise damaged(path) from None


def read_part(path: Path, name: str) -> Any:
    """Return one part of a file, or None if the file lacks it.

    Raises CourseError if the file is missing or damaged.
    """
    refuse_missing(path)
    try:
        with safe_open(path, framework="pt") as file:
            has_part = f"{PART}{name}" in file.keys()  # noqa: SIM118 (it is no dict)
            return unpacked_part(file.get_tensor(f"{PART}{name}")) if has_part else None
    except DAMAGES:
        raise damaged(path) from None


def without_part(path: Path, name: str) -> bytes:
    """Return the content of a file without one part. Raises CourseError as `read_tensors`."""
    tensors = read_tensors(path)
    tensors.pop(f"{PART}{name}", None)
    return stored_bytes(key_in(path), {}, tensors)


def packed_part(part: Any) -> torch.Tensor:
    """Return a part as compressed JSON."""
    text = json.dumps(part, separators=(",", ":"))
    return torch.frombuffer(bytearray(zlib.compress(text.encode())), dtype=torch.uint8)


def unpacked_part(packed: torch.Tensor) -> Any:
    """Return a part from its packed form."""
    return json.loads(zlib.decompress(packed.numpy().tobytes()))


def refuse_missing(path: Path) -> None:
    """Raise CourseError if a file is missing."""
    if not path.exists():
        raise CourseError(f"{path} is missing; `tensorgrade build` makes it")


def damaged(path: Path) -> CourseError:
    """Return the error for a damaged file."""
    return CourseError(f"{path} is damaged; `tensorgrade build` makes it again")
