"""Observations: replies from the learner's side, checked piece by piece.

A process that runs learner code wrote everything in a reply. This module checks its form once, so
that an Observation always has the types it promises. The content may still be false.
"""

import inspect
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from typing import TypeVar

import torch

from ..runner.edits import Edit, Idea
from ..runner.errors import MOST_SIZES, SIGNS
from ..runner.source import Source, Unreadable
from ..runner.values import MOST_TENSORS
from ..runner.wire import BadMessage, unpack
from .text import printable
from .values import Reader, Tree

MOST_ITEMS, DEEPEST, MOST_SIZES_OF_ONE = 2000, 6, 6
DTYPES = {torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.bool}
DTYPES |= {torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8}
NAMES_OF_DTYPES = [str(dtype).removeprefix("torch.") for dtype in DTYPES]


MOST_TRIES, LONGEST_EDIT = 400, 1 << 20
FIELDS_OF_A_TRY = {"line", "idea", "code", "text", "values", "facts", "error"}
MOST_PARAMETERS, LONGEST_NAME = 40, 60  # of one learner definition; of one parameter name
KINDS = {
    kind.name: kind
    for kind in (
        inspect.Parameter.POSITIONAL_ONLY,
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
        inspect.Parameter.VAR_POSITIONAL,
        inspect.Parameter.KEYWORD_ONLY,
        inspect.Parameter.VAR_KEYWORD,
    )
}

Sizes = dict[str, tuple[int, ...] | int]  # by name, a tensor's shape or an integer
Told = TypeVar("Told", list, dict)  # the types that a fact may have


class Outcome(StrEnum):
    """The outcome of loading a file, or of exchanging messages about one case."""

    LOADED = "loaded"
    ANSWERED = "answered"
    TIMEOUT = "timeout"
    KILLED = "killed"
    UNREACHED = "unreached"  # a case after one that never came back
    UNREADABLE = "unreadable"  # there was no text to load


@dataclass(frozen=True)
class CaughtError:
    """An error raised by learner code, as its own process reports it.

    type, kinds: its class, and all classes of which it is an instance.
    line, source, function, definition: the place in the learner's file that raised it, if there is
        one, with the function and the top-level definition around it.
    called: the line that called that function.
    verb: the action of the case at that moment.
    missing: a name that the case asks for and the file does not define, if that is the error.
    signs: further observations at that place, from SIGNS in runner/errors.py.
    sizes, dtypes: the sizes and the dtypes of the values that the line names.
    empty: the names on the line that are None.
    """

    type: str
    text: str = ""
    line: int | None = None
    source: str = ""
    function: str = ""
    kinds: tuple[str, ...] = ()
    verb: str = ""
    missing: str | None = None
    definition: str = ""
    signs: tuple[str, ...] = ()
    sizes: Sizes = field(default_factory=dict)
    called: int | None = None
    dtypes: dict[str, str] = field(default_factory=dict)
    empty: tuple[str, ...] = ()

    @property
    def is_unwritten(self) -> bool:
        """Return True if the learner's own line raises NotImplementedError.

        torch raises the same error for reasons of its own.
        """
        return self.type == "NotImplementedError" and "NotImplementedError" in self.source


@dataclass(frozen=True)
class Problem:
    """A statement of the learner's file that failed: the names it binds, and the error."""

    names: tuple[str, ...]
    error: CaughtError


@dataclass(frozen=True)
class Loaded:
    """The result of loading a learner's file: the names it defines, and the statements that failed.

    reason: a sentence on why there was nothing to load; empty if there was something.
    calls: the file's own names that an exercise's code refers to, directly or indirectly.
    outside: by definition, the names of values that it reads but the file creates outside of it.
    `calls` and `outside` are claims of the learner's process.
    """

    status: Outcome = Outcome.LOADED
    names: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()
    reason: str = ""
    calls: dict[str, tuple[str, ...]] = field(default_factory=dict)
    outside: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def failure_of(self, name: str) -> CaughtError | None:
        """Return the error in a name's definition; None if it did not fail or does not exist.

        A definition that failed does not count if another one followed it.
        """
        if name in self.names:
            return None
        return next((problem.error for problem in self.problems if name in problem.names), None)


@dataclass(frozen=True)
class Observation:
    """The result of running one case on one attempt.

    tensors: results and gradients by name. values: by name, each result that is not a tensor, as
    its `type` and a tree under `json`. facts: further observations by the name of a result or a
    topic, which are claims of the learner's process. error: the error raised, if any.
    """

    status: Outcome = Outcome.ANSWERED
    tensors: dict[str, torch.Tensor] = field(default_factory=dict, repr=False)
    values: dict[str, dict] = field(default_factory=dict)
    facts: dict[str, dict] = field(default_factory=dict)
    error: CaughtError | None = None

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


LONGEST_NOTE = 200  # characters of a note on which of several definitions counts
LONGEST_HEADER = 2 << 20  # bytes of JSON, enough for the largest value allowed
Try = tuple[Edit, Observation]  # an edit, and its result on a case
# The learner's own parameters, by the name that the callable has in the stub.
OwnParameters = dict[str, dict[str, inspect.Parameter]]


def read_observation(message: bytes, case_id: str) -> Observation:
    """Read the observation from a reply to the case with this id. Raises BadMessage."""
    return observation_of(*unpack(message, LONGEST_HEADER), case_id)


def observation_of(header: dict, tensors: dict[str, torch.Tensor], case_id: str) -> Observation:
    """Return the observation from the unpacked header and tensors of a reply. Raises BadMessage."""
    if set(header) != {"id", "values", "facts", "error"} or header["id"] != case_id:
        raise BadMessage("not a reply to this case")
    if len(tensors) > MOST_TENSORS or any(t.dtype not in DTYPES for t in tensors.values()):
        raise BadMessage("too many tensors, or of a kind that no exercise returns")
    values, facts = read_values(header["values"]), objects_in(header["facts"])
    tensors = {printable(name): tensor for name, tensor in tensors.items()}
    return Observation(Outcome.ANSWERED, tensors, values, facts, read_error(header["error"]))


def read_values(told: object) -> dict[str, dict]:
    """Return the values that are not tensors, each as a type and a tree. Raises BadMessage."""
    if not isinstance(told, dict):
        raise BadMessage("values must be an object")
    return {
        printable(name): {
            "type": printable(str(value.get("type"))),
            "json": Reader().read(value.get("json")),
        }
        for name, value in list(told.items())[:MOST_ITEMS]
        if isinstance(value, dict)
    }


def objects_in(told: object) -> dict[str, dict]:
    """Return the objects inside a JSON object, sanitized; drop other entries. Raises BadMessage."""
    clean = tidy(told, DEEPEST - 1)
    if not isinstance(clean, dict):
        raise BadMessage("facts must be an object")
    return {name: value for name, value in clean.items() if isinstance(value, dict)}


def read_tries(message: bytes, number: str) -> list[Try]:
    """Return (edit, observation) for each edit that was tried. Raises BadMessage."""
    header, tensors = unpack(message, LONGEST_HEADER)
    told = header.get("tries")
    if header.get("id") != number or not isinstance(told, list) or len(told) > MOST_TRIES:
        raise BadMessage("not a reply to this search")
    if any(tensor.dtype not in DTYPES for tensor in tensors.values()):
        raise BadMessage("a tensor of a kind that no exercise returns")
    results: dict[str, dict[str, torch.Tensor]] = {}
    for key, tensor in tensors.items():
        at, _, name = key.partition("|")
        results.setdefault(at, {})[printable(name)] = tensor
    return [read_try(one, results.get(str(at), {})) for at, one in enumerate(told)]


def read_try(told: object, tensors: dict[str, torch.Tensor]) -> Try:
    """Return one edit that was tried, with its observation. Raises BadMessage."""
    if not isinstance(told, dict) or set(told) != FIELDS_OF_A_TRY:
        raise BadMessage("not a try")
    line, idea, code, text = (told[name] for name in ("line", "idea", "code", "text"))
    fits = isinstance(line, int) and idea in [*Idea] and isinstance(code, str)
    if not fits or not isinstance(text, str) or not 0 < line < 10**7 or len(text) > LONGEST_EDIT:
        raise BadMessage("not an edit")
    values, facts = read_values(told["values"]), objects_in(told["facts"])
    seen = Observation(tensors=tensors, values=values, facts=facts)
    quoted = " ".join(printable(code).split())
    return Edit(line, Idea(idea), quoted, text), replace(seen, error=read_error(told["error"]))


def read_own_parameters(told: object) -> OwnParameters:
    """Return the claimed parameters of the learner's definitions. Raises BadMessage."""
    if not isinstance(told, dict) or not all(isinstance(taken, list) for taken in told.values()):
        raise BadMessage("not a reply to parameters")
    try:
        return {
            called: {name: inspect.Parameter(name, KINDS[kind]) for name, kind in taken}
            for called, taken in told.items()
            if len(taken) <= MOST_PARAMETERS and all(len(n) <= LONGEST_NAME for n, _ in taken)
        }
    except (KeyError, TypeError, ValueError):
        raise BadMessage("not the parameters of a definition") from None


def read_source(message: bytes) -> Source:
    """Return the text found in a learner's files. Raises Unreadable or BadMessage."""
    header, _ = unpack(message)
    if isinstance(header.get("reason"), str):
        raise Unreadable(printable(header["reason"]))
    found = header.get("source")
    if not isinstance(found, dict) or set(found) != {one.name for one in fields(Source)}:
        raise BadMessage("not a reply to load")
    if not isinstance(found["text"], str) or not isinstance(found["filename"], str):
        raise BadMessage("a source is text")
    starts, names = found["starts"], found["names"]
    if not isinstance(starts, list) or not all(isinstance(start, int) for start in starts):
        raise BadMessage("cells start at lines")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise BadMessage("cells have names")
    names = tuple(" ".join(printable(name).split()) for name in names)
    return Source(found["text"], found["filename"], tuple(starts), names, read_notes(found))


def read_notes(found: dict) -> tuple[tuple[str, str], ...]:
    """Return the notes on exercises that a text defines twice. Raises BadMessage."""
    notes = found["notes"]
    pairs = isinstance(notes, list) and all(isinstance(n, list) and len(n) == 2 for n in notes)
    if not pairs or not all(isinstance(word, str) for note in notes for word in note):
        raise BadMessage("notes are pairs of texts")
    return tuple((printable(name), printable(said)[:LONGEST_NOTE]) for name, said in notes)


def read_parts(message: bytes) -> list[tuple[list[str], str]]:
    """Return (names, text) for each top-level statement of a text. Raises BadMessage."""
    told = unpack(message)[0].get("parts")
    if not isinstance(told, list) or not all(map(is_part, told)):
        raise BadMessage("not a reply to parts")
    return [(names, text) for names, text in told]


def is_part(part: object) -> bool:
    """Return True if the argument is a pair of names and a text."""
    if not isinstance(part, list) or len(part) != 2 or not isinstance(part[0], list):
        return False
    return all(isinstance(text, str) for text in [*part[0], part[1]])


def read_loaded(message: bytes) -> Loaded:
    """Return the content of a reply to `load`. Raises BadMessage if it is not one."""
    header, _ = unpack(message, LONGEST_HEADER)
    names, problems = header.get("names"), header.get("problems")
    if not isinstance(names, list) or not isinstance(problems, list):
        raise BadMessage("not a reply to load")
    calls, outside = by_definition(header.get("calls")), by_definition(header.get("outside"))
    read = tuple(filter(None, map(read_problem, problems)))
    return Loaded(Outcome.LOADED, tuple(strings(names)), read, calls=calls, outside=outside)


def by_definition(told: object) -> dict[str, tuple[str, ...]]:
    """Return the names that a process reports for each definition; drop other entries."""
    pairs = list(told.items())[:MOST_ITEMS] if isinstance(told, dict) else []
    return {printable(k): tuple(strings(v)) for k, v in pairs if isinstance(v, list)}


def read_problem(problem: object) -> Problem | None:
    """Return a problem; None if one of its required fields is missing."""
    if not isinstance(problem, dict) or not isinstance(problem.get("names"), list):
        return None
    error = read_error(problem.get("error"))
    return Problem(tuple(strings(problem["names"])), error) if error else None


def read_error(error: object) -> CaughtError | None:
    """Return an error with all of its fields, each of the right type; None if there is none."""
    if not isinstance(error, dict):
        return None
    kind, text, function, source, verb, definition = (
        printable(str(error.get(key) or ""))
        for key in ("type", "text", "function", "source", "verb", "definition")
    )
    signs, missing, kinds = error.get("signs"), error.get("missing"), error.get("kinds")
    told = strings(signs) if isinstance(signs, list) and len(signs) <= len(SIGNS) else []
    sizes, dtypes, empty = read_values_there(error)
    return CaughtError(
        kind,
        text,
        read_line(error.get("line")),
        source,
        function,
        tuple(strings(kinds)) if isinstance(kinds, list) else (kind,),
        verb,
        printable(missing) if isinstance(missing, str) else None,
        definition,
        tuple(sign for sign in told if sign in SIGNS),
        sizes,
        read_line(error.get("called")),
        dtypes,
        empty,
    )


def read_line(told: object) -> int | None:
    """Return a line number; None for any other value."""
    return told if type(told) is int and 0 < told < 10**7 else None


def read_values_there(error: dict) -> tuple[Sizes, dict[str, str], tuple[str, ...]]:
    """Return (sizes, dtypes, empty) of an error: what the names on its line hold.

    See CaughtError. Only a few names are included, and entries of another form are dropped.
    """
    sizes: Sizes = {}
    told, dtypes, empty = error.get("sizes"), error.get("dtypes"), error.get("empty")
    for name, size in list(told.items())[:MOST_SIZES] if isinstance(told, dict) else ():
        if isinstance(size, list) and all(type(number) is int for number in size):
            sizes[printable(str(name))] = tuple(size[:MOST_SIZES_OF_ONE])
        elif type(size) is int:
            sizes[printable(str(name))] = size
    pairs = list(dtypes.items())[:MOST_SIZES] if isinstance(dtypes, dict) else []
    known = {printable(str(name)): dtype for name, dtype in pairs if dtype in NAMES_OF_DTYPES}
    return sizes, known, tuple(strings(empty[:MOST_SIZES])) if isinstance(empty, list) else ()


def strings(values: list) -> list[str]:
    """Return the strings of a list, made printable; drop other entries."""
    return [printable(v) for v in values[:MOST_ITEMS] if isinstance(v, str)]


def tidy(value: object, depth: int = DEEPEST) -> object:
    """Return JSON with bounded size and depth, without control characters for a terminal."""
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, dict) and depth:
        return {printable(str(k)): tidy(v, depth - 1) for k, v in list(value.items())[:MOST_ITEMS]}
    if isinstance(value, list) and depth:
        return [tidy(v, depth - 1) for v in value[:MOST_ITEMS]]
    return value if value is None or isinstance(value, (bool, int, float)) else None
