"""A chapter's code in the form the runner receives: a learner's text or files, and substitutes."""

import re
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import torch

from ..runner.source import Source, Unreadable, decode
from .submitted_files import SubmittedFiles


@dataclass(frozen=True)
class Submission:
    """One learner's source for one chapter, or the files that contain it.

    exercises: the names of the chapter's exercises, each with the given code of a find-the-bug
        exercise; empty if learners write the code themselves.
    given: sources of modules that the course supplies, by module name.
    rebind: names from these modules that replace the learner's own definitions. A pasted class of
        another chapter must not replace the substitute.
    parameters: the stub's parameters in their order, by the name of the callable.
    assigned: by the name of a callable whose parameters are in another order, the learner's
        parameter for each of the stub's. Other callables are not included.
    alone: an exercise whose definition runs without the rest of the learner's file, and the code
        given for it.
    """

    chapter: str
    source: Source | SubmittedFiles
    given: dict[str, str] = field(default_factory=dict)
    rebind: tuple[str, ...] = ()
    exercises: dict[str, str] = field(default_factory=dict)
    parameters: dict[str, list[str]] = field(default_factory=dict)
    assigned: dict[str, dict[str, str]] = field(default_factory=dict)
    alone: tuple[str, str] | None = None

    def with_stand_ins(self, sources: dict[str, str]) -> "Submission":
        """Return a copy in which these definitions, by name, replace the learner's own."""
        return replace(self, given=self.given | sources, rebind=(*self.rebind, *sources))

    def with_definition_alone(self, source: Source, name: str, given: str) -> "Submission":
        """Return a copy that runs only one definition."""
        return replace(self, source=source, alone=(name, given))

    def load_request(self, device: str, definitions_only: bool = False) -> dict:
        """Return the header of the `load` message for the runner."""
        return {
            "do": "load",
            "name": self.chapter,
            "source": asdict(self.source) if isinstance(self.source, Source) else None,
            "filename": self.source.filename,
            "exercises": self.exercises,
            "parameters": self.parameters,
            "assigned": self.assigned,
            "given": self.given,
            "rebind": list(self.rebind),
            "definitions_only": definitions_only,
            "alone": self.alone,
            "device": device,
        }

    def files(self) -> dict[str, torch.Tensor]:
        """Return the tensors of the `load` message: unread files as bytes."""
        if isinstance(self.source, Source):
            return {}
        files = {"content": self.source.content, "script": self.source.script}
        return {name: as_tensor(content) for name, content in files.items() if content}


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
