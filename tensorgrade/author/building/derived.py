"""A generated file: how it is written, and how the written one is compared with it."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from .same import same_text


@dataclass(frozen=True)
class Derived:
    """One generated file. fresh: whether what is there says the same already."""

    path: Path
    write: Callable[[], None]
    fresh: Callable[[], bool]


def text_file(path: Path, text: str) -> Derived:
    """A derived file of text."""
    return Derived(path, lambda: write_text(path, text), lambda: same_text(path, text))


def write_text(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
