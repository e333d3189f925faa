"""Replies of the process that runs learner code, decoded into records.

The process wrote everything in a reply. Decoding checks the form of all of it, so a record always
has the types that it promises. Its content may still be false. Any other reply is a BadMessage.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from keyword import iskeyword
from typing import Annotated, Any, Literal, TypeVar

import msgspec
import torch
from msgspec import Meta

from ..runner.case_runner import Reply as Reply
from ..runner.source import Source
from ..runner.values import MOST_TENSORS
from ..runner.wire import BadMessage
from .text import printable
from .values import Tree, checked

MOST_ITEMS, DEEPEST = 2000, 6
LONGEST_HEADER = 2 << 20  # bytes of JSON, enough for the largest value allowed
MOST_TRIES = 400
NO_TEXT = Source("", "")
LONGEST_NOTE = 200  # characters of a note on which of several definitions counts
DTYPES = {torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.bool}
DTYPES |= {torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8}

Line = Annotated[int, Meta(gt=0, lt=10**7)]
Count = Annotated[int, Meta(ge=0)]
Kind = Literal[
    "POSITIONAL_ONLY", "POSITIONAL_OR_KEYWORD", "VAR_POSITIONAL", "KEYWORD_ONLY", "VAR_KEYWORD"
]

Sizes = dict[str, tuple[int, ...] | int]  # by name, a tensor's shape or an integer
# The learner's own parameters, by the name that the callable has in the stub.
OwnParameters = dict[str, dict[str, inspect.Parameter]]
Told = TypeVar("Told", list, dict)  # the types that a fact may have
Record = TypeVar("Record")
Warned = tuple[tuple[Line, str], ...]


class Outcome(StrEnum):
    """The outcome of loading a file, or of exchanging messages about one case."""

    LOADED = "loaded"
    ANSWERED = "answered"
    TIMEOUT = "timeout"
    KILLED = "killed"
    UNREACHED = "unreached"  # a case after one that never came back
    UNREADABLE = "unreadable"  # there was no text to load


class Tidy:
    """A record whose texts are sanitized for display when it is created, and bounded in number."""

    def __post_init__(self) -> None:
        for one in fields(self):  # type: ignore[arg-type]
            object.__setattr__(self, one.name, tidy(getattr(self, one.name)))


@dataclass(frozen=True)
class CaughtError(Tidy):
    """An error raised by learner code, as its own process reports it.

    type, kinds: its class, and all classes of which it is an instance.
    line, source, function, definition: the place in the learner's file that raised it, if there is
        one, with the function and the top-level definition around it.
    called: the line that called that function.
    verb: the action of the case at that moment.
    missing: a name that the case asks for and the file does not define, if that is the error.
    sizes, dtypes: the sizes and the dtypes of the values that the line names.
    empty: the names on the line that are None.
    meant: the name that was meant, if one is misspelt.
    """

    type: str
    text: str = ""
    line: Line | None = None
    source: str = ""
    function: str = ""
    kinds: tuple[str, ...] = ()
    verb: str = ""
    missing: str | None = None
    definition: str = ""
    sizes: Sizes = field(default_factory=dict)
    called: Line | None = None
    dtypes: dict[str, str] = field(default_factory=dict)
    empty: tuple[str, ...] = ()
    meant: str = ""

    @property
    def is_unwritten(self) -> bool:
        """Return True if the learner's own line raises NotImplementedError.

        torch raises the same error for reasons of its own.
        """
        return self.type == "NotImplementedError" and "NotImplementedError" in self.source


@dataclass(frozen=True)
class Problem(Tidy):
    """A statement of the learner's file that failed: the names it binds, and the error."""

    names: tuple[str, ...]
    error: CaughtError


@dataclass(frozen=True)
class Loaded(Tidy):
    """The result of loading a learner's file: the names it defines, and the statements that failed.

    reason: a sentence on why there was nothing to load; empty if there was something.
    calls: the file's own names that an exercise's code refers to, directly or indirectly.
    outside: by definition, the names of values that it reads but the file creates outside of it.
    parameters: (name, kind) of the parameters of a definition, by its name in the stub.
    warned: (line, text) of the warnings about the file's own lines.
    All are claims of the learner's process.
    """

    status: Outcome = Outcome.LOADED
    names: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()
    reason: str = ""
    calls: dict[str, tuple[str, ...]] = field(default_factory=dict)
    outside: dict[str, tuple[str, ...]] = field(default_factory=dict)
    parameters: dict[str, tuple[tuple[str, Kind], ...]] = field(default_factory=dict)
    warned: Warned = ()

    def failure_of(self, name: str) -> CaughtError | None:
        """Return the error in a name's definition; None if it did not fail or does not exist.

        A definition that failed does not count if another one followed it.
        """
        if name in self.names:
            return None
        return next((problem.error for problem in self.problems if name in problem.names), None)

    @property
    def own_parameters(self) -> OwnParameters:
        """Return the parameters as Python's own objects; without those that Python refuses."""
        return {
            called: {
                name: inspect.Parameter(name, getattr(inspect.Parameter, kind))
                for name, kind in taken
                if name.isidentifier() and not iskeyword(name)
            }
            for called, taken in self.parameters.items()
        }


@dataclass(frozen=True)
class Looked:
    """A learner's text and facts about it, found before any of it runs; a reason if there is none.

    changes: by find-the-bug exercise, the number of parts of its syntax tree that differ from the
        given code.
    spans: (names, first line, last line) of each top-level statement.
    names: by exercise, the names in its code that the text does not define itself.
    idle: the lines of statements that compute a value and drop it. early: those with a `return`
        that ends a loop in its first round.
    """

    changes: dict[str, Count] = field(default_factory=dict)
    spans: list[tuple[list[str], Line, Line]] = field(default_factory=list)
    names: dict[str, list[str]] = field(default_factory=dict)
    idle: list[Line] = field(default_factory=list)
    early: list[Line] = field(default_factory=list)
    source: Source = NO_TEXT
    reason: str = ""


@dataclass(frozen=True)
class Observation:
    """The result of running one case on one attempt.

    tensors: results and gradients by name. values: by name, each result that is not a tensor, as
    its `type` and a tree under `json`. facts: further observations by the name of a result or a
    topic, which are claims of the learner's process. error: the error raised, if any.
    warned: (line, text) of the warnings about the learner's own lines.
    """

    status: Outcome = Outcome.ANSWERED
    tensors: dict[str, torch.Tensor] = field(default_factory=dict, repr=False)
    values: dict[str, dict] = field(default_factory=dict)
    facts: dict[str, dict] = field(default_factory=dict)
    error: CaughtError | None = None
    warned: Warned = ()

    def value(self, name: str) -> Tree:
        """Return the result under a name, as a tree to be judged; None if there is none."""
        if name in self.values:
            return self.values[name]["json"]
        if name in self.tensors:
            return {"tensor": name}
        parts = (other for other in (*self.tensors, *self.values) if other.startswith(f"{name}."))
        numbers = sorted({int(n) for part in parts if (n := part[len(name) + 1 :]).isdecimal()})
        return [self.value(f"{name}.{number}") for number in numbers] or None

    def fact(self, *path: str, default: Told) -> Told:
        """Return a fact by its path; the default if it is missing or has another type."""
        told: object = self.facts
        for key in path:
            told = told.get(key) if isinstance(told, dict) else None
        return told if isinstance(told, type(default)) else default

    def home(self, module: str, name: str) -> str:
        """Return the kind of member that a tensor is in a described module.

        That is `buffers`, `parameters`, `attributes` or `nowhere`.
        """
        for place in ("buffers", "parameters"):
            if name in self.fact(module, place, default={}):
                return place
        return "attributes" if name in self.fact(module, "attributes", default=[]) else "nowhere"

    def uses(self, names: set[str]) -> bool:
        """Return True if a watched call ran any of these operations."""
        operations = self.fact("result", "operations", default={})
        return any(operations.get(name) for name in names)


@dataclass(frozen=True)
class Sent:
    """The header of a reply to a case."""

    values: dict[str, dict[str, Any]]
    facts: dict[str, dict[str, Any]]
    error: CaughtError | None
    warned: Warned = ()

    def observed(self, tensors: dict[str, torch.Tensor]) -> Observation:
        """Return the observation with these tensors. Raises BadMessage."""
        if len(tensors) > MOST_TENSORS or any(t.dtype not in DTYPES for t in tensors.values()):
            raise BadMessage("too many tensors, or of a kind that no exercise returns")
        values = {
            printable(name): {
                "type": printable(str(value.get("type"))),
                "json": checked(value.get("json")),
            }
            for name, value in self.values.items()
        }
        named = {printable(name): tensor for name, tensor in tensors.items()}
        told = tidy(self.facts), self.error, tidy(self.warned)
        return Observation(Outcome.ANSWERED, named, values, *told)


Tries = Annotated[tuple[Sent, ...], Meta(max_length=MOST_TRIES)]


def decoded(told: object, kind: Callable[..., Record]) -> Record:
    """Return a part of a header as a record. Raises BadMessage if it has another form."""
    try:
        return msgspec.convert(told, type=kind)
    except (msgspec.ValidationError, RecursionError) as error:
        raise BadMessage(f"unreadable reply: {error}"[:200]) from None


def read_observation(reply: Reply, number: str) -> Observation:
    """Return the observation in the reply to the case with this number. Raises BadMessage."""
    header, tensors = reply
    if header.get("id") != number:
        raise BadMessage("not a reply to this case")
    return decoded(header, Sent).observed(tensors)


def read_tries(reply: Reply, number: str) -> list[Observation]:
    """Return the observation for each variant that was tried. Raises BadMessage."""
    header, tensors = reply
    if header.get("id") != number:
        raise BadMessage("not a reply to this search")
    results: dict[str, dict[str, torch.Tensor]] = {}
    for key, tensor in tensors.items():
        at, _, name = key.partition("|")
        results.setdefault(at, {})[name] = tensor
    tries = decoded(header.get("tries"), Tries)
    return [one.observed(results.get(str(at), {})) for at, one in enumerate(tries)]


def read_looked(reply: Reply) -> Looked:
    """Return what looking at a learner's files found. Raises BadMessage."""
    looked = decoded(reply[0], Looked)
    source = looked.source
    names = tuple(" ".join(printable(name).split()) for name in source.names)
    notes = tuple((printable(name), printable(said)[:LONGEST_NOTE]) for name, said in source.notes)
    shown = replace(source, names=names, notes=notes)
    return replace(looked, source=shown, reason=printable(looked.reason))


def read_loaded(reply: Reply) -> Loaded:
    """Return the result of loading a file. Raises BadMessage."""
    loaded = decoded(reply[0].get("loaded"), Loaded)
    warned = decoded(reply[0].get("warned"), Warned)
    return replace(loaded, status=Outcome.LOADED, reason="", warned=warned)


def strings(values: list) -> list[str]:
    """Return the strings of a list, made printable; drop other entries."""
    return [printable(v) for v in values[:MOST_ITEMS] if isinstance(v, str)]


def tidy(value: Any, depth: int = DEEPEST) -> Any:
    """Return JSON with bounded size and depth, without control characters for a terminal."""
    if isinstance(value, str):
        return printable(value)
    if not isinstance(value, (dict, list, tuple)):
        return value
    if not depth:
        return None
    if isinstance(value, dict):
        return {printable(str(k)): tidy(v, depth - 1) for k, v in list(value.items())[:MOST_ITEMS]}
    return type(value)(tidy(part, depth - 1) for part in value[:MOST_ITEMS])
