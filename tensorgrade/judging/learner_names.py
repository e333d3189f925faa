"""A learner's own names in place of the stub's names, translated for judging, and reported.

When weights are loaded and arguments are passed, the learner's process reports which of the stub's
names corresponds to a learner's name. This decides under which name a value is judged. It costs
points and can never earn any.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Self

from ..exchange.observation import Observation
from ..exchange.text import code, joined, sentences
from ..runner.names import as_asked, match_parameters
from .diagnosis import Diagnosis, Finding, Kind
from .parameter_order import Order

ASKS = "Names and their order are those of the given code."
LONGEST = 300  # characters of names in one sentence
SHARE, POINTS = 0.1, 1.0  # other names cost this share of an exercise, but at most these points


@dataclass(frozen=True)
class Names:
    """The names and orders in which the learner's code differs from the stub.

    understood: the learner's names of weights, parts and definitions, by the stub's name. orders:
    the orders of parameters that differ from the stub's. library: by part, the class from torch
    that replaces an exercise's class of the same name, which explains other names inside the part.
    """

    understood: dict[str, str] = field(default_factory=dict)
    orders: tuple[Order, ...] = ()
    library: dict[str, str] = field(default_factory=dict)

    @classmethod
    def told(cls, observed: Iterable[Observation], orders: tuple[Order, ...] = ()) -> Self:
        """Return all names that differ in any of the cases, together with these orders."""
        names = cls(orders=orders)
        for one in observed:
            names.understood.update(texts(one.fact("names", "understood", default={})))
        return names

    def without(self, earlier: Self, itself: bool = False) -> Self:
        """Return the names that are not in parts of an earlier exercise, which reports those.

        itself: True if this exercise's cases make an object of the earlier one, which has those
        names itself and not only in its parts.

        >>> Names({"norm.width": "norm.w", "width": "w"}).without(Names({"width": "w"})).understood
        {'width': 'w'}
        >>> Names({"rows.0.norm.width": "rows.0.norm.w"}).without(Names({"norm.width": "norm.w"}))
        Names(understood={}, orders=(), library={})
        """
        there = earlier.understood.items()
        told = {asked for asked in self.understood if not there.isdisjoint(self.inner(asked))}
        if itself:
            told |= {asked for asked, own in self.understood.items() if (asked, own) in there}
        return replace(
            self, understood={a: own for a, own in self.understood.items() if a not in told}
        )

    def within(self, asked: str) -> tuple[str, str]:
        """Return the stub's name and the learner's, without the parts that contain both.

        >>> Names({"rows.0.last": "rows.0.end", "last.1": "last.2"}).within("rows.0.last")
        ('last', 'end')
        """
        return next(self.inner(asked), (asked, self.understood[asked]))

    def inner(self, asked: str) -> Iterator[tuple[str, str]]:
        """Yield (stub's name, learner's name) as seen from each part that contains both.

        The innermost part comes first.
        """
        wanted, there = asked.split("."), self.understood[asked].split(".")
        for count in range(min(len(wanted), len(there)) - 1, 0, -1):
            holder, other = ".".join(wanted[:count]), ".".join(there[:count])
            numbered = wanted[count].isdigit() or there[count].isdigit()  # not a name
            if self.understood.get(holder, holder) == other and not numbered:
                yield ".".join(wanted[count:]), ".".join(there[count:])

    @property
    def differ(self) -> bool:
        """Return True if anything differs, which costs points."""
        return bool(self.understood or self.orders)

    @property
    def sentence(self) -> str:
        """Return a clause about everything that differs; "" if nothing does."""
        classes = dict.fromkeys(self.library.values())
        parts = {name: [p for p, one in self.library.items() if one == name] for name in classes}
        library = (
            f"{code(held)} should be your own `{name}`, not torch's `nn.{name}`"
            for name, held in parts.items()
        )
        return joined(*(one.sentence for one in self.orders), *library, self.renamed)

    @property
    def renamed(self) -> str:
        """Return a clause about all names that differ, each once; "" if none does.

        If a message cannot hold all of them, it says how many more there are.

        >>> Names({"width": "w", "part.0.width": "part.0.w", "rows": "x"}).renamed
        '`w` should be called `width`, `x` should be `rows`'
        """
        told = (name for name in self.understood if name.rpartition(".")[0] not in self.library)
        differ = dict.fromkeys(map(self.within, told))
        if not differ:
            return ""
        ends = accumulate(len(f"`{own}` should be `{asked}`, ") for asked, own in differ)
        fit = max(1, sum(end - len(", ") <= LONGEST for end in ends))
        (asked, own), *rest = [*differ][:fit]
        first = [f"`{own}` should be called `{asked}`"]
        names = ", ".join(first + [f"`{own}` should be `{asked}`" for asked, own in rest])
        return f"{names} and {len(differ) - fit} more" if fit < len(differ) else names

    def finding(self, cost: float, right: bool) -> Finding:
        """Return the finding about names that differ, in the form of a failed check.

        right: True if nothing else is wrong.
        """
        assert self.differ, "only names that differ cost points"
        problem = f"{self.sentence} (costs {cost:g} {'point' if cost == 1 else 'points'})"
        return Finding(ASKS, Diagnosis(Kind.FACT, sentences("Right" * right, problem)))

    def cost(self, most: float) -> float:
        """Return the points that the names cost together in an exercise worth `most`."""
        return min(POINTS, SHARE * most) if self.differ else 0.0


def texts(told: dict) -> dict[str, str]:
    """Return the entries whose value is a text, among those that a learner's process reports."""
    return {key: value for key, value in told.items() if isinstance(value, str)}


def in_asked_names(expected: Observation, observed: Observation) -> Observation:
    """Return the observation, with the parts of described modules under the stub's names."""
    for name, facts in expected.facts.items():
        if "parameters" in facts:
            observed = described_as_asked(name, expected, observed)
    return observed


def described_as_asked(name: str, expected: Observation, observed: Observation) -> Observation:
    """Return the observation, with the parts of this module under the stub's names."""
    renamed: dict[str, str] = {}
    for kind in ("parameters", "buffers"):
        want, got = (shapes(seen.fact(name, kind, default={})) for seen in (expected, observed))
        renamed |= match_parameters(want, got)
    if not renamed:
        return observed
    told = observed.facts[name]
    module = told | {
        kind: {as_asked(key, renamed): value for key, value in told[kind].items()}
        for kind in ("parameters", "buffers")
        if isinstance(told.get(kind), dict)
    }
    understood = observed.fact("names", "understood", default={}) | renamed
    names = observed.fact("names", default={}) | {"understood": understood}
    within = {f"{name}.{asked}": f"{name}.{own}" for asked, own in renamed.items()}
    tensors = {as_asked(key, within): tensor for key, tensor in observed.tensors.items()}
    facts = observed.facts | {name: module, "names": names}
    return replace(observed, facts=facts, tensors=tensors)


def shapes(told: dict) -> dict[str, list[int]]:
    """Return the shape of each tensor that a described module claims to have."""
    return {
        name: fact[0]
        for name, fact in told.items()
        if isinstance(fact, list) and fact and isinstance(fact[0], list)
    }
