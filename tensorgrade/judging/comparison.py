"""Compare tensors and other values with the reference, and find where and how they differ."""

from dataclasses import dataclass, replace
from math import isclose

import torch

from ..course import Tolerance
from ..exchange.cases import Case
from ..exchange.observation import Observation
from ..exchange.text import listed, short
from ..exchange.values import kind, parts, plain, shown, size_of, sized, type_name, value_of
from ..runner.values import Tree

# What people call the slices along each dimension of a tensor, by how many dimensions it has.
DIMENSIONS = {
    1: ("entry",),
    2: ("row", "column"),
    3: ("slice", "row", "column"),
    4: ("slice", "slice", "row", "column"),
}
PLURALS = {"entry": "entries", "row": "rows", "column": "columns", "slice": "slices"}


@dataclass(frozen=True)
class Disagreement:
    """The first fault found: `absent`, `shape`, `nan` or `values`.

    differs: a bool mask of the places, for `nan` and `values`.
    """

    kind: str
    differs: torch.Tensor | None = None


def disagreement(
    actual: torch.Tensor | None, expected: torch.Tensor, tolerances: dict[str, Tolerance]
) -> Disagreement | None:
    """Return None if `actual` agrees with `expected` (same shape, close values, no NaN).

    The tolerance is the looser one of the two dtypes, because an answer that computes in float32
    can be right. Two tensors of integers or booleans must be equal.

    >>> exact = {"float64": Tolerance(0, 0)}
    >>> disagreement(torch.zeros(2, 1).double(), torch.zeros(2).double(), exact).kind
    'shape'
    """
    if actual is None:
        return Disagreement("absent")
    if actual.shape != expected.shape:
        return Disagreement("shape")
    if actual.dtype == expected.dtype and torch.equal(actual, expected):  # NaN equals nothing
        return None
    if not any(one.is_floating_point() or one.is_complex() for one in (actual, expected)):
        differs = actual != expected  # not as doubles, in which large integers lose digits
        return Disagreement("values", differs) if differs.any() else None
    dtypes = (str(t.dtype).removeprefix("torch.") for t in (actual, expected))
    known = [tolerances[dtype] for dtype in dtypes if dtype in tolerances]
    tolerance = max(known, key=lambda t: t.relative, default=Tolerance(0.0, 0.0))
    actual, expected = actual.double(), expected.double()
    close = (actual - expected).abs() <= tolerance.absolute + tolerance.relative * expected.abs()
    close |= actual == expected  # equal infinities have no difference to measure
    if torch.isnan(actual).any():  # NaN is never close, not even to NaN
        return Disagreement("nan", ~close)
    return None if close.all() else Disagreement("values", ~close)


def where_they_differ(differs: torch.Tensor) -> tuple[str, str]:
    """Return which places of a mask are True, or else how many: one of the two is empty.

    >>> where_they_differ(torch.ones(3, 3).triu(1).bool())
    ('all differences are above the diagonal', '')
    """
    if differs.all():
        return "", "all entries differ"
    if found := on_a_side(differs) or in_slices(differs):
        return found, ""
    return "", f"{int(differs.sum())} of {differs.numel()} entries differ"


def on_a_side(differs: torch.Tensor) -> str:
    """Return the only side of the diagonal on which (stacked) square matrices differ, or ""."""
    if differs.ndim < 2 or differs.shape[-1] != differs.shape[-2]:
        return ""
    above, below = bool(differs.triu(1).any()), bool(differs.tril(-1).any())
    on = bool(differs.tril(0).triu(0).any())
    sides = {(True, False, False): "above", (False, True, False): "on"}
    sides |= {(False, False, True): "below", (False, True, True): "on or below"}
    side = sides.get((above, on, below))
    return f"all differences are {side} the diagonal" if side else ""


def in_slices(differs: torch.Tensor) -> str:
    """Return a clause if all differences, or all right values, are in a few slices; else "".

    A few are at most half of the slices along some dimension, such as rows or columns.
    """
    for dim in range(differs.ndim):
        hit = any_along(differs, dim)
        if 2 * int(hit.sum()) <= len(hit):
            return f"all differences are in {slices_along(dim, hit, differs.ndim)}"
        right = int((~hit).sum())
        if right and 2 * right <= len(hit):
            verb = "are" if right > 1 else "is"
            return f"only {slices_along(dim, ~hit, differs.ndim)} {verb} right"
    return ""


def any_along(mask: torch.Tensor, dim: int) -> torch.Tensor:
    """Return a bool vector: True for each slice along a dimension with a True entry in the mask."""
    rest = [d for d in range(mask.ndim) if d != dim]
    return mask.any(dim=rest) if rest else mask


MOST_PLACES = 3  # learner code controls them, so a long list could reveal hidden inputs


def slices_along(dim: int, hit: torch.Tensor, rank: int) -> str:
    """Return the slices along a dimension at which a vector is True; at most the first few.

    >>> slices_along(1, torch.tensor([True, False, True]), rank=2)
    'columns `[:, 0]` and `[:, 2]`'
    """
    places = [int(place) for place in hit.nonzero().flatten()]
    told = [f"`{python_index(place, dim, rank)}`" for place in places[:MOST_PLACES]]
    more = [f"{len(places) - MOST_PLACES} more"] if len(places) > MOST_PLACES else []
    name = DIMENSIONS[rank][dim] if rank in DIMENSIONS else "slice"
    return f"{PLURALS[name] if len(places) > 1 else name} {listed(told + more)}"


def python_index(index: int, dim: int, rank: int) -> str:
    """Return what Python writes to take a slice along a dimension.

    >>> python_index(3, 0, 2), python_index(3, 1, 2), python_index(3, 3, 4)
    ('[3]', '[:, 3]', '[..., 3]')
    """
    before = "..., " if 1 < dim == rank - 1 else ":, " * dim
    return f"[{before}{index}]"


# --- other values -----------------------------------------------------------------------------

ALIKE = {"tuple": "list", "bool": "number"}  # unless an author asks for the exact type
BRIEF, BEFORE, AFTER = 60, 24, 36


@dataclass(frozen=True)
class ValueGap:
    """The first place at which two values disagree.

    how: `type`, `size`, `missing` or `extra` (a key), `tensor` or `value`. expected, actual: the
    values at that place. around: the parts of both values to show side by side. place: the path of
    keys and indices to it, such as `['a'][2]`. tensors: for `tensor`, how the two tensors disagree.
    """

    how: str
    expected: Tree
    actual: Tree
    around: tuple[Tree, Tree]
    place: str = ""
    tensors: Disagreement | None = None


@dataclass(frozen=True)
class ValueJudge:
    """A comparison of the values of one case with the right ones.

    strict: types count, so that a tuple is not a list and 1 is not 1.0. Otherwise neither the type
    of a container nor the order of a dict's keys counts, and a tensor with one number may be a
    number.
    """

    expected: Observation
    observed: Observation
    tolerances: dict[str, Tolerance]
    strict: bool = False

    def gap(self, name: str) -> ValueGap | None:
        """Return the first disagreement in the value of that name; None if there is none."""
        want, got = self.expected.value(name), self.observed.value(name)
        return self.between(want, got, (want, got))

    def between(self, want: Tree, got: Tree, around: tuple[Tree, Tree]) -> ValueGap | None:
        """Return the first disagreement of two trees; None if they agree.

        around: what to show of both if they disagree at their top.
        """
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
        """Return True if two trees have the same type, as strictly as the check requires."""
        if self.strict and type_name(want) != type_name(got):
            return False
        return ALIKE.get(kind(want), kind(want)) == ALIKE.get(kind(got), kind(got))

    def close(self, want: float, got: float) -> bool:
        """Return True if two numbers agree. Integers must be equal. NaN agrees with nothing."""
        if isinstance(want, int) and isinstance(got, int):
            return want == got
        tolerance = self.tolerances.get("float64", Tolerance(0.0, 0.0))
        try:
            room = tolerance.absolute + tolerance.relative * abs(want)
            return want == got or isclose(want, got, rel_tol=0.0, abs_tol=room)
        except OverflowError:  # an integer that is larger than all floats
            return False

    def of_tensors(self, want: Tree, got: Tree, around: tuple[Tree, Tree]) -> ValueGap | None:
        """Compare two tensors or, unless types count, a number and a tensor with one number."""
        if kind(want) != "tensor" or kind(got) != "tensor":
            number = self.number_in(want, got) if not self.strict else None
            if number is None:
                return ValueGap("type", want, got, around)
            return None if self.close(*number) else ValueGap("value", want, got, around)
        told, right = (
            seen.tensors.get(tree["tensor"])
            for seen, tree in ((self.observed, got), (self.expected, want))
        )
        if right is None:  # the reply names an unknown tensor
            return ValueGap("type", want, got, around)
        gap = disagreement(told, right, self.tolerances)
        return ValueGap("tensor", want, got, around, tensors=gap) if gap else None

    def number_in(self, want: Tree, got: Tree) -> tuple[float, float] | None:
        """Return an expected number, and the number in a tensor without dimensions.

        Return None if the values are not such a pair.
        """
        tensor = self.observed.tensors.get(got["tensor"]) if kind(got) == "tensor" else None
        if kind(want) not in ("number", "bool") or tensor is None or tensor.dim():
            return None
        return want, tensor.item()

    def of_lists(self, want: Tree, got: Tree) -> ValueGap | None:
        """Compare lists and tuples: their sizes, then each part."""
        if len(parts(want)) != len(parts(got)):
            return ValueGap("size", want, got, (want, got))
        found = (
            inside(self.between(a, b, (want, got)), number)
            for number, (a, b) in enumerate(zip(parts(want), parts(got), strict=True))
        )
        return next(filter(None, found), None)

    def of_dicts(self, want: Tree, got: Tree) -> ValueGap | None:
        """Compare dicts and dataclasses: their keys, in any order, then each value."""
        wanted, given = ({value_of(k): (k, v) for k, v in parts(tree)} for tree in (want, got))
        around = want, in_order(got, list(wanted))
        for key in (key for key in wanted if key not in given):
            return ValueGap("missing", wanted[key][0], None, around)
        for key in (key for key in given if key not in wanted):
            return ValueGap("extra", None, given[key][0], around)
        for key, (written, value) in wanted.items():
            around = entry(written, value), entry(*given[key])
            if gap := self.between(value, given[key][1], around):
                return inside(gap, written)
        return None


def same(want: Tree, got: Tree) -> bool:
    """Return True if two texts, bytes, sets or bools are equal; unjudged values never are."""
    return kind(want) != "unjudged" and value_of(want) == value_of(got)


def entry(key: Tree, value: Tree) -> Tree:
    """Return one entry of a dict, as a dict."""
    return {"dict": [[key, value]]}


def in_order(tree: Tree, keys: list) -> Tree:
    """Return a dict with these keys first, in this order, to be shown next to another one."""
    if kind(tree) != "dict":
        return tree
    places = {key: place for place, key in enumerate(keys)}
    last = len(places)
    return {"dict": sorted(parts(tree), key=lambda pair: places.get(value_of(pair[0]), last))}


def inside(gap: ValueGap | None, step: Tree) -> ValueGap | None:
    """Return a gap with a key or an index added to the start of its path; None for None."""
    return gap and replace(gap, place=f"[{shown(step)}]{gap.place}")


def problem_of(gap: ValueGap, what: str) -> str:
    """Return a clause about a gap. what: names the place."""
    if gap.how == "size":
        parts, asked = size_of(gap.actual), size_of(gap.expected)
        noun, verb = "part" if parts == 1 else "parts", "is" if asked == 1 else "are"
        return f"{what} has {parts} {noun}; {asked} {verb} expected"
    if gap.how == "missing":
        return f"{what} has no key {brief(gap.expected)}"
    if gap.how == "extra":
        return f"{what} has a key {brief(gap.actual)} that it should not have"
    got, want = said(gap.actual), said(gap.expected)
    if gap.how == "type" and got == want:
        return (
            f"{what} has type {type_name(gap.actual)}; type {type_name(gap.expected)} is expected"
        )
    if gap.how == "type" and kind(gap.expected) == "number":
        noun = type_name(gap.expected)
        want = f"{'an' if noun[:1] in 'aeiou' else 'a'} {noun}"
    return f"{what} is {got}; {want} is expected"


def said(tree: Tree) -> str:
    """Return a small value unchanged, and a description of any other one."""
    if kind(tree) in ("none", "bool", "number", "text", "bytes") and len(shown(tree)) <= BRIEF:
        return shown(tree)
    return shown(tree) if kind(tree) == "unjudged" else sized(tree)


def returns_argument(case: Case, tree: Tree) -> bool:
    """Return True if a value is a text or a container that was passed in, unchanged."""
    return size_of(tree) is not None and any(
        size_of(value) is not None and plain(value) == plain(tree) for _, value in case.passed
    )


def brief(tree: Tree) -> str:
    """Return a value in Python's notation, cut if it is long."""
    return short(shown(tree), BRIEF)


def side_by_side(gap: ValueGap) -> tuple[str, str]:
    """Return the expected and the learner's value, around the first character that differs."""
    want, got = map(shown, gap.around)
    pairs = enumerate(zip(want, got, strict=False))
    first = next((n for n, (a, b) in pairs if a != b), min(len(want), len(got)))
    return cut(want, first), cut(got, first)


def cut(text: str, place: int) -> str:
    """Return the part of a text around a place, or all of a short text."""
    first = 0 if len(text) <= BEFORE + AFTER else max(0, place - BEFORE)
    last = len(text) if len(text) - first <= BEFORE + AFTER else first + BEFORE + AFTER
    return "…" * (first > 0) + text[first:last] + "…" * (last < len(text))
