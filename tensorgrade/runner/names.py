"""Match a learner's names to the stub's: one rule for weights and for arguments.

A module is compared level by level: first its parts, then the parts of each pair. Levels with the
same names share their pairs, so all blocks of a model are read in one way, and the pairs of one
module fit modules of any size. A name of the stub is never moved. Numbers in lists are no names:
they keep their order.
"""

import inspect
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import lru_cache
from itertools import chain, islice, product
from typing import Any

from torch import nn

MOST = 24  # assignments that are tried
MOST_ORDERS = 5040  # orders of one level that are compared
FEW_ORDERS = 20  # orders that are compared to find out if it helps to open a part
MISSPELT = 0.85  # the share of letters that a misspelt name has in common with the right one
WIDEST = 40  # names of a level that are compared at all
# Other words for the words in a stub's names.
SYNONYMS = {
    "attention": "attn att mha sa",
    "block": "layer",
    "context": "ctx seq",
    "d": "dim width channels",
    "dropout": "drop rate",
    "embedding": "emb embd embed table",
    "feed": "ff ffn mlp",
    "final": "last",
    "key": "k wk",
    "length": "len size",
    "norm": "ln layernorm",
    "out": "o wo output",
    "position": "pos wpe",
    "query": "q wq",
    "scale": "g gain gamma weight",
    "shift": "b beta bias offset",
    "token": "tok vocab wte",
    "value": "v val wv",
    "1": "before first",
    "2": "after second",
}
MEANINGS = {word: asked for asked, words in SYNONYMS.items() for word in words.split()}
SAY_NOTHING = {"fc", "layer", "linear", "n", "num", "number", "proj", "projection", "self", "w"}

Parameters = Mapping[str, inspect.Parameter]
POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
BY_NAME = inspect.Parameter.KEYWORD_ONLY
REST, NAMED_REST = inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD
Shapes = Mapping[str, Any]  # the shape of each tensor, by dotted name, in the order of creation
Parts = dict[str, dict[str, str]]  # the shapes inside of each part, by the part's name
Pairs = tuple[tuple[str, str], ...]  # (the stub's name, the learner's name)
Lost = tuple[int, int]  # tensors of the stub that have no partner of their shape, and none at all
Levels = Mapping[str, Pairs]  # the pairs of each level, by its `title`


@dataclass(frozen=True)
class Assignment:
    """The learner's names that stand for the stub's.

    weights: the pairs of each level of modules. arguments: by callable, the learner's parameter for
    each of the stub's.
    """

    weights: Levels = field(default_factory=dict)
    arguments: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @property
    def similarity(self) -> float:
        """Return how similar the names are that were paired."""
        levels = (*self.weights.values(), *(one.items() for one in self.arguments.values()))
        return round(sum(likeness(*pair) for level in levels for pair in level), 6)


def plausible(asked: Shapes, own: Shapes, known: Levels) -> list[Levels]:
    """Return at most MOST ways to pair the tensors of a module, the most plausible first.

    known: the pairs that were decided before. They come first, and others last.
    """
    found: dict[str, list[Pairs]] = {}
    collect(asked, own, known, found)

    def doubt(chosen: tuple[tuple[int, Pairs], ...]) -> tuple[bool, int]:
        against = any(at and name in known for name, (at, _) in zip(found, chosen, strict=True))
        return against, sum(at for at, _ in chosen)

    combined = islice(product(*map(enumerate, found.values())), MOST_ORDERS)
    best = sorted(combined, key=doubt)[:MOST]
    return [dict(zip(found, (pairs for _, pairs in one), strict=True)) for one in best]


def collect(asked: Shapes, own: Shapes, known: Levels, found: dict[str, list[Pairs]]) -> None:
    """Add the plausible pairs of a level, and of all levels below it, to `found`."""
    wanted, there = parts_of(asked), parts_of(own)
    name = title(wanted, there)
    if name in found or (set(wanted), set(there)) == ({""}, {""}):
        return
    choices, before = pairs_of(wanted, there), known.get(name, ())
    if before and not any(lacking(inside(asked, a), inside(own, o)) for a, o in before):
        choices = [before, *(pairs for pairs in choices if pairs != before)]
    found[name] = choices
    for part, other in dict.fromkeys(chain.from_iterable(choices)):
        collect(inside(asked, part), inside(own, other), known, found)


def names_in_stub(asked: Shapes, own: Shapes, levels: Levels) -> dict[str, str]:
    """Return the stub's name of each part and each tensor of a module, by the learner's name.

    A level that is not among `levels`, or fits less well now because it is longer or shorter, gets
    its most plausible pairs. {} if no name differs.

    >>> names_in_stub({"first.weight": 3}, {"fst.weight": 3}, {})
    {'fst': 'first', 'fst.weight': 'first.weight'}
    """
    if asked.keys() == own.keys():
        return {}
    found: dict[str, str] = {}
    wanted, there = parts_of(asked), parts_of(own)
    plausible_now = pairs_of(wanted, there)[0]
    known = levels.get(title(wanted, there), plausible_now)
    chosen = min(known, plausible_now, key=lambda pairs: unpaired(pairs, asked, own))
    for name, other in chosen:
        found[other] = name
        left, right = inside(asked, name), inside(own, other)
        deeper = names_in_stub(left, right, levels) or {one: one for one in left}
        found |= {f"{other}.{o}".strip("."): f"{name}.{a}".strip(".") for o, a in deeper.items()}
    return found


def unpaired(pairs: Pairs, asked: Shapes, own: Shapes) -> int:
    """Return for how many of the stub's tensors the pairs have no partner of the same shape."""
    both = [(inside(asked, a), inside(own, o)) for a, o in pairs]
    return len(asked) - sum(len(inner) - lacking(inner, other) for inner, other in both)


def renamed(name: str, names: Mapping[str, str]) -> str:
    """Return the stub's name for a learner's dotted name; `names` has those of some parts.

    >>> renamed("fst.weight", {"fst": "first"}), renamed("fsts", {"fst": "first"})
    ('first.weight', 'fsts')
    """
    words = name.split(".")
    for count in range(len(words), 0, -1):
        if (part := ".".join(words[:count])) in names:
            return ".".join([names[part], *words[count:]])
    return name


def argument_ways(asked: Sequence[str], parameters: Parameters) -> list[dict[str, str]]:
    """Return the ways to pass arguments: by position, and by equal and similar names.

    The one with more of the stub's own names comes first. Arguments that have no partner go to
    `*args` and `**kwargs`.

    >>> argument_ways(["x", "dim"], parameters_of(lambda rows, axis=0: 0))
    [{'x': 'rows', 'dim': 'axis'}]
    >>> argument_ways(["x", "dim"], parameters_of(lambda dim, rows: 0))
    [{'x': 'rows', 'dim': 'dim'}, {'x': 'dim', 'dim': 'rows'}]
    """
    places = tuple(name for name, one in parameters.items() if one.kind in POSITIONAL)
    alone = tuple(name for name, one in parameters.items() if one.kind == BY_NAME)
    return [dict(way) for way in ways_of(tuple(asked), places, alone)]


def parameters_of(function: Callable) -> Parameters:
    """Return the parameters of a function, a class or a module; nothing if Python cannot tell.

    A call of a module runs its `forward`.
    """
    code = function.forward if isinstance(function, nn.Module) else function
    try:
        return inspect.signature(code).parameters
    except (TypeError, ValueError):
        return {}


def bound(
    function: Callable,
    parameters: Parameters,
    assigned: Mapping[str, str],
    arguments: Mapping[str, Any],
) -> tuple[list[Any], dict[str, Any]]:
    """Return the positional and the named arguments of a call.

    assigned: the learner's parameter for each of the stub's. arguments: by the stub's names, in the
    stub's order.
    Raises TypeError if no parameter can take one of them.
    """
    values = {assigned[name]: value for name, value in arguments.items() if name in assigned}
    rest = {name: value for name, value in arguments.items() if name not in assigned}
    first = []
    for name, parameter in parameters.items():
        if parameter.kind not in POSITIONAL or name not in values:
            break
        first.append(values.pop(name))
    # A module class without an `__init__` has torch's own, whose `*args` accept nothing.
    bare = inspect.isclass(function) and function.__init__ is nn.Module.__init__
    if rest and takes(parameters, REST) and not bare:
        return [*first, *rest.values()], values
    if rest and not takes(parameters, NAMED_REST):
        raise TypeError(no_parameters(function, list(rest)))
    return first, values | rest


def takes(parameters: Parameters, kind: Any) -> bool:
    """Return True if there is a parameter of a kind, such as `*arguments`."""
    return any(parameter.kind == kind for parameter in parameters.values())


def no_parameters(function: Callable, names: list[str]) -> str:
    """Return a message that names all parameters that a function or constructor lacks.

    >>> no_parameters(dict, ["size", "width"])
    "__init__() has no parameters 'size' and 'width'"
    """
    called = "__init__" if inspect.isclass(function) else getattr(function, "__name__", "it")
    *first, last = [f"'{name}'" for name in names]
    listed = f"{', '.join(first)} and {last}" if first else last
    return f"{called}() has no parameter{'s' * bool(first)} {listed}"


@lru_cache(maxsize=1000)
def ways_of(asked: tuple[str, ...], places: tuple[str, ...], alone: tuple[str, ...]) -> list[Pairs]:
    """Return the ways as pairs. places, alone: the parameters with a place, and those without."""
    left = [name for name in asked[len(places) :] if name in alone]
    position = (*zip(asked, places, strict=False), *((name, name) for name in left))
    wanted, there = ({name: {"": ""} for name in names} for names in (asked, (*places, *alone)))
    chosen = best_pairs(wanted, there)[1][0]
    by_name = tuple(sorted(chosen, key=lambda pair: asked.index(pair[0])))
    ways = dict.fromkeys((position, by_name))
    return sorted(ways, key=lambda way: -sum(name == own for name, own in way))


def pairs_of(asked: Parts, own: Parts) -> list[Pairs]:
    """Return the plausible pairs of a level; the best first.

    As long as a tensor of the stub lacks a partner, a part is opened if that helps: the parts in it
    take its place. So `fc1` and `fc2` may stand for `layers.0` and `layers.2`.
    """
    return searched(*(tuple((n, tuple(s.items())) for n, s in one.items()) for one in (asked, own)))


@lru_cache(maxsize=500)
def searched(*levels: tuple) -> list[Pairs]:
    """Return the pairs of `pairs_of`; each load of a module asks for the same ones."""
    asked, own = ({name: dict(shapes) for name, shapes in level} for level in levels)
    lost, _ = best_pairs(asked, own, FEW_ORDERS)
    while lost > (0, 0):
        tries = [(level, own) for level in openings(asked)]
        tries += [(asked, level) for level in openings(own)]
        tries += product(openings(asked, lists=True), openings(own, lists=True))
        fitting = (levels for levels in tries if len(levels[1]) <= WIDEST)
        found = ((best_pairs(*levels, FEW_ORDERS)[0], levels) for levels in fitting)
        least, best = min(found, key=lambda one: one[0], default=(lost, (asked, own)))
        if least >= lost:
            break
        lost, (asked, own) = least, best
    return best_pairs(asked, own)[1]


def best_pairs(asked: Parts, own: Parts, most: int = MOST_ORDERS) -> tuple[Lost, list[Pairs]]:
    """Return what is lacking at least, and the pairs that lack no more.

    Pairs with few superfluous tensors come first, then similar names, then the order of creation.
    """
    if len(own) > WIDEST:
        own = {name: inner for name, inner in own.items() if name in asked}
    lost = {(a, o): lacking(asked[a], own[o]) for a in asked for o in own}
    spare = {(a, o): lacking(own[o], asked[a]) for a in asked for o in own}
    misfit = {pair: (lost[pair], spare[pair]) for pair in lost}
    listed = all(one in own and not lost[one, one] for one in asked if not is_word(one))
    fixed = [name for name in asked if name in own and (is_word(name) or listed)]
    same = tuple(zip(fixed, fixed, strict=True))
    left, over = ([name for name in level if name not in fixed] for level in (asked, own))

    def cost(pairs: Pairs) -> tuple[Lost, int, float]:
        alone = sum(len(asked[name]) for name in set(asked).difference(a for a, _ in pairs))
        unpaired = alone + sum(lost[pair] for pair in pairs)
        absent = alone + sum(max(0, len(asked[a]) - len(own[o])) for a, o in pairs)
        alike = round(sum(likeness(*pair) for pair in pairs), 6)
        return (unpaired, absent), sum(spare[pair] for pair in pairs), -alike

    all_pairs = (same + pairs for pairs in islice(orders(left, over, misfit), most))
    ranked = sorted(((cost(pairs), pairs) for pairs in all_pairs), key=lambda one: one[0])
    least = ranked[0][0][0]
    return least, [pairs for (unpaired, *_), pairs in ranked[:MOST] if unpaired == least]


def orders(left: Sequence[str], over: Sequence[str], misfit: Mapping) -> Iterator[Pairs]:
    """Yield the ways to give each of the stub's names one that lacks as little as possible.

    misfit: by pair, the numbers of lacking and of superfluous tensors. Few superfluous come first.
    """
    if not left or not over:
        yield ()
        return
    name, *others = left
    numbers = not any(map(is_word, (*left, *over)))
    places = sorted(range(len(over)), key=lambda at: misfit[name, over[at]])
    least, _ = misfit[name, over[places[0]]]
    for at in places:
        if misfit[name, over[at]][0] == least:
            rest = over[at + 1 :] if numbers else [*over[:at], *over[at + 1 :]]
            yield from (((name, over[at]), *pairs) for pairs in orders(others, rest, misfit))
    if len(left) > len(over):
        yield from orders(others, over, misfit)


def is_word(name: str) -> bool:
    """Return True unless a name is a place in a list, which is no name."""
    return not name.isdigit()


def openings(level: Parts, lists: bool = False) -> Iterator[Parts]:
    """Yield the level with the parts inside one of its parts in place of that part, for each.

    If there is one part inside, that one is opened next. lists: open only lists of parts.
    """
    for name in level:
        if lists and any(map(is_word, parts_of(level[name]))):
            continue
        opened = level
        while name in opened and "" not in opened[name]:
            inner = {f"{name}.{one}": shapes for one, shapes in parts_of(opened[name]).items()}
            pieces = (inner if one == name else {one: shapes} for one, shapes in opened.items())
            opened = {one: shapes for piece in pieces for one, shapes in piece.items()}
            yield opened
            name = next(iter(inner)) if len(inner) == 1 else ""


def lacking(asked: Shapes, own: Shapes) -> int:
    """Return the number of the stub's tensors without an own tensor of the same shape."""
    return (Counter(map(str, asked.values())) - Counter(map(str, own.values()))).total()


def parts_of(shapes: Shapes) -> Parts:
    """Return the shapes inside of each part of a module; a tensor's own shape is under ""."""
    parts: Parts = {}
    for name, shape in shapes.items():
        first, _, rest = name.partition(".")
        parts.setdefault(first, {})[rest] = str(shape)
    return parts


def inside(shapes: Shapes, part: str) -> Shapes:
    """Return the shapes inside of a part, which may have a dotted name."""
    start = f"{part}." if part else ""
    found = {n.removeprefix(start): s for n, s in shapes.items() if n.startswith(start)}
    return {"": shapes[part]} if part in shapes else found


def title(asked: Parts, own: Parts) -> str:
    """Return the names of a level, the stub's and the learner's, as one text."""
    return f"{' '.join(asked)} | {' '.join(own)}"


@lru_cache(maxsize=2000)
def likeness(asked: str, own: str) -> float:
    """Return the share of their words that two names have in common, from 0 to 1.

    >>> likeness("W_query", "q_proj"), likeness("dropout", "droupout"), likeness("width", "rate")
    (1.0, 0.5, 0.0)
    """
    left, right = words_of(asked), words_of(own)
    misspelt = get_close_matches(own, [asked], 1, MISSPELT)
    return max(len(left & right) / len(left | right), 0.5 * len(misspelt))


def words_of(name: str) -> set[str]:
    """Return the words of a name, without those that say nothing unless it has no others.

    >>> sorted(words_of("maxWidth_2"))
    ['2', 'd', 'max']
    """
    name = re.sub(r"\.\d+", "", name)  # a place in a list
    words = [word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+|\d+", name)]
    plain = [word if word in MEANINGS else word.removesuffix("s") for word in words]
    found = {MEANINGS.get(word, word) for word in plain}
    return found - SAY_NOTHING or found or {name}
