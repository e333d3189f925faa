"""What an observation is boiled down to: a few words and numbers, to tell mistakes apart by.

An imprint holds too little to learn an answer from, is the same on every platform, and keeps out
what right answers may do differently.
"""

from dataclasses import dataclass

import torch

from ..exchange.cases import Case
from ..exchange.observation import Observation
from .operations import grows

ENDED = "ended in "  # what the words of an error's imprint begin with


@dataclass(frozen=True)
class Imprint:
    """words: what must be equal. numbers: what must be close."""

    words: str
    numbers: tuple[float, float] = (0.0, 0.0)

    @property
    def is_error(self) -> bool:
        """Whether it is that of a call that ended in an error."""
        return self.words.startswith(ENDED)

    def matches(self, other: "Imprint") -> bool:
        """Equal words and close numbers."""
        return self.words == other.words and all(
            abs(a - b) <= 2e-4 * (1 + abs(a))
            for a, b in zip(self.numbers, other.numbers, strict=True)
        )


def of_values(case: Case, expected: Observation, seen: Observation) -> Imprint:
    """Every result: names, shapes, and two fixed weighted sums; and which inputs changed.

    Where not all weights were loaded the values are those of a random start: it depends on the
    order of construction, which right answers choose freely, and is left out.
    """
    names = sorted(set(seen.tensors) & set(expected.tensors))
    words = [f"{name}{tuple(seen.tensors[name].shape)}" for name in names]
    if unloaded := not_loaded(seen):
        return Imprint("; ".join([*words, *unloaded, *changed_inputs(seen)]))
    words += [f"{name}={plain_value(seen.values[name])}" for name in sorted(seen.values)]
    words += changed_inputs(seen)
    tensors = [seen.tensors[name] for name in names]
    words += ["nan"] * any(t.isnan().any() for t in tensors if t.is_floating_point())
    return Imprint("; ".join(words), (weighted(tensors, 1.0), weighted(tensors, 2.7)))


def not_loaded(seen: Observation) -> list[str]:
    """Which parameters kept their random start: of another shape than the weights, or extra."""
    load = seen.facts.get("load", {})
    return [f"{kind}: {load[kind]}" for kind in ("misshapen", "unexpected") if load.get(kind)]


def plain_value(value: dict) -> object:
    """A number, text, list or dict as it is; whether anything else is there at all."""
    if value.get("json") is not None:
        return value["json"]
    return "nothing" if value.get("type") == "NoneType" else "an object"


def changed_inputs(seen: Observation) -> list[str]:
    """Which calls changed which of their inputs in place."""
    return [
        f"{name} changes {changes(facts)}"
        for name, facts in sorted(seen.facts.items())
        if changes(facts)
    ]


def changes(facts: dict) -> list:
    return facts.get("changed") or []


def echoed(case: Case, result: torch.Tensor) -> bool:
    """Whether a result is a tensor that was passed in: equal in shape and value."""
    return any(
        passed.shape == result.shape and torch.equal(passed.double(), result.double())
        for passed in case.tensors.values()
    )


def weighted(tensors: list[torch.Tensor], pace: float) -> float:
    """A weighted mean over all entries; no two entries weigh the same."""
    if not tensors:
        return 0.0
    flat = torch.cat([t.double().flatten() for t in tensors])
    # Where NaN stands tells mistakes apart.
    flat = flat.nan_to_num(nan=7.0, posinf=11.0, neginf=-11.0)
    steps = torch.arange(1, 1 + flat.numel(), dtype=torch.float64)
    return float((flat * torch.cos(pace * steps)).sum() / max(1, flat.numel()) ** 0.5)


def of_structure(case: Case, expected: Observation, seen: Observation) -> Imprint:
    """Parameters by name, shape and gradient; and where each expected buffer was kept."""
    words = []
    for name, facts in sorted(expected.facts.items()):
        if "parameters" in facts:
            got = seen.fact(name, "parameters", default={})
            words.append(f"{name}: {sorted(got.items())}")
            words += [f"{b}: {seen.home(name, b)}" for b in facts.get("buffers", {})]
    values = of_values(case, expected, seen)
    return Imprint("; ".join(words) + values.words, values.numbers)


def of_growth(case: Case, expected: Observation, seen: Observation) -> Imprint:
    """Whether the larger call needed more operations than the smaller one, as a loop does."""
    few, many = (seen.fact(r, "operations", default={}) for r in ("few", "many"))
    return Imprint(f"grows={grows(few, many)}")


def of_use(seen: Observation, names: set[str]) -> Imprint:
    """Whether a watched call ran one of these operations."""
    return Imprint(f"used={seen.uses(names)}")


def of_dtype(case: Case, expected: Observation, seen: Observation) -> Imprint:
    """The dtype of the result."""
    result = seen.tensors.get("result")
    return Imprint("none" if result is None else str(result.dtype))
