"""What came back from the learner's side, checked piece by piece.

Everything in a reply was written by a process that runs learner code. It is checked for form
here, once; whoever reads an Observation finds the types it promises. That says nothing about
its truth.
"""

from dataclasses import dataclass, field

import torch

from .runner.messages import BadMessage, unpack

MOST_TENSORS, MOST_ITEMS, LONGEST_TEXT, DEEPEST = 200, 2000, 500, 6
DTYPES = {torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.bool}
DTYPES |= {torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8}


@dataclass(frozen=True)
class Observation:
    """One case run on one attempt.

    status: `answered`; or `timeout`, `killed`, and `unreached` for the cases after such an end.
    tensors: results and gradients by name. values: results that are no tensors, with their type.
    facts: what was seen on the way (claims of the learner's process). error: what was raised.
    """

    status: str = "answered"
    tensors: dict[str, torch.Tensor] = field(default_factory=dict, repr=False)
    values: dict[str, dict] = field(default_factory=dict)
    facts: dict[str, dict] = field(default_factory=dict)
    error: dict | None = None

    def fact(self, *path: str, default=None):
        """A fact by its path, or the default where it was not told or has another type."""
        found = self.facts
        for key in path:
            found = found.get(key) if isinstance(found, dict) else None
        return found if default is None or isinstance(found, type(default)) else default


@dataclass(frozen=True)
class Loaded:
    """What loading a learner's file came to: the names it defines, and what in it failed."""

    status: str = "loaded"
    names: tuple[str, ...] = ()
    problems: tuple[dict, ...] = ()


def read_observation(message: bytes, case_id: str) -> Observation:
    """The observation in a reply to the case of that id. Raises BadMessage on anything else."""
    header, tensors = unpack(message)
    if set(header) != {"id", "values", "facts", "error"} or header["id"] != case_id:
        raise BadMessage("not a reply to this case")
    if len(tensors) > MOST_TENSORS or any(t.dtype not in DTYPES for t in tensors.values()):
        raise BadMessage("too many tensors, or of a kind that no exercise returns")
    clean = tidy({k: header[k] for k in ("values", "facts")})
    if not all(isinstance(clean[k], dict) for k in clean):
        raise BadMessage("values and facts must be objects")
    values = {k: v for k, v in clean["values"].items() if isinstance(v, dict)}
    tensors = {printable(name): tensor for name, tensor in tensors.items()}
    return Observation("answered", tensors, values, clean["facts"], read_error(header["error"]))


def read_loaded(message: bytes) -> Loaded:
    """What a reply to `load` says. Raises BadMessage where it is none."""
    header, _ = unpack(message)
    names, problems = header.get("names"), header.get("problems")
    if not isinstance(names, list) or not isinstance(problems, list):
        raise BadMessage("not a reply to load")
    kept = [p for p in problems if isinstance(p, dict) and isinstance(p.get("names"), list)]
    problems = ({"names": strings(p["names"]), "error": read_error(p.get("error"))} for p in kept)
    return Loaded("loaded", tuple(strings(names)), tuple(p for p in problems if p["error"]))


def read_error(error) -> dict | None:
    """An error with exactly the fields it should have, each of the right type."""
    if not isinstance(error, dict):
        return None
    texts = {k: printable(str(error.get(k) or "")) for k in ("type", "text", "function", "source")}
    line = error.get("line")
    missing = error.get("missing")
    kinds = error.get("kinds")
    return texts | {
        "kinds": strings(kinds) if isinstance(kinds, list) else [texts["type"]],
        "line": line if isinstance(line, int) and 0 < line < 10**7 else None,
        "verb": printable(str(error.get("verb") or "")),
        "missing": printable(missing) if isinstance(missing, str) else None,
    }


def strings(values: list) -> list[str]:
    """The strings of a list, made printable; anything else is dropped."""
    return [printable(v) for v in values[:MOST_ITEMS] if isinstance(v, str)]


def tidy(value, depth: int = DEEPEST):
    """JSON with bounded size and depth, and no character that a terminal would obey."""
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, dict) and depth:
        return {printable(str(k)): tidy(v, depth - 1) for k, v in list(value.items())[:MOST_ITEMS]}
    if isinstance(value, list) and depth:
        return [tidy(v, depth - 1) for v in value[:MOST_ITEMS]]
    return value if value is None or isinstance(value, (bool, int, float)) else None


def printable(text: str) -> str:
    """Text without control characters, and not endless.

    >>> printable("red \\x1b[31malert")
    'red ?[31malert'
    """
    cut = text if len(text) <= LONGEST_TEXT else text[:LONGEST_TEXT] + "…"
    return "".join(c if c.isprintable() or c in "\n\t" else "?" for c in cut)
