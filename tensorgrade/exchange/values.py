"""Values that are not tensors, on the trusted side: trees (runner/values.py), read and described.

A process that runs learner code wrote these trees. This module guarantees their form only; their
content may still be false.
"""

from collections.abc import Iterator

from ..runner.values import DEEPEST, MOST_PARTS, MOST_TEXT, Tree, Words, tagged, unpack
from .text import printable

STRANGE = {"unjudged": "something else"}
CONTAINERS = ("list", "tuple", "set", "dict", "record")
KINDS = {"list": "a list", "tuple": "a tuple", "set": "a set", "dict": "a dict"}
KINDS |= {"record": "a record", "text": "a text", "bytes": "bytes", "tensor": "a tensor"}
KINDS |= {"object": "an object", "none": "None", "bool": "a truth value", "number": "a number"}
KINDS |= {"unjudged": "an object"}


class Reader:
    """A reader of one tree, which replaces invalid or oversized parts with a placeholder."""

    def __init__(self) -> None:
        self.parts_left, self.text_left = MOST_PARTS, MOST_TEXT

    def read(self, told: object, depth: int = DEEPEST) -> Tree:
        """Return a tree with STRANGE in place of each invalid part."""
        self.parts_left -= 1
        if self.parts_left < 0:
            return STRANGE
        if told is None or isinstance(told, (bool, int, float)):
            return told
        if isinstance(told, str):
            return printable(told)
        if isinstance(told, list):
            return [self.read(part, depth - 1) for part in told] if depth > 0 else STRANGE
        return self.read_tagged(told, depth) if isinstance(told, dict) and told else STRANGE

    def read_tagged(self, told: dict, depth: int) -> Tree:
        """Return a tree with a tag."""
        tag, inner = tagged(told)
        kind = {"type": printable(str(told["type"]))} if set(told) == {tag, "type"} else {}
        if set(told) - {tag} != set(kind):
            return STRANGE
        if isinstance(inner, str) and not kind:
            return self.read_text(tag, inner)
        if not isinstance(inner, list) or depth <= 0 or tag not in CONTAINERS:
            return STRANGE
        if tag not in ("dict", "record"):
            parts = [self.read(part, depth - 1) for part in inner]
            return STRANGE if tag == "set" and not all(map(is_key, parts)) else {tag: parts} | kind
        if not all(isinstance(pair, list) and len(pair) == 2 for pair in inner):
            return STRANGE
        pairs = [[self.read(part, depth - 1) for part in pair] for pair in inner]
        return {tag: pairs} | kind if all(is_key(key) for key, _ in pairs) else STRANGE

    def read_text(self, tag: str, inner: str) -> Tree:
        """Return a text, bytes, a tensor's name, or the kind of a value that cannot be judged."""
        self.text_left -= len(inner)
        if self.text_left < 0 or not inner.isprintable():
            return STRANGE
        if tag in ("tensor", "unjudged"):
            return {tag: printable(inner)}
        try:
            unpack({tag: inner})
        except ValueError:
            return STRANGE
        return {tag: inner} if tag in ("text", "bytes") else STRANGE


def is_key(tree: Tree) -> bool:
    """Return True if a tree represents a value that can be a dict's key or an item of a set."""
    if not isinstance(tree, dict):
        return not isinstance(tree, list)
    tag, inner = tagged(tree)
    return tag in ("text", "bytes") or (tag == "tuple" and all(map(is_key, inner)))


def kind(tree: Tree) -> str:
    """Return the tag of a tree; without one `none`, `bool`, `number`, `text` or `list`.

    >>> kind([1]), kind({"tuple": [1]}), kind(1.5)
    ('list', 'tuple', 'number')
    """
    if isinstance(tree, dict):
        return tagged(tree)[0]
    names = {type(None): "none", bool: "bool", str: "text", list: "list"}
    return names.get(type(tree), "number")


def type_name(tree: Tree) -> str:
    """Return the name of the Python type that a tree represents."""
    if isinstance(tree, dict):
        tag = tagged(tree)[0]
        return str(tree.get("type") or {"text": "str", "tensor": "Tensor"}.get(tag, tag))
    return type(tree).__name__


def parts(tree: Tree) -> list:
    """Return the parts of a container: items, or pairs of key and value; empty for other values."""
    inner = tagged(tree)[1] if isinstance(tree, dict) else tree
    return inner if isinstance(inner, list) else []


def value_of(tree: Tree) -> object:
    """Return the value that a tree represents; tensors and unjudged values become words."""
    return unpack(tree, lambda key: Words("a tensor"), lambda name: Words("an object"))


def shown(tree: Tree) -> str:
    """Return a value as Python writes it, on one line of any length.

    >>> shown({"dict": [[{"tuple": [1, 2]}, {"bytes": "6162"}]]})
    "{(1, 2): b'ab'}"
    """
    return repr(value_of(tree))


def size_of(tree: Tree) -> int | None:
    """Return the number of parts, characters or bytes of a value; None if it has no size."""
    if kind(tree) in ("text", "bytes"):
        return len(unpack(tree))
    return len(parts(tree)) if kind(tree) in CONTAINERS else None


def sized(tree: Tree) -> str:
    """Return the kind and the size of a value, and nothing of its content.

    >>> sized([1, 2]), sized("abc"), sized(2.5)
    ('a list of 2', 'a text of 3', 'a number')
    """
    size = size_of(tree)
    return KINDS[kind(tree)] + ("" if size is None else f" of {size}")


def plain(tree: Tree) -> object:
    """Return a value with lists for tuples and sets, and with text for all keys.

    Values that differ only in these types become equal.

    >>> plain({"dict": [["sizes", {"tuple": [2, 3]}]]})
    {'sizes': [2, 3]}
    """
    if isinstance(tree, list):
        return [plain(part) for part in tree]
    if not isinstance(tree, dict):
        return tree
    tag, inner = tagged(tree)
    if tag in ("list", "tuple", "set"):
        return [plain(part) for part in inner]
    if tag in ("dict", "record"):
        return {str(value_of(key)): plain(part) for key, part in inner}
    return value_of(tree)


def unjudged(tree: Tree, place: str) -> Iterator[tuple[str, str]]:
    """Yield (place, description) for each part of a value that cannot be compared."""
    if kind(tree) == "unjudged":
        yield place, str(tagged(tree)[1])
    elif kind(tree) in ("dict", "record"):
        for key, part in parts(tree):
            yield from unjudged(key, f"a key of {place}")
            yield from unjudged(part, f"{place}[{shown(key)}]")
    else:
        for number, part in enumerate(parts(tree)):
            yield from unjudged(part, f"{place}[{number}]")
