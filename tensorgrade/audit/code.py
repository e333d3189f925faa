"""The audited file as the trusted side sees it: its place, its process, and checked replies."""

from dataclasses import asdict, dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from torch import Tensor

from ..attempts.lab import There
from ..course import CourseError
from ..exchange.observation import CaughtError, Problem
from ..runner.wire import BadMessage
from ..sandbox.processes import Budget, Ended, ForkServer, TimedOut
from .child import Bench
from .conventions import Inputs

SECONDS = 20.0  # by the clock, for one request
MOST_SECONDS, MOST_REPLY = 200.0, 64 << 20
Told = TypeVar("Told")


@dataclass(frozen=True)
class Mistake:
    """A mistake: a sentence, and a name and where to look if it is a known one.

    where: words on the line that it may be on, the most telling first. line: the one that raises an
    error, otherwise 0.
    """

    says: str
    name: str = ""
    where: str = ""
    line: int = 0


class CannotRun(Exception):
    """Something cannot be tried with this definition; the text says why.

    line: the line of the file that raises an error, 0 for none.
    """

    def __init__(self, said: str, line: int | None = None):
        super().__init__(said)
        self.line = line or 0


class Raised(CannotRun):
    """The audited code raised an error."""


FAILURES = (CannotRun, RuntimeError, IndexError)  # of a call with other arguments


class Stopped(Exception):
    """The process of the audited code ended or gave no answer; the text says which."""


@dataclass(frozen=True)
class File:
    """A file to audit, how it is imported, and what the caller knows about its code.

    place: its path as the caller wrote it. module: its dotted name, empty for a file that is in no
    package. package: the folder of its topmost package, if it is in one. name: one definition, or
    empty for all. kind: such as `causal_attention`. mask: the meaning of a mask. arguments: values
    by name.
    """

    place: str
    name: str
    filename: str
    text: str
    module: str
    package: str
    kind: str = ""
    mask: str = ""
    arguments: dict[str, Any] = field(default_factory=dict)


def file_of(target: str, **known: Any) -> File:
    """Return the file behind `FILE` or `FILE:NAME`. Raises CourseError.

    known: the kind, the mask and the arguments, if the caller knows them.
    """
    place, _, name = target.rpartition(":") if ":" in target[2:] else (target, "", "")
    path = Path(place)
    if path.suffix != ".py" or not path.is_file():
        raise CourseError(f"there is no Python file {place}")
    parents = path.absolute().parents
    folders = [*takewhile(lambda folder: (folder / "__init__.py").is_file(), parents)]
    for one in (path, *folders):  # a cloned folder may hold a link to any file of the user
        if one.is_symlink():
            raise CourseError(f"{one} is a link, which an audit does not follow; name its target")
    names = [one.name for one in reversed(folders)] + [path.stem] * (path.stem != "__init__")
    text = path.read_text(encoding="utf-8", errors="replace")
    package = str(folders[-1].resolve()) if folders else ""
    module = ".".join(names) if folders else ""
    return File(place, name, str(path.resolve()), text, module, package, **known)


class Definition(msgspec.Struct, frozen=True):
    """A top-level definition of the file.

    names: all names in its code. lines: its lines of code by number, those of `__init__` last.
    makes, takes: the parameters of a class's constructor, and of a call, each with its default as
    code, which is empty for none.
    """

    name: str
    line: int
    is_class: bool
    has_forward: bool
    names: list[str]
    lines: list[tuple[int, str]]
    makes: dict[str, str]
    takes: dict[str, str]


class Opened(msgspec.Struct, frozen=True):
    """What the process says about a file: definitions by name, and the statements that failed."""

    definitions: dict[str, Definition]
    problems: list[Problem]


@dataclass(frozen=True)
class Call:
    """One call of a definition.

    visible: (batch, queries, keys) of the mask that is passed in, if one is. seed: torch's. after:
    the number of an earlier call whose cache is passed in. gradients: they are wanted.
    """

    inputs: Inputs
    visible: Tensor | None = None
    training: bool = False
    seed: int = 0
    after: int | None = None
    gradients: bool = False


class Made(msgspec.Struct, frozen=True):
    """What the process says about a module and its calls; of a function, only about the calls.

    reached: for each call the arguments, and weights as `weight.NAME`, with a gradient that is not
    0. modules: the types of its parts by path. attributes: tensors that are no part of it. weights:
    its parameters by name.
    """

    reached: list[list[str]]
    modules: dict[str, str] = {}
    attributes: list[str] = []
    weights: dict[str, Any] = {}


class Code:
    """The code of one file in its process.

    server: starts the process; None for this one. channel: None if the process has stopped.
    """

    def __init__(self, file: File, server: ForkServer | None):
        self.file, self.server = file, server
        self.channel: There | Bench | None = None

    def open(self) -> Opened:
        """Load the file in a new process, or in this one. Raises Raised or Stopped."""
        server = self.server
        self.channel = There(server.fork(Budget(MOST_SECONDS)), MOST_REPLY) if server else Bench()
        return self.ask(Opened, {"do": "open"} | asdict(self.file), {})[0]

    def ask(
        self, kind: type[Told], asked: dict[str, Any], tensors: dict[str, Tensor]
    ) -> tuple[Told, dict[str, Tensor]]:
        """Return what is told in reply to a request, of a checked type, and the tensors.

        Raises Raised or Stopped.
        """
        assert self.channel, "the file is open"
        try:
            told, sent = self.channel.ask(asked, tensors, SECONDS)
            if "error" in told:
                error = msgspec.convert(told["error"], CaughtError)
                said = f"{error.type}: {error.text.strip().partition(chr(10))[0][:160]}"
                raise Raised(f"line {error.line} raises {said}" if error.line else said, error.line)
            return msgspec.convert(told.get("told"), kind), sent
        except (TimedOut, Ended, BadMessage, msgspec.ValidationError) as end:
            self.close()
            late = f"it did not finish within {SECONDS:.0f} seconds"
            ended = "the process that ran it ended before it answered"
            raise Stopped(late if isinstance(end, TimedOut) else ended) from None

    def close(self) -> None:
        """End the process."""
        if self.channel:
            self.channel.close()
        self.channel = None
