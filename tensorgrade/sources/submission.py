"""A chapter's code as it goes to the runner: the learner's text or files, and the stand-ins."""

from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path

import torch
from safetensors.torch import load

from ..exchange.observation import DTYPES
from ..runner.messages import BESIDE
from ..runner.source import Source, Unreadable, decode
from ..runner.values import MOST_TENSORS
from .beside import Beside
from .handins import Handin

# What of torch's asks for its compiler, which takes seconds to import. A file that asks for it and
# has none of these words is as right; it imports that itself.
COMPILES = ("compile", "dynamo", "vmap", "jacrev", "checkpoint", "assert_close", "flex_")
FUNC = ("torch.func", "import func")  # torch.func; `functional` begins alike and imports nothing
LONGEST_NAME = 300  # characters: names are held against those asked for, word by word


def speaks_of_compiler(files: bytes) -> bool:
    """Whether there is a word in them for which torch imports its compiler."""
    if any(word.encode() in files for word in COMPILES):
        return True
    return any(files.count(word.encode()) > files.count(f"{word}tional".encode()) for word in FUNC)


@dataclass(frozen=True)
class Weights:
    """What is in a file that is handed in beside code: tensors by name.

    trouble: why there are none, as a sentence; empty where there may be some. missing: there is no
    such file.
    """

    tensors: dict[str, torch.Tensor] = field(default_factory=dict, repr=False)
    trouble: str = ""
    missing: bool = False


def read_weights(file: Beside) -> Weights:
    """The tensors of a file, which is read as safetensors and as nothing else."""
    if file.reason:
        return Weights(trouble=file.reason, missing=file.missing)
    try:
        tensors = load(file.content)
    except Exception:  # whatever a parser makes of bytes that are none of its own
        return Weights(trouble=f"{file.name} is no safetensors file, or a broken one.")
    if len(tensors) > MOST_TENSORS:
        said = f"{file.name} holds more than {MOST_TENSORS} tensors, which no answer needs."
        return Weights(trouble=said)
    if any(len(name) > LONGEST_NAME for name in tensors):
        said = f"{file.name} holds a tensor with a name of more than {LONGEST_NAME} characters."
        return Weights(trouble=said)
    if strange := [name for name, tensor in tensors.items() if tensor.dtype not in DTYPES]:
        kind = tensors[strange[0]].dtype
        return Weights(trouble=f"{file.name} holds numbers of a kind that no answer needs: {kind}.")
    return Weights(dict(sorted(tensors.items())))


@dataclass(frozen=True)
class Submission:
    """One learner's source for one chapter, or the files in which it is still to be found.

    exercises: the names of the chapter's exercises, each with the code that learners are given to
    mend, empty where they write it themselves. given: sources of modules that the course
    supplies, by module name. rebind: their names that replace the learner's own (a pasted class
    of another chapter must not stand in for the stand-in). beside: what is handed in beside it.
    parameters: those of the stubs, in their order, by what is called. assigned: by what is called,
    the learner's own parameter for each of the stub's, where that is not the one at its place.
    alone: the exercise whose definition is run without the rest of the learner's file, and the code
    that was given for it.
    """

    chapter: str
    source: Source | Handin
    given: dict[str, str] = field(default_factory=dict)
    rebind: tuple[str, ...] = ()
    exercises: dict[str, str] = field(default_factory=dict)
    beside: tuple[Beside, ...] = ()
    parameters: dict[str, list[str]] = field(default_factory=dict)
    assigned: dict[str, dict[str, str]] = field(default_factory=dict)
    alone: tuple[str, str] | None = None

    @cached_property
    def weights(self) -> dict[str, Weights]:
        """What is in the files beside the code, by their names."""
        return {file.name: read_weights(file) for file in self.beside}

    @property
    def compiles(self) -> bool:
        """Whether it speaks of something for which torch imports its compiler."""
        if isinstance(self.source, Source):
            return speaks_of_compiler(self.source.text.encode(errors="replace"))
        return speaks_of_compiler(self.source.content + self.source.script)

    def with_stand_ins(self, sources: dict[str, str]) -> "Submission":
        """The same with definitions put in the place of the learner's own, by their names."""
        return replace(self, given=self.given | sources, rebind=(*self.rebind, *sources))

    def with_definition_alone(self, source: Source, name: str, given: str) -> "Submission":
        """The same, of which only one definition is run; such exercises need no files beside it."""
        return replace(self, source=source, alone=(name, given), beside=())

    def load_request(self, device: str, definitions_only: bool = False) -> dict:
        """The header of the `load` message for the runner."""
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
        """The tensors of the `load` message: weights, and as bytes what is still to be read."""
        found = {
            f"{BESIDE}{file}|{name}": tensor
            for file, weights in self.weights.items()
            for name, tensor in weights.tensors.items()
        }
        if isinstance(self.source, Source):
            return found
        files = {"content": self.source.content, "script": self.source.script}
        return found | {name: as_tensor(content) for name, content in files.items() if content}


def as_tensor(content: bytes) -> torch.Tensor:
    """A file's bytes, as messages carry them: (bytes,), uint8."""
    return torch.frombuffer(bytearray(content), dtype=torch.uint8)


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
