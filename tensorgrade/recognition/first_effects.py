"""First effects: what known mistakes change first in the solution, on public cases.

They are the same for every learner, so a build computes and stores them
(author/recording/first_effects.py). Grading finds the learner's line that does the same.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import chain

import torch


@dataclass(frozen=True)
class FirstEffect:
    """The first changes that known mistakes cause on one case.

    values: for each edited line, its values that no right answer has. named: by name, the value
    that an edited line stores under that name and the solution does not. raises: the types of
    errors on edited lines.
    """

    values: tuple[tuple[torch.Tensor, ...], ...] = ()
    named: dict[str, torch.Tensor] = field(default_factory=dict)
    raises: tuple[str, ...] = ()


@dataclass(frozen=True)
class FirstEffects:
    """The first changes that known mistakes cause in the solution.

    by_case: the effects by case id, for cases that show any. is_quiet: True if the mistakes change
    no result and raise no error. made: the attributes of `self` that edited lines of `__init__`
    assign; empty unless the mistakes are quiet, because a result shows their lines. texts: the code
    of edited lines that the solution does not have. placed: True if the first wrong value of the
    edited solution is on an edited line, so that a learner's first wrong value shows the mistake's
    line too. calls: the functions that only the edited lines call; empty if a traced value changes.
    """

    by_case: dict[str, FirstEffect] = field(default_factory=dict)
    is_quiet: bool = False
    made: tuple[str, ...] = ()
    texts: frozenset[str] = frozenset()
    placed: bool = False
    calls: frozenset[str] = frozenset()

    def as_json(self) -> dict:
        """Return the effects in their stored form."""
        cases = {
            case: {
                "values": [[one.tolist() for one in line] for line in effect.values],
                "named": {name: one.tolist() for name, one in effect.named.items()},
                "raises": list(effect.raises),
            }
            for case, effect in self.by_case.items()
        }
        return {
            "cases": cases,
            "is_quiet": self.is_quiet,
            "made": list(self.made),
            "texts": sorted(self.texts),
            "placed": self.placed,
            "calls": sorted(self.calls),
        }


def read_effects(stored: dict) -> FirstEffects:
    """Return effects from their stored form."""
    cases = {
        case: FirstEffect(
            tuple(tuple(map(torch.tensor, line)) for line in told["values"]),
            {name: torch.tensor(one) for name, one in told["named"].items()},
            tuple(told["raises"]),
        )
        for case, told in stored["cases"].items()
    }
    return FirstEffects(
        cases,
        stored["is_quiet"],
        tuple(stored["made"]),
        frozenset(stored["texts"]),
        stored["placed"],
        frozenset(stored["calls"]),
    )


def together(effects: list[FirstEffects]) -> FirstEffects:
    """Return the first effects of several mistakes in one answer.

    Each value may be the first: one mistake may hide effects of another, but adds none.
    """
    if len(effects) == 1:
        return effects[0]
    ids = dict.fromkeys(chain.from_iterable(one.by_case for one in effects))
    by_case = {case: on_case(one.by_case.get(case) for one in effects) for case in ids}
    is_quiet = all(one.is_quiet for one in effects)
    return FirstEffects(
        by_case,
        is_quiet,
        tuple(chain.from_iterable(one.made for one in effects)) if is_quiet else (),
        frozenset().union(*(one.texts for one in effects)),
        all(one.placed for one in effects),
        frozenset() if by_case else frozenset().union(*(one.calls for one in effects)),
    )


def on_case(effects: Iterable[FirstEffect | None]) -> FirstEffect:
    """Return the first effects of several mistakes on one case."""
    known = [one for one in effects if one]
    named = [(name, value) for one in known for name, value in one.named.items()]
    return FirstEffect(
        tuple(line for one in known for line in one.values),
        dict(named),
        tuple(kind for one in known for kind in one.raises),
    )
