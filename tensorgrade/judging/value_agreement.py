"""Whether a value that is no tensor agrees with the reference, and if not, where and how."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import isclose

from ..course import Tolerance
from ..exchange.cases import Case
from ..exchange.observation import Observation
from ..exchange.text import short
from ..exchange.values import KINDS, kind, parts, plain, shown, size_of, sized, type_name, value_of
from ..runner.values import Tree
from .agreement import Disagreement, disagreement

ALIKE = {"tuple": "list", "bool": "number"}  # unless an author asks for the very type
BRIEF, BEFORE, AFTER = 60, 24, 36


@dataclass(frozen=True)
class ValueGap:
    """The first place at which two values disagree.

    steps: the way there, as keys (trees) and indices. how: `type`, `size`, `missing` or `extra`
    (a key), `tensor` or `value`. around: what to show of both, side by side.
    """

    how: str
    expected: Tree
    actual: Tree
    around: tuple[Tree, Tree]
    steps: tuple["Key | int", ...] = ()
    tensors: Disagreement | None = None

    @property
    def place(self) -> str:
        """`['a'][2]`."""
        steps = (step.tree if isinstance(step, Key) else step for step in self.steps)
        return "".join(f"[{shown(step)}]" for step in steps)


@dataclass(frozen=True)
class Key:
    """A key of a dict on the way to a place."""

    tree: Tree


@dataclass(frozen=True)
class ValueJudge:
    """Compares what came back on one case with what is right there.

    strict: whether a tuple is no list and 1 not 1.0. Otherwise the type of a container does not
    count, nor the order of a dict's keys, and a number may be a tensor that holds just one.
    """

    expected: Observation
    observed: Observation
    tolerances: dict[str, Tolerance]
    strict: bool = False

    def gap(self, name: str) -> ValueGap | None:
        """The first disagreement in the value of that name; None where there is none."""
        want, got = self.expected.value(name), self.observed.value(name)
        return self.between(want, got, (want, got))

    def between(self, want: Tree, got: Tree, around: tuple[Tree, Tree]) -> ValueGap | None:
        """The first disagreement of two trees."""
        if "tensor" in (kind(want), kind(got)):
            return self.of_tensors(want, got, around)
        if not self.same_type(want, got):
            return ValueGap("type", want, got, around)
        if kind(want) in ("list", "tuple"):
            return self.of_lists(want, got)
        if kind(want) in ("dict", "record"):
            return self.of_dicts(want, got)
        alike = self.close(want, got) if kind(want) == "number" else same(want, got)
        return None if alike else ValueGap("value", want, got, around)

    def same_type(self, want: Tree, got: Tree) -> bool:
        """Whether two trees are of one type, as strictly as is asked for."""
        if self.strict and type_name(want) != type_name(got):
            return False
        return ALIKE.get(kind(want), kind(want)) == ALIKE.get(kind(got), kind(got))

    def close(self, want: float, got: float) -> bool:
        """Whether two numbers agree: whole ones exactly. NaN agrees with nothing."""
        if isinstance(want, int) and isinstance(got, int):
            return want == got
        tolerance = self.tolerances.get("float64", Tolerance(0.0, 0.0))
        try:
            room = tolerance.absolute + tolerance.relative * abs(want)
            return want == got or isclose(want, got, rel_tol=0.0, abs_tol=room)
        except OverflowError:  # a whole number beyond all floats
            return False

    def of_tensors(self, want: Tree, got: Tree, around: tuple[Tree, Tree]) -> ValueGap | None:
        """Two tensors; or, unless types count, a number and a tensor that holds just one."""
        if kind(want) != "tensor" or kind(got) != "tensor":
            number = self.number_in(want, got) if not self.strict else None
            if number is None:
                return ValueGap("type", want, got, around)
            return None if self.close(*number) else ValueGap("value", want, got, around)
        told, right = (
            seen.tensors.get(tree["tensor"])
            for seen, tree in ((self.observed, got), (self.expected, want))
        )
        if right is None:  # a reply that names no tensor of its own, held against another one
            return ValueGap("type", want, got, around)
        gap = disagreement(told, right, self.tolerances)
        return ValueGap("tensor", want, got, around, tensors=gap) if gap else None

    def number_in(self, want: Tree, got: Tree) -> tuple[float, float] | None:
        """A number that is asked for, and the one in a tensor of no dimensions."""
        tensor = self.observed.tensors.get(got["tensor"]) if kind(got) == "tensor" else None
        if kind(want) not in ("number", "bool") or tensor is None or tensor.dim():
            return None
        return want, tensor.item()

    def of_lists(self, want: Tree, got: Tree) -> ValueGap | None:
        """Lists and tuples: as many parts, and each as it should be."""
        if len(parts(want)) != len(parts(got)):
            return ValueGap("size", want, got, (want, got))
        found = (
            inside(self.between(a, b, (want, got)), number)
            for number, (a, b) in enumerate(zip(parts(want), parts(got), strict=True))
        )
        return next(filter(None, found), None)

    def of_dicts(self, want: Tree, got: Tree) -> ValueGap | None:
        """Dicts and dataclasses: the same keys, in any order, and each value as it should be."""
        wanted, given = ({value_of(k): (k, v) for k, v in parts(tree)} for tree in (want, got))
        around = want, in_order(got, list(wanted))
        for key in (key for key in wanted if key not in given):
            return ValueGap("missing", wanted[key][0], None, around)
        for key in (key for key in given if key not in wanted):
            return ValueGap("extra", None, given[key][0], around)
        return next(filter(None, self.of_entries(wanted, given)), None)

    def of_entries(self, wanted: dict, given: dict) -> Iterator[ValueGap | None]:
        """What there is to say of each value of two dicts with the same keys."""
        for key, (written, value) in wanted.items():
            around = entry(written, value), entry(*given[key])
            yield inside(self.between(value, given[key][1], around), Key(written))


def same(want: Tree, got: Tree) -> bool:
    """Whether two texts, bytes, sets or truth values are equal. What is not judged never is."""
    return kind(want) != "unjudged" and value_of(want) == value_of(got)


def entry(key: Tree, value: Tree) -> Tree:
    """One entry of a dict, as a dict."""
    return {"dict": [[key, value]]}


def in_order(tree: Tree, keys: list) -> Tree:
    """A dict with these keys first, in this order, so that it can be read beside another one."""
    if kind(tree) != "dict":
        return tree
    places = {key: place for place, key in enumerate(keys)}
    last = len(places)
    return {"dict": sorted(parts(tree), key=lambda pair: places.get(value_of(pair[0]), last))}


def inside(gap: ValueGap | None, step: Key | int) -> ValueGap | None:
    """The same gap, seen from the container around it."""
    if gap is None:
        return None
    return replace(gap, steps=(step, *gap.steps))


def said_in_public(gap: ValueGap, what: str) -> str:
    """A sentence about a gap, with what is expected. what: how the place is called."""
    if gap.how == "size":
        size = size_of(gap.expected)
        asked = f"{size} {'is' if size == 1 else 'are'} asked for"
        return f"{what} has {count(gap.actual)}; {asked}"
    if gap.how == "missing":
        return f"{what} has no key {brief(gap.expected)}"
    if gap.how == "extra":
        return f"{what} has a key {brief(gap.actual)} that is not asked for"
    got, want = said(gap.actual), said(gap.expected)
    if gap.how == "type" and got == want:
        got, want = (f"of type {type_name(tree)}" for tree in (gap.actual, gap.expected))
    return f"{what} is {got}; {want} is asked for"


def said(tree: Tree) -> str:
    """A value in a sentence: small ones as they are, others by what they are."""
    if kind(tree) in ("none", "bool", "number", "text", "bytes") and len(shown(tree)) <= BRIEF:
        return shown(tree)
    return shown(tree) if kind(tree) == "unjudged" else sized(tree)


def said_in_secret(gap: ValueGap, what: str) -> str:
    """A sentence about a gap on a hidden case: what came back, how large, and not what is right."""
    if gap.how in ("missing", "extra"):
        more = "misses a key" if gap.how == "missing" else "has a key that is not asked for"
        return f"{what} {more}"
    got = sized(gap.actual)
    if gap.how == "type":
        return f"{what} is {got}; {KINDS[kind(gap.expected)]} is asked for"
    of_size = gap.how == "size"
    return f"{what} is {got}, and that is not the right {'size' if of_size else 'one'}"


def hands_back(case: Case, tree: Tree) -> bool:
    """Whether a value is a text or a container that was passed in, just as it was."""
    passed = [v for step in case.steps for v in step.get("arguments", {}).values()]
    return size_of(tree) is not None and any(
        size_of(value) is not None and plain(value) == plain(tree) for value in passed
    )


def count(tree: Tree) -> str:
    """`1 part`, `4 parts`."""
    size = size_of(tree)
    return f"{size} part{'s' * (size != 1)}"


def brief(tree: Tree) -> str:
    """A value as Python writes it, cut where it is long."""
    return short(shown(tree), BRIEF)


def side_by_side(gap: ValueGap) -> tuple[str, str]:
    """What is expected and what came, around the first character that differs."""
    want, got = map(shown, gap.around)
    pairs = enumerate(zip(want, got, strict=False))
    first = next((n for n, (a, b) in pairs if a != b), min(len(want), len(got)))
    return cut(want, first), cut(got, first)


def cut(text: str, place: int) -> str:
    """The part of a text around a place; all of a short one."""
    first = 0 if len(text) <= BEFORE + AFTER else max(0, place - BEFORE)
    last = len(text) if len(text) - first <= BEFORE + AFTER else first + BEFORE + AFTER
    return "…" * (first > 0) + text[first:last] + "…" * (last < len(text))
