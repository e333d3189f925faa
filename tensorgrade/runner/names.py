"""Match a learner's names to requested ones, by shape, order and similarity."""

import re
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from functools import lru_cache
from itertools import permutations, takewhile

MOST = 6  # names that are compared at most, because all their orders are tried
LIKE = 0.4  # the least similarity that counts
Fits = Callable[[str, str], bool]


@lru_cache(maxsize=1000)
def likeness(asked: str, there: str) -> float:
    """Return the similarity of two names: 0 for different names, 1 for the same words.

    >>> likeness("max_width", "mw"), likeness("max_width", "m_width"), likeness("width", "rate")
    (0.8, 0.9, 0.0)
    """
    words, found = words_of(asked), words_of(there)
    if not words or not found:
        return 0.0
    scores = [sum(max(word_similarity(w, f) for w in words) for f in found) / len(found)]
    scores += [0.8] * (there.lower() == "".join(word[0] for word in words))
    scores += [ratio("".join(words), "".join(found))]
    return max(scores) if max(scores) >= LIKE else 0.0


def words_of(name: str) -> list[str]:
    """Return the words in a name, in lower case.

    >>> words_of("maxWidth_2")
    ['max', 'width', '2']
    """
    return [word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+|\d+", name)]


def word_similarity(asked: str, there: str) -> float:
    """Return the similarity of two words; an abbreviation of the first one scores 0.8."""
    if asked == there:
        return 1.0
    if asked.startswith(there):
        return 0.8
    return ratio(asked, there)


def ratio(left: str, right: str) -> float:
    """Return the similarity of two words by their letters, in steps: 0 below 0.6, up to 1."""
    steps = (1.0, 0.9, 0.8, 0.7, 0.6)
    return next((step for step in steps if get_close_matches(left, [right], 1, step)), 0.0)


def meant(
    asked: Sequence[str],
    there: Sequence[str],
    fits: Fits = lambda asked, there: True,
) -> dict[str, str]:
    """Return, by requested name, the name of `there` that corresponds to it.

    Names are matched by similarity. If equal numbers of names remain on both sides, they are
    matched in their order. fits: returns True if one name can replace the other at all. Callers
    exclude names that are on both sides.
    """
    if not asked or not there or max(len(asked), len(there)) > MOST:
        return {}
    pairs = max(assignments(asked, there), key=lambda pairs: total(pairs, fits))
    sure = {a: t for a, t in pairs if fits(a, t) and likeness(a, t)}
    left = [name for name in asked if name not in sure]
    over = [name for name in there if name not in sure.values()]
    if len(left) == len(over) and all(map(fits, left, over)):
        sure |= dict(zip(left, over, strict=True))
    return {name: sure[name] for name in asked if name in sure}


def assignments(asked: Sequence[str], there: Sequence[str]) -> list[list[tuple[str, str]]]:
    """Return all ways to pair names, the one in their own order first."""
    if len(asked) <= len(there):
        return [list(zip(asked, some, strict=True)) for some in permutations(there, len(asked))]
    return [list(zip(some, there, strict=True)) for some in permutations(asked, len(there))]


def total(pairs: list[tuple[str, str]], fits: Fits) -> float:
    return round(sum(likeness(a, t) for a, t in pairs if fits(a, t)), 6)


Shapes = Mapping[str, Sequence[int]]


def match_parameters(asked: Shapes, there: Shapes) -> dict[str, str]:
    """Return, by requested name, the module's name of each part that is named differently.

    asked, there: the shapes of the requested and the module's tensors, by dotted name. Two parts
    match only if the tensors under the same names have the same shapes. If they share no names,
    they must have equally many tensors of each shape.

    >>> match_parameters({"first.weight": (2, 3), "last.weight": (3, 3)},
    ...             {"fst.weight": (2, 3), "out.weight": (3, 3)})
    {'first': 'fst', 'last': 'out'}
    >>> match_parameters({"table.weight": (2, 3)}, {"table": (2, 3)})
    {'table.weight': 'table'}
    """
    if asked.keys() == there.keys():  # nearly always true, and the rest is slow
        return {}
    wanted, found = by_part(asked), by_part(there)

    def fits(left: str, right: str) -> bool:
        both = wanted[left].keys() & found[right].keys()
        if not both:
            return sizes(wanted[left]) == sizes(found[right])
        return all(list(wanted[left][name]) == list(found[right][name]) for name in both)

    renamed = meant(
        [name for name in wanted if name not in found],
        [name for name in found if name not in wanted],
        fits,
    )
    alike = {part: part for part in wanted if part in found} | renamed
    for part, other in alike.items():
        if "" not in wanted[part] and "" not in found[other]:
            inner = match_parameters(wanted[part], found[other])
            renamed |= {f"{part}.{name}": f"{other}.{own}" for name, own in inner.items()}
    return renamed | left_over(asked, there, renamed)


def left_over(asked: Shapes, there: Shapes, renamed: Mapping[str, str]) -> dict[str, str]:
    """Match the remaining tensors by shape alone.

    This happens only if each requested tensor has a partner and none is left over, for example
    `first.weight` and `last.weight` for `layers.0.weight` and `layers.2.weight`. Among tensors of
    the same shape, the most similar names are matched. If that decides nothing, the order of
    creation does. That is a safe guess, because it only decides the values that a tensor receives.
    Without the guess it would receive none and fail every check of values. A wrong guess fails
    these checks too, but no others. If the shapes differ, layers of the same kind are matched in
    their order.
    """
    known = {name: as_asked(name, renamed) for name in there}
    lacking = {n: shape for n, shape in asked.items() if n not in known.values()}
    more = {n: shape for n, shape in there.items() if known[n] not in asked}
    left, over = by_shape(lacking), by_shape(more)
    if {s: len(names) for s, names in left.items()} != {s: len(names) for s, names in over.items()}:
        return layers_in_order(list(lacking), list(more))
    pairs: dict[str, str] = {}
    for shape, names in left.items():
        wanted, found = told_apart(names), told_apart(over[shape])
        few = meant(list(wanted), list(found)) or dict(zip(wanted, found, strict=True))
        pairs |= {wanted[name]: found[own] for name, own in few.items()}
    return by_owner(pairs)


def layers_in_order(asked: Sequence[str], there: Sequence[str]) -> dict[str, str]:
    """Match layers in order, if equally many have tensors of the same names.

    >>> layers_in_order(["layers.0.weight", "layers.2.weight"], ["fc_1.weight", "fc_2.weight"])
    {'layers.0': 'fc_1', 'layers.2': 'fc_2'}
    >>> layers_in_order(["first.weight"], ["first_bias"])
    {}
    """
    if not asked or [name.rpartition(".")[2] for name in asked] != [
        name.rpartition(".")[2] for name in there
    ]:
        return {}
    pairs = [
        (a.rpartition(".")[0], t.rpartition(".")[0]) for a, t in zip(asked, there, strict=True)
    ]
    found = dict(pairs)
    is_one_to_one = len(found) == len(set(found.values())) == len(set(pairs))
    return found if is_one_to_one and all(map(all, pairs)) else {}


def told_apart(names: Sequence[str]) -> dict[str, str]:
    """Return dotted names, each under the part of it that differs between them.

    >>> told_apart(["made.q.weight", "made.k.weight"])
    {'q': 'made.q.weight', 'k': 'made.k.weight'}
    """
    if len(names) == 1:
        return {names[0]: names[0]}
    split = [name.split(".") for name in names]
    first, last = shared(split), shared([parts[::-1] for parts in split])
    middles = [".".join(parts[first : len(parts) - last]) for parts in split]
    return dict(zip(middles if all(middles) else names, names, strict=True))


def shared(split: list[list[str]]) -> int:
    """Return the number of leading parts that all names share."""
    return len(list(takewhile(lambda column: len(set(column)) == 1, zip(*split, strict=False))))


def sizes(tensors: Shapes) -> list[list[int]]:
    """Return the shapes of some tensors, sorted."""
    return sorted(map(list, tensors.values()))


def by_shape(tensors: Shapes) -> dict[tuple[int, ...], list[str]]:
    """Return the names of tensors by their shapes."""
    names: dict[tuple[int, ...], list[str]] = {}
    for name, shape in tensors.items():
        names.setdefault(tuple(shape), []).append(name)
    return names


def by_owner(pairs: Mapping[str, str]) -> dict[str, str]:
    """Return pairs of tensors as pairs of the parts that own them, if that is equivalent.

    >>> by_owner({"layers.0.weight": "first.weight", "layers.0.bias": "first.bias"})
    {'layers.0': 'first'}
    """
    shorter: dict[str, str] = {}
    for asked, own in pairs.items():
        holder, other = asked.rpartition(".")[0], own.rpartition(".")[0]
        shorter |= {holder: other} if holder and other else {asked: own}
    same = all(as_asked(own, shorter) == asked for asked, own in pairs.items())
    return shorter if same else dict(pairs)


def by_part(shapes: Shapes) -> dict[str, dict[str, Sequence[int]]]:
    """Return shapes by the first part of their names, and then by the rest."""
    parts: dict[str, dict[str, Sequence[int]]] = {}
    for name, shape in shapes.items():
        first, _, rest = name.partition(".")
        parts.setdefault(first, {})[rest] = shape
    return parts


def as_asked(name: str, renamed: Mapping[str, str]) -> str:
    """Return the requested name for a learner's dotted name.

    renamed: the learner's names by requested names; the longest one that fits counts.

    >>> as_asked("fst.weight", {"first": "fst"}), as_asked("fsts", {"first": "fst"})
    ('first.weight', 'fsts')
    >>> as_asked("out.w", {"last": "out", "last.weight": "out.w"})  # the longest name counts
    'last.weight'
    """
    for asked, there in sorted(renamed.items(), key=lambda pair: -len(pair[1])):
        if name == there or name.startswith(there + "."):
            return asked + name[len(there) :]
    return name
