"""The audited code as the trusted side sees it: requests to its process, and checked replies."""

from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec
from torch import Tensor

from ..runner.wire import BadMessage
from ..sandbox.processes import Ended, TimedOut

SECONDS = 20.0  # by the clock, for one request
Told = TypeVar("Told")
Error = tuple[str, str, int | None]  # its type, its text and its line


@dataclass(frozen=True)
class Mistake:
    """A mistake: a name and where to look if it is a known one, and a sentence.

    where: words on the line that it may be on, the most telling first. line: the one that raises an
    error, otherwise 0.
    """

    name: str
    where: str
    says: str
    line: int = 0


class CannotRun(Exception):
    """Something cannot be tried with this definition; the text says why.

    line: the line that raises an error for every input that was tried, 0 if there is none.
    """

    def __init__(self, said: str, line: int = 0):
        super().__init__(said)
        self.line = line


class Raised(CannotRun):
    """The audited code raised an error. line: its last line in the file, 0 if it passed none."""


FAILURES = (CannotRun, RuntimeError, IndexError)  # of a call with other arguments


class Stopped(Exception):
    """The process of the audited code gives no more answers; the text says why."""


class Code:
    """The code of one file in its process.

    channel: a child of the sandbox, or this process. stopped: True if it gives no more answers.
    """

    def __init__(self, channel: Any):
        self.channel, self.stopped = channel, False

    def ask(
        self, kind: type[Told], asked: dict[str, Any], tensors: dict[str, Tensor]
    ) -> tuple[Told, dict[str, Tensor]]:
        """Return what is told in reply to a request, of a checked type, and the tensors.

        Raises Raised or Stopped.
        """
        try:
            told, sent = self.channel.ask(asked, tensors, SECONDS)
            if "error" in told:
                type, text, line = msgspec.convert(told["error"], Error)
                said = f"{type}: {text.strip().partition(chr(10))[0][:160]}"
                raise Raised(f"line {line} raises {said}" if line else said, line or 0)
            return msgspec.convert(told.get("told"), kind), sent
        except (TimedOut, Ended, BadMessage, msgspec.ValidationError) as end:
            self.stopped = True
            late = f"it did not finish within {SECONDS:.0f} seconds"
            ended = "the process that ran it ended before it answered"
            raise Stopped(late if isinstance(end, TimedOut) else ended) from None


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
    """What the process says about a file: definitions, and the names and error of what failed."""

    definitions: list[Definition]
    problems: list[tuple[list[str], Error]]


class Made(msgspec.Struct, frozen=True):
    """What the process says about a module that it made; everything is empty for a function.

    modules: the types of its parts by path. attributes: tensors that are no part of it. state: the
    values of its parameters and buffers.
    """

    parameters: dict[str, Any] = {}
    modules: dict[str, str] = {}
    attributes: list[str] = []
    state: dict[str, Any] = {}

    @property
    def weights(self) -> dict[str, Tensor]:
        """Return the parameters by name."""
        return {name: self.state[name] for name in self.parameters if name in self.state}


class Called(msgspec.Struct, frozen=True):
    """What the process says about one call.

    parts: `tensor`, `object` or nothing for each part of the result. reached: the arguments, and
    weights as `weight.NAME`, with a gradient that is not 0.
    """

    parts: list[str]
    reached: list[str]


class Ran(msgspec.Struct, frozen=True):
    """What the process says about a request to run the code."""

    made: Made
    calls: list[Called]
