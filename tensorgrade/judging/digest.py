"""Boils one observation down to a few words and numbers, by which mistakes are told apart.

A digest holds too little to learn an answer from, is the same on every platform, and keeps out
what right answers may do differently.
"""

import re
from dataclasses import dataclass

import torch

from ..cases import Case
from ..observation import Observation
from . import dropout
from .operations import DROPOUTS, SOFTMAXES, grows, uses


REFUSALS = {"ValueError", "AssertionError"}
LONGEST = 120


@dataclass(frozen=True)
class Digest:
    """words: what must be equal. numbers: what must be close."""

    words: str
    numbers: tuple[float, float] = (0.0, 0.0)

    def matches(self, other: "Digest") -> bool:
        """Equal words and close numbers."""
        return self.words == other.words and all(
            abs(a - b) <= 2e-4 * (1 + abs(a)) for a, b in zip(self.numbers, other.numbers)
        )


def digest(case: Case, expected: Observation, seen: Observation) -> Digest:
    """The digest of what was seen, after the case's own signature."""
    if seen.status != "answered":
        return Digest(seen.status)
    if case.signature == "error" and is_refusal(seen.error):
        return Digest("refused")
    if seen.error and case.signature != "ignored":
        return Digest(f"{seen.error['verb']} {seen.error['type']}: {without_numbers(seen.error['text'])}")
    return SIGNATURES[case.signature](case, expected, seen)


def without_numbers(text: str) -> str:
    """An error's text with every number as `#`: sizes differ from case to case, causes do not.

    >>> without_numbers("mat1 and mat2 shapes cannot be multiplied (6x3 and 2x3)")
    'mat# and mat# shapes cannot be multiplied (#x# and #x#)'
    """
    return re.sub(r"\d+", "#", text)[:LONGEST]


def is_refusal(error: dict | None) -> bool:
    """Whether construction failed in one of the two ways that are fine: raise ValueError, or assert."""
    return error is not None and error["verb"] == "construct" and not REFUSALS.isdisjoint(error["kinds"])


def by_values(case: Case, expected: Observation, seen: Observation) -> Digest:
    """Every result: names, shapes, and two fixed weighted sums; and which inputs changed."""
    names = sorted(set(seen.tensors) & set(expected.tensors))
    words = [f"{name}{tuple(seen.tensors[name].shape)}" for name in names]
    words += [f"{name}={plain_value(seen.values[name])}" for name in sorted(seen.values)]
    words += changed_inputs(seen)
    tensors = [seen.tensors[name] for name in names]
    words += ["nan"] * any(t.isnan().any() for t in tensors if t.is_floating_point())
    return Digest("; ".join(words), (weighted(tensors, 1.0), weighted(tensors, 2.7)))


def plain_value(value: dict):
    """A number, text, list or dict as it is; whether anything else is there at all."""
    if value.get("json") is not None:
        return value["json"]
    return "nothing" if value.get("type") == "NoneType" else "an object"


def changed_inputs(seen: Observation) -> list[str]:
    """Which calls changed which of their inputs in place."""
    return [f"{name} changes {changes(facts)}" for name, facts in sorted(seen.facts.items()) if changes(facts)]


def changes(facts) -> list:
    return facts.get("changed") or [] if isinstance(facts, dict) else []


def weighted(tensors: list[torch.Tensor], pace: float) -> float:
    """A weighted mean over all entries; no two entries weigh the same."""
    if not tensors:
        return 0.0
    flat = torch.cat([t.double().flatten() for t in tensors])
    flat = flat.nan_to_num(nan=7.0, posinf=11.0, neginf=-11.0)  # where NaN stands tells mistakes apart
    steps = torch.arange(1, 1 + flat.numel(), dtype=torch.float64)
    return float((flat * torch.cos(pace * steps)).sum() / max(1, flat.numel()) ** 0.5)


def by_dropout(case: Case, expected: Observation, seen: Observation) -> Digest:
    """How the `dropped` run came out of the `plain` one, but not which entries were hit."""
    plain, dropped = seen.tensors.get("plain"), seen.tensors.get("dropped")
    if plain is None or dropped is None or plain.shape != dropped.shape or plain.dim() < 2:
        return Digest("no pair of results")
    reference = expected.tensors["plain"]
    noisy = plain.shape == reference.shape and bool(((plain == 0) & (reference != 0)).any())
    found = dropout.behaviour(plain, dropped)
    steady = found.scale is not None and not noisy
    words = f"noisy={noisy} zeros={share_of_zeros(found.zeros, rate(case))} steady={steady} "
    words += f"halves={halves_agree(dropout.by_head(dropped, heads(case)))} columns={whole_columns(plain, dropped)} "
    words += f"repeats={repeats(case, seen)} learns={learns(seen)} "
    words += f"sums kept={sums_kept(plain, dropped)} nan={bool(dropped.isnan().any())}"
    words = "; ".join([words, *changed_inputs(seen)])
    return Digest(words, (found.scale if steady else 0.0, 0.0))


def rate(case: Case) -> float:
    """The dropout rate that a case asks for."""
    return next(asked[key] for asked in arguments(case) for key in ("p", "dropout") if key in asked)


def heads(case: Case) -> int:
    """How many heads a case asks for; 1 where it says nothing of heads."""
    return next((asked["num_heads"] for asked in arguments(case) if "num_heads" in asked), 1)


def arguments(case: Case) -> list[dict]:
    """The arguments of each step of a case that has any."""
    return [step["arguments"] for step in case.steps if "arguments" in step]


def sums_kept(plain: torch.Tensor, dropped: torch.Tensor) -> bool:
    """Whether the rows still have their sums, as they do when each is brought back to 1."""
    before, after = (tensor.double().sum(dim=-1) for tensor in (plain, dropped))
    return bool(torch.isclose(before, after).double().mean() > 0.9)


def repeats(case: Case, seen: Observation) -> str:
    """`calls` where another seed drops the same entries, `slices` where rows or heads share them."""
    plain, dropped, again = (seen.tensors.get(name) for name in ("plain", "dropped", "again"))
    if again is not None and again.shape == dropped.shape and bool(((again == 0) == (dropped == 0)).all()):
        return "calls"
    plain, dropped = (dropout.by_head(tensor, heads(case)) for tensor in (plain, dropped))
    return "slices" if dropout.repeats(plain, dropped) else "nothing"


def learns(seen: Observation) -> str:
    """Whether gradients pass through what was kept, and through nothing else."""
    dropped, gradient = seen.tensors.get("dropped"), seen.tensors.get("gradient.attn_weights")
    if gradient is None or gradient.shape != dropped.shape:
        return "untold" if gradient is None else "misshapen"
    return str(bool(((gradient == 0) == (dropped == 0)).all()))


def share_of_zeros(zeros: float, p: float) -> str:
    """`none`, `all`, `p`, or `other`: a share near to what was asked for, or not."""
    if zeros < 0.01 or zeros > 0.99:
        return "none" if zeros < 0.01 else "all"
    return "p" if abs(zeros - p) < 0.1 else "other"


def whole_columns(plain: torch.Tensor, dropped: torch.Tensor) -> bool:
    """Whether entries vanish by the column, as they do when the values are thinned out."""
    filled = (plain != 0).sum(dim=-2) >= 8
    emptied = filled & ((dropped != 0).sum(dim=-2) == 0)
    return bool(emptied.sum() > 0.1 * filled.sum())


def halves_agree(tensor: torch.Tensor) -> bool:
    """Whether the left and the right half of the columns are the same."""
    left, right = tensor[..., : tensor.shape[-1] // 2], tensor[..., tensor.shape[-1] // 2 :]
    return left.shape == right.shape and bool(torch.isclose(left, right).all())


def by_structure(case: Case, expected: Observation, seen: Observation) -> Digest:
    """Parameters by name, shape and gradient; and where each expected buffer was kept."""
    words = []
    for name, facts in sorted(expected.facts.items()):
        if isinstance(facts, dict) and "parameters" in facts:
            got = seen.fact(name, "parameters", default={})
            words.append(f"{name}: {sorted(got.items())}")
            words += [f"{b}: {home(seen, name, b)}" for b in facts.get("buffers", {})]
            words.append(f"loose: {loose_modules(seen, name)}")
    values = by_values(case, expected, seen)
    return Digest("; ".join(words) + values.words, values.numbers)


def home(seen: Observation, module: str, name: str) -> str:
    """Where a tensor of that name is kept: `buffers`, `parameters`, `attributes` or nowhere."""
    for place in ("buffers", "parameters"):
        if name in seen.fact(module, place, default={}):
            return place
    return "attributes" if name in seen.fact(module, "attributes", default=[]) else "nowhere"


def loose_modules(seen: Observation, module: str) -> list:
    """Plain attributes that hold tensors or lists of modules, the mask's aside."""
    kept = seen.fact(module, "attributes", default=[])
    return [name for name in kept if isinstance(name, str) and name == "heads"]


def by_growth(case: Case, expected: Observation, seen: Observation) -> Digest:
    """Whether the larger call needed more operations than the smaller one, as a loop does."""
    few, many = (seen.fact(r, "operations", default={}) for r in ("few", "many"))
    return Digest(f"grows={grows(few, many)}")


def by_use(names: set[str]):
    """Whether a call ran one of these operations."""
    return lambda case, expected, seen: Digest(
        f"used={uses(seen.fact('result', 'operations', default={}), names)}"
    )


def by_dtype(case: Case, expected: Observation, seen: Observation) -> Digest:
    """The dtype of the result."""
    result = seen.tensors.get("result")
    return Digest("none" if result is None else str(result.dtype))


SIGNATURES = {
    "values": by_values,
    "dropout": by_dropout,
    "structure": by_structure,
    "growth": by_growth,
    "dtype": by_dtype,
    "error": lambda case, expected, seen: Digest("no error"),
    # A random start depends on the order of construction, which right answers choose freely.
    "ignored": lambda case, expected, seen: Digest("ignored"),
    "softmax used": by_use(SOFTMAXES),
    "dropout used": by_use(DROPOUTS),
}
