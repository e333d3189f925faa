"""Programs: a learner's text, and all that runs with it."""

import re
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import torch

from ..runner.names import Assignment
from ..runner.source import Source, Unreadable, decode
from .submitted_files import SubmittedFiles


@dataclass(frozen=True, eq=False)
class Program:
    """One learner's source for one chapter, or the files that contain it, and the course's modules.

    Each program is loaded anew, even an equal copy of another one.

    exercises: the names of the chapter's exercises, each with the given code of a find-the-bug
        exercise; empty if learners write the code themselves.
    given: sources of modules that the course supplies, by module name.
    rebind: names from these modules that replace the learner's own definitions. A pasted class of
        another chapter must not replace the substitute.
    parameters: the stub's parameters in their order, by the name of the callable.
    assigned: the learner's names that stand for the stub's, as far as they are decided.
    alone: an exercise whose definition runs without the rest of the learner's file, and the code
        given for it.
    definitions_only: True if the file's other statements do not run, because one of them timed out
        or ended the process.
    """

    chapter: str
    source: Source | SubmittedFiles
    given: dict[str, str] = field(default_factory=dict)
    rebind: tuple[str, ...] = ()
    exercises: dict[str, str] = field(default_factory=dict)
    parameters: dict[str, list[str]] = field(default_factory=dict)
    assigned: Assignment = field(default_factory=Assignment)
    alone: tuple[str, str] | None = None
    definitions_only: bool = False

    def with_right_versions(self, sources: dict[str, str]) -> "Program":
        """Return a copy in which these definitions, by name, replace the learner's own."""
        return replace(self, given=self.given | sources, rebind=(*self.rebind, *sources))

    @property
    def text(self) -> Source:
        """Return the text; an empty one if the files are not read yet."""
        handed = self.source
        return handed if isinstance(handed, Source) else Source("", handed.filename)

    def to_look_at(self, exercises: dict[str, str]) -> tuple[dict, dict[str, torch.Tensor]]:
        """Return the request to `look` at the source, with unread files as bytes.

        exercises: the given code of exercises to compare, in addition to the program's own.
        """
        source, files = None, {}
        if isinstance(self.source, Source):
            source = asdict(self.source)
        else:
            files = {"content": self.source.content, "script": self.source.script}
        about = {"filename": self.source.filename, "exercises": self.exercises | exercises}
        tensors = {name: as_tensor(content) for name, content in files.items() if content}
        return {"do": "look", "source": source, **about}, tensors


def as_tensor(content: bytes) -> torch.Tensor:
    """Return a file's bytes as messages carry them: (bytes,), uint8."""
    return torch.frombuffer(bytearray(content), dtype=torch.uint8)


def read_source(path: Path, most_bytes: int) -> Source:
    """Return the text of a learner's file. Raises Unreadable with a sentence for the learner."""
    if not path.exists():
        raise Unreadable(f"There is no file {path.name}.")
    if path.stat().st_size > most_bytes:
        raise Unreadable(f"{path.name} is larger than {most_bytes} bytes, which no answer needs.")
    try:
        return Source(decode(path.read_bytes(), path.name), str(path))
    except OSError as error:
        raise Unreadable(f"{path.name} cannot be read: {error.strerror}.") from None


def read_given(folder: Path, chapter: str, chapters: list[str]) -> tuple[dict, tuple[str, ...]]:
    """Return a chapter's substitutes in `given/<chapter>/`, and the names that they override.

    A substitute for another chapter's module has that chapter's file name.
    """
    given = {
        path.stem: path.read_text(encoding="utf-8")
        for path in sorted((folder / "given" / chapter).glob("*.py"))
    }
    texts = [text for stem, text in given.items() if stem in chapters]
    rebind = [name for text in texts for name in re.findall(r"^class (\w+)", text, re.MULTILINE)]
    return given, tuple(rebind)
