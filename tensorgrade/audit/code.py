"""The audited code as the trusted side sees it: requests to its process, and checked replies."""

from dataclasses import asdict
from typing import Any, TypeVar

import msgspec
from torch import Tensor

from ..exchange.observation import Reply
from ..runner.wire import BadMessage
from ..sandbox.processes import Ended, TimedOut
from .child import Bench
from .roles import Sizes

SECONDS = 20.0  # by the clock, for one request
Told = TypeVar("Told")


class Raised(Exception):
    """The audited code raised an error. line: its last line in the file, 0 if it passed none."""

    def __init__(self, type: str, text: str = "", line: int | None = None):
        self.text, self.line = f"{type}: {text.strip().partition(chr(10))[0][:160]}", line or 0
        super().__init__(f"line {line} raises {self.text}" if line else self.text)


class Stopped(Exception):
    """The process of the audited code gives no more answers; the text says why."""


class Here:
    """This process as a channel, for code that is trusted."""

    def __init__(self) -> None:
        self.bench = Bench()

    def ask(self, asked: dict, tensors: dict[str, Tensor], seconds: float) -> Reply:
        """Return the reply to a request."""
        header, sent = self.bench.answer(asked, tensors)
        return header, {name: value.detach().clone() for name, value in sent.items()}

    def close(self) -> None:
        """Do nothing: this process goes on."""


class Definition(msgspec.Struct, frozen=True):
    """A top-level definition of the file, as its text shows it.

    takes: the number of a function's parameters. names: all names in its code. lines: the numbers
    of its lines of code, those of `__init__` last.
    """

    name: str
    line: int
    is_class: bool
    has_forward: bool
    takes: int
    names: list[str]
    lines: list[int]


class Parameter(msgspec.Struct, frozen=True, array_like=True):
    """A parameter of a definition. default: as code, an empty text if it has none."""

    name: str
    kind: str
    default: str


class Made(msgspec.Struct, frozen=True):
    """What the process says about a module that it made, and the values of its state.

    heads: the numbers under usual names of the number of heads. plain: a tensor or module that is
    no part of it. seeded: torch's seed is still the one that was set before.
    """

    handle: str
    parameters: list[str]
    kinds: dict[str, str]
    heads: list[int]
    plain: str
    eps: float
    seeded: bool
    state: dict[str, Any] = {}

    @property
    def weights(self) -> dict[str, Tensor]:
        """Return the parameters by name."""
        return {name: self.state[name] for name in self.parameters if name in self.state}


class Called(msgspec.Struct, frozen=True):
    """The kinds of the parts that a call returned, and the handle under which they are kept."""

    parts: list[str]
    handle: str


class Code:
    """The code of one file in its process. Each request may raise Raised or Stopped.

    channel: a child of the sandbox, or this process. requests: how many there were. stopped: True
    if it gives no more answers.
    """

    def __init__(self, channel: Any):
        self.channel, self.requests, self.stopped = channel, 0, False

    def ask(self, kind: type[Told], do: str, **asked: Any) -> tuple[Told, dict[str, Tensor]]:
        """Return what is told in reply to a request, of a checked type, and the tensors."""
        tensors = asked.pop("tensors", {})
        self.requests += 1
        try:
            told, sent = self.channel.ask({"do": do, **asked}, tensors, SECONDS)
            if "error" in told:
                raise Raised(*msgspec.convert(told["error"], tuple[str, str, int | None]))
            return msgspec.convert(told.get("told"), kind), sent
        except (TimedOut, Ended, BadMessage, msgspec.ValidationError) as end:
            self.stopped = True
            late = f"it did not finish within {SECONDS:.0f} seconds"
            ended = "the process that ran it ended before it answered"
            raise Stopped(late if isinstance(end, TimedOut) else ended) from None

    def make(self, name: str, sizes: Sizes, state: dict[str, Tensor], **how: Any) -> Made:
        """Return a new module. state: values to load. how: further entries of the request."""
        made, values = self.ask(Made, "make", tensors=state, name=name, sizes=asdict(sizes), **how)
        return msgspec.structs.replace(made, state=values)
