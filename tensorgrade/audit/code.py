"""The audited code as the trusted side sees it: requests to its process, and checked replies."""

from dataclasses import asdict
from typing import Any, TypeVar

import msgspec
import torch
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

    takes: the number of a function's parameters. has_signs: its code calls what attention calls.
    names: all names in its code. calls, starts: the lines of its code, those of `__init__` last.
    """

    name: str
    line: int
    is_class: bool
    has_forward: bool
    takes: int
    has_signs: bool
    names: list[str]
    calls: list[int]
    starts: list[int]


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
    rewound: bool
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
        """Return a new module. how: further entries of the request."""
        how |= {"name": name, "sizes": asdict(sizes)}
        made, values = self.ask(Made, "make", tensors=state, **how)
        return msgspec.structs.replace(made, state=values)

    def call(self, asked: dict, tensors: dict[str, Tensor]) -> tuple[Called, dict[str, Tensor]]:
        """Return what a call returns; its parts have gradients if any of the tensors needs some."""
        if not any(one.requires_grad for one in tensors.values()):
            return self.ask(Called, "call", tensors=tensors, **asked)
        replies: list[Called] = []
        parts = RemoteCall.apply(self, asked, [*tensors], replies, *tensors.values())
        return replies[0], dict(zip(tensors_among(replies[0]), parts, strict=True))


def tensors_among(called: Called) -> list[str]:
    """Return the names of the tensors among the parts of a result."""
    return [f"part.{n}" for n, kind in enumerate(called.parts) if kind == "tensor"]


class RemoteCall(torch.autograd.Function):
    """A call in the other process, whose gradients come from there too."""

    @staticmethod
    def forward(context: Any, code: Code, asked: dict, names: list, replies: list, *values: Tensor):  # type: ignore[no-untyped-def]
        """Return the tensors among the parts of the result."""
        tensors = dict(zip(names, values, strict=True))
        called, sent = code.ask(Called, "call", tensors=tensors, **asked)
        replies.append(called)
        context.how = code, asked, names, tensors_among(called)
        context.save_for_backward(*values)
        return tuple(sent[name] for name in tensors_among(called))

    @staticmethod
    def backward(context: Any, *directions: Tensor | None):  # type: ignore[no-untyped-def]
        """Return the gradient of each value that needs one."""
        code, asked, names, parts = context.how
        tensors = dict(zip(names, context.saved_tensors, strict=True))
        ways = zip(parts, directions, strict=True)
        tensors |= {f"direction.{name}": way for name, way in ways if way is not None}
        _, found = code.ask(None, "call", tensors=tensors, **asked)
        return (None, None, None, None, *map(found.get, names))
