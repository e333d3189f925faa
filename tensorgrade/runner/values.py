"""Python values as JSON and tensors, and back, for messages in both directions.

None, booleans, numbers, short printable text and lists represent themselves. Other values have a
tag:

    {"tensor": key}   {"tuple": [part, …]}   {"dict": [[key, value], …]}   {"set": [part, …]}
    {"bytes": hex}    {"text": escaped}      {"record": [[field, value], …]}   a dataclass
    {"object": handle}    {"unjudged": description}

Containers other than Python's plain ones have a type too: {"list": […], "type": "generator"}.
Depth, number of parts and number of characters are bounded for all values.
"""

import json
from collections import deque
from collections.abc import Callable, ItemsView, Iterator, KeysView, ValuesView
from dataclasses import fields, is_dataclass
from itertools import islice
from numbers import Integral, Real
from typing import Any, TypeGuard

import torch

DEEPEST, MOST_PARTS, MOST_TENSORS, MOST_TEXT, MOST_BITS = 8, 20_000, 200, 200_000, 10_000
SHORT_TEXT, SHORT_KEY = 500, 60
BREAKS = str.maketrans("", "", "\n\t")  # removes what a terminal shows although it is not printable
LISTED = (Iterator, range, deque, KeysView, ValuesView, ItemsView)
CONTAINERS = (*LISTED, list, tuple, set, frozenset, dict)

Tree = Any  # JSON as above


class Packer:
    """A writer that turns one value into a tree.

    tensor: receives the place, such as `result['a'][0]`, and each tensor in the value, and returns
    a reference to it. handle: returns a reference to an object that the other side knows by a
    handle, and None for other values.
    """

    def __init__(
        self,
        tensor: Callable[[str, torch.Tensor], Tree],
        handle: Callable[[Any], Tree | None] = lambda value: None,
    ):
        self.tensor, self.handle = tensor, handle
        self.parts_left, self.text_left = MOST_PARTS, MOST_TEXT

    def pack(self, value: Any, place: str, depth: int = DEEPEST) -> Tree:
        """Return the tree of a value at a place."""
        self.parts_left -= 1
        if type(value) in PLAIN:
            return scalar(value)
        if isinstance(value, torch.Tensor):
            return self.tensor(place, value)
        if (known := self.handle(value)) is not None:
            return known
        if isinstance(value, Real) or is_numpy_scalar(value):
            return scalar(value)
        if isinstance(value, (str, bytes, bytearray)):
            return self.text(value)
        if depth == 0 and (isinstance(value, CONTAINERS) or is_dataclass(value)):
            return {"unjudged": f"something nested more than {DEEPEST} deep"}
        tree = self.container(value, place, depth - 1)
        return tree if self.parts_left >= 0 else {"unjudged": f"more than {MOST_PARTS} parts"}

    def text(self, value: str | bytes | bytearray) -> Tree:
        """Return text unchanged if a terminal may show it, else escaped. Return bytes in hex."""
        self.text_left -= len(value)
        if self.text_left < 0:
            return {"unjudged": f"more than {MOST_TEXT} characters"}
        if not isinstance(value, str):
            return {"bytes": bytes(value).hex()}
        if len(value) <= SHORT_TEXT and value.translate(BREAKS).isprintable():
            return str(value)
        return {"text": json.dumps(str(value))[1:-1]}

    def container(self, value: Any, place: str, depth: int) -> Tree:
        """Return a list, tuple, set, dict or dataclass; only the type of other values."""
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
        """Return the parts of a list, a tuple or a set; [] if there are too many (`parts_left`)."""
        if len(values) > self.parts_left:
            self.parts_left = -1
            return []
        return [self.pack(part, f"{place}[{n}]", depth) for n, part in enumerate(values)]

    def pairs(self, values: dict, place: str, depth: int) -> list[list[Tree]]:
        """Return keys and values; a short key is used in the name of its value's place."""
        if len(values) > self.parts_left:
            self.parts_left = -1
            return []
        return [
            [self.pack(key, "", depth), self.pack(part, f"{place}[{called(key, n)}]", depth)]
            for n, (key, part) in enumerate(list(values.items()))
        ]


PLAIN = (bool, int, float, type(None))  # checked first, because `isinstance` of a `Real` is slow


def is_numpy_scalar(value: Any) -> bool:
    return type(value).__module__ == "numpy" and getattr(value, "shape", None) == ()


def scalar(value: Any) -> Tree:
    """Return None, a boolean or a number as JSON."""
    if is_numpy_scalar(value):
        value = value.item()
    if value is None or isinstance(value, bool):
        return value
    if not isinstance(value, Integral):
        return float(value)
    whole = int(value)
    long = whole.bit_length() > MOST_BITS  # Python refuses to write very long integers
    return {"unjudged": "a number of thousands of digits"} if long else whole


def kind_of(value: Any, *plain: type) -> dict[str, str]:
    """Return a value's type as an entry of its tree; {} if it is one of the plain types."""
    return {} if type(value) in plain else {"type": type(value).__name__}


def called(key: Any, number: int) -> str:
    """Return a key as text for the name of a place, or `#number` if it is long or not plain."""
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
    """Return the value that a tree represents, in Python's own plain types.

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
    if tag == "bytes":
        return bytes.fromhex(told)
    return json.loads(f'"{told}"') if tag == "text" else Words(told)


def tagged(tree: dict) -> tuple[str, Any]:
    """Return the tag of a tree, and the content under it."""
    return next(iter(tree.items()))


class Words(str):
    """A description of a value that cannot be shown. A list shows it without quotes too."""

    def __repr__(self) -> str:
        return str(self)


def is_tensor(value: object) -> TypeGuard[torch.Tensor]:
    return isinstance(value, torch.Tensor)


def special_kind(tensor: torch.Tensor) -> str:
    """Return a word for the reason why a tensor is not stored as plain numbers; empty if it is.

    >>> special_kind(torch.eye(2).to_sparse()), special_kind(torch.eye(2))
    ('sparse', '')
    """
    if tensor.is_nested:
        return "nested"
    if tensor.is_quantized:
        return "quantized"
    if tensor.is_meta:
        return "meta"
    if tensor.layout is not torch.strided:
        return "sparse"
    return "complex" if tensor.is_complex() and tensor.dtype != torch.complex64 else ""
