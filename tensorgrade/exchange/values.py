"""Values that are not tensors, on the trusted side: trees (runner/values.py), read and described.

A process that runs learner code wrote these trees. This module guarantees their form only; their
content may still be false.
"""

from collections.abc import Iterator
from itertools import islice
from typing import Any

from ..runner.values import DEEPEST, MOST_PARTS, MOST_TEXT, Tree, Words, tagged, unpack
from .text import printable

STRANGE = {"unjudged": "something else"}
CONTAINERS = ("list", "tuple", "set", "dict", "record")
KINDS = {"list": "a list", "tuple": "a tuple", "set": "a set", "dict": "a dict"}
KINDS |= {"record": "a record", "text": "a text", "bytes": "bytes", "tensor": "a tensor"}
KINDS |= {"object": "an object", "none": "None", "bool": "a truth value", "number": "a number"}
KINDS |= {"unjudged": "an object"}


def checked(told: object) -> Tree:
    """Return an untrusted tree unchanged, or STRANGE if no Packer writes such a one."""
    try:
        found = list(islice(trees_in(told, DEEPEST), MOST_PARTS + 1))
    except (ValueError, TypeError, RuntimeError):  # a key without a tag, or a tree that is too deep
        return STRANGE
    characters = sum(len(one) for one in found if isinstance(one, str))
    return told if len(found) <= MOST_PARTS and characters <= MOST_TEXT else STRANGE


def trees_in(tree: Any, depth: int) -> Iterator[object]:
    """Yield a tree or its text, and then those below it. Raises ValueError or TypeError."""
    if isinstance(tree, dict):
        (tag, inner), *kind = tree.items()
        refuse(any(name != "type" or not is_shown(of) for name, of in kind))
        if isinstance(inner, str):
            short = tag in ("tensor", "unjudged") and is_shown(inner)
            refuse(bool(kind) or not (short or (tag in ("text", "bytes") and inner.isprintable())))
            unpack(tree)  # bytes and escaped texts may be wrong
            yield inner
            return
        refuse(tag not in CONTAINERS or not isinstance(inner, list))
        if tag in ("dict", "record"):
            refuse(not all(isinstance(pair, list) and len(pair) == 2 for pair in inner))
            refuse(not all(is_key(key) for key, _ in inner))
            inner = [part for pair in inner for part in pair]
        refuse(tag == "set" and not all(map(is_key, inner)))
    else:
        refuse(isinstance(tree, str) and not is_shown(tree))
        inner = tree if isinstance(tree, list) else []
    yield tree
    refuse(isinstance(tree, (dict, list)) and not depth)
    for part in inner:
        yield from trees_in(part, depth - 1)


def refuse(wrong: bool) -> None:
    """Raise ValueError if something is wrong."""
    if wrong:
        raise ValueError("not a value as a learner's process sends it")


def is_shown(text: object) -> bool:
    """Return True for a short text that a terminal may show."""
    return isinstance(text, str) and printable(text) == text


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
