"""Texts to train on, with characters as tokens."""

import lzma
from collections.abc import Iterable
from pathlib import Path

import torch

from tensorgrade import CourseError

TEXTS = Path(__file__).resolve().parents[2] / "texts"
FEWEST = 1000  # characters; a model cannot learn from less


def read_text(name: str) -> str:
    """Return one of the course's texts by its name, or a file by its path. Raises CourseError."""
    packed = TEXTS / f"{name}.txt.xz"
    ours = sorted(path.name.removesuffix(".txt.xz") for path in TEXTS.glob("*.txt.xz"))
    if name in ours:
        text = lzma.decompress(packed.read_bytes()).decode("utf-8")
    elif Path(name).is_file():
        text = own_text(Path(name))
    else:
        raise CourseError(f"there is no text {name}; use {', '.join(ours)}, or a file's path")
    if len(text) < FEWEST:
        raise CourseError(f"{name} has {len(text)} characters; at least {FEWEST} are needed")
    return text


def own_text(path: Path) -> str:
    """Return a file as text. Raises CourseError."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise CourseError(f"{path} is not UTF-8 text") from None


def ids_of(text: Iterable[str], vocabulary: str, other: int | None = None) -> torch.Tensor:
    """Return (n,) the indices of a text's characters in a vocabulary.

    other: the index for unknown characters; without it they are left out.
    """
    places = {character: place for place, character in enumerate(vocabulary)}
    found = [places.get(character, other) for character in text]
    return torch.tensor([place for place in found if place is not None], dtype=torch.long)
