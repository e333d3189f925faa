"""Imprints: a few words and numbers that summarize an observation and distinguish mistakes.

An imprint contains too little to reveal an answer. It is the same on every platform. It excludes
details in which correct answers may differ.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from hashlib import blake2b

import torch

from ..exchange.cases import Case
from ..exchange.observation import Observation
from ..exchange.values import kind, plain
from .operations import grows

LONGEST_WORDS = 300
ENDED = "ended in "  # prefix of the words in an error's imprint


@dataclass(frozen=True)
class Imprint:
    """A summary of an observation: of its values, and of the facts beside them.

    words: of the values; must be equal. numbers: of the values; must be close. facts: such as a
    changed input or the place of a buffer; compared apart (`facts_of` in fingerprints.py).
    """

    words: str = ""
    numbers: tuple[float, float] = (0.0, 0.0)
    facts: tuple[str, ...] = ()

    @property
    def is_error(self) -> bool:
        """Return True if this is the imprint of a call that ended in an error."""
        return self.words.startswith(ENDED)

    def matches(self, other: "Imprint") -> bool:
        """Return True if the values are the same: equal words and close numbers."""
        (a, b), (c, d) = self.numbers, other.numbers  # no loop: thousands of pairs are compared
        return self.words == other.words and is_close(a, c) and is_close(b, d)


def is_close(number: float, other: float) -> bool:
    """Return True if two weighted sums are equal, apart from rounding."""
    return abs(number - other) <= 2e-4 * (1 + abs(number))


def of_values(case: Case, expected: Observation, seen: Observation) -> Imprint:
    """Summarize each result by name, shape and two fixed weighted sums.

    Facts are the changed inputs, and the parameters that nobody asked for. A parameter of another
    shape decides the values, so it is one of the words.
    """
    names = sorted(set(seen.tensors) & set(expected.tensors))
    words = [f"{name}{tuple(seen.tensors[name].shape)}" for name in names]
    misshapen: dict = seen.fact("load", "misshapen", default={})
    unexpected: list = seen.fact("load", "unexpected", default=[])
    words += [f"misshapen: {misshapen}"] if misshapen else []
    floats: list[float] = []
    words += [f"{n}={brief(plain_value(seen.values[n], floats))}" for n in sorted(seen.values)]
    tensors = [seen.tensors[name] for name in names]
    tensors += [torch.tensor(floats, dtype=torch.float64)] if floats else []
    words += ["nan"] * any(t.isnan().any() for t in tensors if t.is_floating_point())
    numbers = weighted(tensors, 1.0), weighted(tensors, 2.7)
    superfluous = (f"unexpected: {name}" for name in unexpected)
    return Imprint("; ".join(words), numbers, (*superfluous, *changed_inputs(seen)))


def plain_value(value: dict, floats: list[float]) -> object:
    """Return a value without the types of its containers and with `~` in place of each float.

    floats: receives the floats, because these need only be close. Return "nothing" for None, and
    "an object" for a value that cannot be compared.
    """
    if value["json"] is None:
        return "nothing" if value["type"] == "NoneType" else "an object"
    if kind(value["json"]) == "unjudged":
        return "an object"
    return without_floats(plain(value["json"]), floats)


def without_floats(value: object, floats: list[float]) -> object:
    """Return a plain value with `~` in place of each float, which is added to `floats`."""
    if isinstance(value, float):
        floats.append(value)
        return "~"
    if isinstance(value, list):
        return [without_floats(part, floats) for part in value]
    if isinstance(value, dict):
        return {key: without_floats(part, floats) for key, part in value.items()}
    return value


def brief(value: object) -> str:
    """Return a value as text, or as a digest of its text if that is long."""
    text = str(value)
    return (
        text if len(text) <= LONGEST_WORDS else blake2b(text.encode(), digest_size=12).hexdigest()
    )


def changed_inputs(seen: Observation) -> list[str]:
    """Return a text for each call that changed inputs in place."""
    changed = ((name, facts.get("changed")) for name, facts in sorted(seen.facts.items()))
    return [f"{name} changes {inputs}" for name, inputs in changed if inputs]


def equals_an_input(inputs: Iterable[torch.Tensor], result: torch.Tensor) -> bool:
    """Return True if a result equals one of these arguments and weights up to rounding.

    For example, weights divided by their own sum, which is 1, are the same weights, although the
    last digit may be rounded differently.
    """
    return any(
        one.shape == result.shape
        and torch.allclose(one.double(), result.double(), rtol=1e-6, atol=0)
        for one in inputs
    )


def weighted(tensors: list[torch.Tensor], pace: float) -> float:
    """Return a weighted sum of all entries, divided by the root of their number.

    No two entries have the same factor: it is the cosine of the entry's index times `pace`.
    """
    if not tensors:
        return 0.0
    flat = torch.cat([t.double().flatten() for t in tensors])
    # NaN gets a value of its own because its position distinguishes mistakes.
    flat.nan_to_num_(nan=7.0, posinf=11.0, neginf=-11.0)
    # In place: results may be large, and each copy adds to the peak memory of a worker.
    factors = torch.arange(1, 1 + flat.numel(), dtype=torch.float64).mul_(pace).cos_()
    return float(factors.mul_(flat).sum() / max(1, flat.numel()) ** 0.5)


def of_structure(case: Case, expected: Observation, seen: Observation) -> Imprint:
    """Summarize facts about a module that is only described.

    They are its parameters by name, shape and gradient, the place of each expected buffer, and the
    random start. A state into which weights were loaded is no chance: it counts as values.
    """
    values, facts = of_values(case, expected, seen), list[str]()
    if not any(step.verb == "load" for step in case.steps):
        start = " ".join([values.words, *(f"{number:.4g}" for number in values.numbers)])
        values, facts = Imprint(facts=values.facts), [start] if values.words else []
    for name, asked in sorted(expected.facts.items()):
        if "parameters" in asked:
            got = seen.fact(name, "parameters", default={})
            facts += [f"{name}.{parameter}: {what}" for parameter, what in sorted(got.items())]
            facts += [f"{b}: {seen.home(name, b)}" for b in asked.get("buffers", {})]
    return replace(values, facts=(*values.facts, *facts))


def of_growth(case: Case, expected: Observation, seen: Observation) -> Imprint:
    """Summarize whether the number of operations grows with the size, as it does in a loop."""
    few, many = (seen.fact(r, "operations", default={}) for r in ("few", "many"))
    return Imprint(facts=(f"grows={grows(few, many)}",))


def of_use(seen: Observation, names: set[str]) -> Imprint:
    """Record if a watched call ran one of these operations."""
    return Imprint(facts=(f"used={seen.uses(names)}",))


def of_dtype(case: Case, expected: Observation, seen: Observation) -> Imprint:
    """Summarize the dtype of the result, or of each of its parts."""
    results = [seen.tensors.get(name) for name in results_in(expected)]
    return Imprint(", ".join("none" if part is None else str(part.dtype) for part in results))


def results_in(expected: Observation) -> list[str]:
    """Return ["result"] if the result is one tensor, otherwise the names of its tensors."""
    if "result" in expected.tensors:
        return ["result"]
    return sorted(name for name in expected.tensors if name.startswith(("result.", "result[")))
