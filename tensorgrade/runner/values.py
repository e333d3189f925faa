"""Python values as JSON and tensors, and back: what crosses the wire, in both directions alike.

None, booleans, numbers, short printable text and lists stand for themselves. All else has a tag:

    {"tensor": key}   {"tuple": [part, …]}   {"dict": [[key, value], …]}   {"set": [part, …]}
    {"bytes": hex}    {"text": escaped}      {"record": [[field, value], …]}   a dataclass
    {"object": handle}    {"unjudged": what it is}

A container that is none of Python's own plain ones says its type too: {"list": […], "type":
"generator"}. What is said is bounded in depth, parts and characters, whoever made the value.
"""

import json
from collections import deque
from collections.abc import Callable, ItemsView, Iterator, KeysView, ValuesView
from dataclasses import fields, is_dataclass
from itertools import islice
from numbers import Integral, Real
from typing import Any

import torch

DEEPEST, MOST_PARTS, MOST_TENSORS, MOST_TEXT, MOST_BITS = 8, 20_000, 200, 200_000, 10_000
SHORT_TEXT, SHORT_KEY = 500, 60
LISTED = (Iterator, range, deque, KeysView, ValuesView, ItemsView)

Tree = Any  # JSON as above


class Packer:
    """Writes one value as a tree.

    tensor: is given every tensor in it with its place, as `result['a'][0]`, and gives what
    stands for it. handle: the same for objects that are known outside; None for any other.
    """

    def __init__(
        self,
        tensor: Callable[[str, torch.Tensor], Tree],
        handle: Callable[[Any], Tree | None] = lambda value: None,
    ):
        self.tensor, self.handle = tensor, handle
        self.parts_left, self.text_left = MOST_PARTS, MOST_TEXT

    def pack(self, value: Any, place: str, depth: int = DEEPEST) -> Tree:
        """The tree of a value at a place."""
        self.parts_left -= 1
        if isinstance(value, torch.Tensor):
            return self.tensor(place, value)
        if (known := self.handle(value)) is not None:
            return known
        if is_scalar(value):
            return scalar(value)
        if isinstance(value, (str, bytes, bytearray)):
            return self.text(value)
        if depth == 0 and is_container(value):
            return {"unjudged": f"something nested more than {DEEPEST} deep"}
        tree = self.container(value, place, depth - 1)
        return tree if self.parts_left >= 0 else {"unjudged": f"more than {MOST_PARTS} parts"}

    def text(self, value: str | bytes | bytearray) -> Tree:
        """Text as it is, where a terminal may show it; else escaped. Bytes by their numbers."""
        self.text_left -= len(value)
        if self.text_left < 0:
            return {"unjudged": f"more than {MOST_TEXT} characters"}
        if not isinstance(value, str):
            return {"bytes": bytes(value).hex()}
        if len(value) <= SHORT_TEXT and is_shown(value):
            return str(value)
        return {"text": json.dumps(str(value))[1:-1]}

    def container(self, value: Any, place: str, depth: int) -> Tree:
        """Lists, tuples, sets, dicts and dataclasses; of anything else only what it is."""
        if isinstance(value, LISTED):
            value, kind = list(islice(value, MOST_PARTS + 1)), type(value).__name__
            return {"list": self.parts(value, place, depth), "type": kind}
        if isinstance(value, list):
            parts = self.parts(value, place, depth)
            return parts if type(value) is list else {"list": parts} | kind_of(value)
        if isinstance(value, tuple):
            return {"tuple": self.parts(value, place, depth)} | kind_of(value, tuple, torch.Size)
        if isinstance(value, (set, frozenset)):
            parts = sorted(self.parts(value, place, depth), key=json.dumps)
            return {"set": parts} | kind_of(value, set)
        if isinstance(value, dict):
            return {"dict": self.pairs(value, place, depth)} | kind_of(value, dict)
        if is_dataclass(value) and not isinstance(value, type):
            held = {one.name: getattr(value, one.name) for one in fields(value)}
            return {"record": self.pairs(held, place, depth)} | kind_of(value)
        return {"unjudged": f"an object of type {type(value).__name__}"}

    def parts(self, values: Any, place: str, depth: int) -> list[Tree]:
        """The parts of a list, a tuple or a set; of too many none, which `parts_left` tells."""
        if len(values) > self.parts_left:
            self.parts_left = -1
            return []
        return [self.pack(part, f"{place}[{n}]", depth) for n, part in enumerate(values)]

    def pairs(self, values: dict, place: str, depth: int) -> list[list[Tree]]:
        """Keys and values; a value's place is called by its key where that is short."""
        if len(values) > self.parts_left:
            self.parts_left = -1
            return []
        return [
            [self.pack(key, "", depth), self.pack(part, f"{place}[{called(key, n)}]", depth)]
            for n, (key, part) in enumerate(list(values.items()))
        ]


def is_shown(text: str) -> bool:
    """Whether a terminal shows every character as it is."""
    return text.isprintable() or all(c.isprintable() or c in "\n\t" for c in text)


PLAIN = (bool, int, float, type(None))  # looked for first: `isinstance` of a `Real` is slow


def is_scalar(value: Any) -> bool:
    """Whether something is None, a boolean or a number; those of NumPy are numbers too."""
    return type(value) in PLAIN or isinstance(value, Real) or is_numpy_scalar(value)


def is_numpy_scalar(value: Any) -> bool:
    return type(value).__module__ == "numpy" and getattr(value, "shape", None) == ()


def scalar(value: Any) -> Tree:
    """None, a boolean or a number as JSON."""
    if is_numpy_scalar(value):
        value = value.item()
    if value is None or isinstance(value, bool):
        return value
    if not isinstance(value, Integral):
        return float(value)
    whole = int(value)
    long = whole.bit_length() > MOST_BITS  # Python refuses to write out very long ones
    return {"unjudged": "a number of thousands of digits"} if long else whole


def is_container(value: Any) -> bool:
    containers = (*LISTED, list, tuple, set, frozenset, dict)
    return isinstance(value, containers) or is_dataclass(value)


def kind_of(value: Any, *plain: type) -> dict[str, str]:
    """The name of a type that is none of the plain ones."""
    return {} if type(value) in plain else {"type": type(value).__name__}


def called(key: Any, number: int) -> str:
    """A key in the name of a place; its number where that would be long, or code of its own."""
    plain = type(key) in (str, int, bool, bytes) or (
        type(key) is tuple and all(type(part) in (str, int, bytes) for part in key)
    )
    text = repr(key) if plain else ""
    return text if 0 < len(text) <= SHORT_KEY else f"#{number}"


def unpack(
    tree: Tree,
    tensor: Callable[[str], Any] = lambda key: None,
    handle: Callable[[str], Any] = lambda name: None,
) -> Any:
    """The value that a tree stands for, in Python's own plain types.

    >>> unpack(Packer(lambda place, t: None).pack({(1, 2): b"ab"}, "x"))
    {(1, 2): b'ab'}
    """
    if isinstance(tree, list):
        return [unpack(part, tensor, handle) for part in tree]
    if not isinstance(tree, dict):
        return tree
    tag, told = tagged(tree)
    if tag in ("tensor", "object"):
        return (tensor if tag == "tensor" else handle)(told)
    if tag in ("tuple", "list", "set"):
        parts = [unpack(part, tensor, handle) for part in told]
        return {"tuple": tuple, "list": list, "set": set}[tag](parts)
    if tag in ("dict", "record"):
        return {unpack(k): unpack(part, tensor, handle) for k, part in told}
    return plain_text(tag, told)


def tagged(tree: dict) -> tuple[str, Any]:
    """The tag of a tree, and what stands under it."""
    return next(iter(tree.items()))


def plain_text(tag: str, told: str) -> str | bytes:
    """Text and bytes as they were; of what is not judged, what it is."""
    if tag == "bytes":
        return bytes.fromhex(told)
    return json.loads(f'"{told}"') if tag == "text" else Words(told)


class Words(str):
    """Stands for a value that has no text of its own, and looks alike in a sentence and a list."""

    def __repr__(self) -> str:
        return str(self)
