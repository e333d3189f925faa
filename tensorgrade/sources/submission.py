"""A chapter's code as it goes to the runner: the learner's source and the stand-ins beside it."""

from bisect import bisect_right
from dataclasses import dataclass, field
from pathlib import Path


class Unreadable(Exception):
    """The file is not there or is no text; the message says so to the learner."""


@dataclass(frozen=True)
class Source:
    """A learner's Python text, and what its lines are called where the learner wrote them.

    filename: the file that it stands in. starts, names: of a notebook, the line before each
    cell's first one, and the cells' names.
    """

    text: str
    filename: str
    starts: tuple[int, ...] = ()
    names: tuple[str, ...] = ()

    def place(self, line: int) -> str:
        """A line of the text as the learner knows it.

        >>> Source("x = 1", "a.py").place(1), Source("…", "a.ipynb", (1,), ("`f`",)).place(3)
        ('line 1', 'cell `f`, line 2')
        """
        at = bisect_right(self.starts, line - 1) - 1
        if at < 0:
            return f"line {line}"
        return f"cell {self.names[at]}, line {line - self.starts[at]}"


@dataclass(frozen=True)
class Submission:
    """One learner's source for one chapter.

    given: sources of modules that the course supplies, by module name. rebind: their names that
    replace the learner's own (a pasted class of another chapter must not stand in for the
    stand-in).
    """

    chapter: str
    source: Source
    given: dict[str, str] = field(default_factory=dict)
    rebind: tuple[str, ...] = ()

    def load_request(self, device: str, definitions_only: bool = False) -> dict:
        """The `load` message for the runner."""
        return {
            "do": "load",
            "name": self.chapter,
            "source": self.source.text,
            "filename": self.source.filename,
            "given": self.given,
            "rebind": list(self.rebind),
            "definitions_only": definitions_only,
            "device": device,
        }


def read_source(path: Path, most_bytes: int) -> Source:
    """The text of a learner's file. Raises Unreadable with a sentence for the learner."""
    if not path.exists():
        raise Unreadable(f"There is no file {path.name}.")
    if path.stat().st_size > most_bytes:
        raise Unreadable(f"{path.name} is larger than {most_bytes} bytes, which no answer needs.")
    try:
        return Source(decode(path.read_bytes(), path.name), str(path))
    except OSError as error:
        raise Unreadable(f"{path.name} cannot be read: {error.strerror}.") from None


def decode(content: bytes, name: str) -> str:
    """Bytes of a file as text. Raises Unreadable where they are not UTF-8."""
    try:
        return content.decode("utf-8-sig").replace("\0", "").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise Unreadable(
            f"{name} is not UTF-8 text (byte {error.start}); save it as UTF-8 and try again."
        ) from None


def read_given(folder: Path, chapter: str, chapters: list[str]) -> tuple[dict, tuple[str, ...]]:
    """Stand-ins of a chapter, in `given/<chapter>/`, and the names that they insist on.

    A stand-in for another chapter's module carries that chapter's file name.
    """
    given = {
        path.stem: path.read_text(encoding="utf-8")
        for path in sorted((folder / "given" / chapter).glob("*.py"))
    }
    rebind = [name for stem in given if stem in chapters for name in classes_in(given[stem])]
    return given, tuple(rebind)


def classes_in(source: str) -> list[str]:
    """Names of the classes that a source defines at its top level."""
    return [
        line[6:].split("(")[0].split(":")[0] for line in source.splitlines() if line[:6] == "class "
    ]
