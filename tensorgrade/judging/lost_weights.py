"""Explain why a case's weights could not be loaded into a learner's module."""

from collections.abc import Collection
from difflib import get_close_matches

from ..exchange.cases import Case, spoken_shape
from ..exchange.observation import Observation, strings
from ..exchange.text import code, joined
from .own_names import own_name

MOST_SHARED = 4


def lost_weights(case: Case, observed: Observation, insides: Collection[str] = ()) -> str:
    """Return which parameter is missing or has another shape, and what exists instead.

    Return "" if all weights were loaded. insides: names of parameters inside parts whose code the
    learner has not seen.
    """
    missing = strings(observed.fact("load", "missing", default=[]))
    unexpected = [
        own_name(n, observed) for n in strings(observed.fact("load", "unexpected", default=[]))
    ]
    misshapen = observed.fact("load", "misshapen", default={})
    if missing and not unexpected and (part := lost_part(case, missing)):
        return f"torch finds no parameters in `{part}`, so its weights could not be set"
    if missing:
        return joined(no_weight(missing[0], insides), instead(missing[0], unexpected, insides))
    if tied := observed.fact("load", "tied", default={}):
        shared = code(one_part_for_several(tied, insides)[:MOST_SHARED])
        return f"{shared} are one and the same object; each needs weights of its own"
    if misshapen:
        name, shape = next(iter(misshapen.items()))
        return misshapen_weight(case, name, shape, insides, own_name(name, observed))
    return ""


def no_weight(name: str, insides: Collection[str]) -> str:
    """Return that a weight is missing, which may be inside a part that the learner has not seen."""
    if part := holder_of(name, insides):
        asks = f"does `{part}` get all the arguments that it needs?"
        return f"a weight of `{part}` is missing ({asks})"
    return f"the module has no parameter `{name}`, so its values could not be set"


def one_part_for_several(tied: dict, insides: Collection[str]) -> list[str]:
    """Return the parts that share their weights, each once.

    tied: by parameter, the first parameter with the same tensor, as the learner's process reports.
    """
    pairs = [(str(first), str(name)) for name, first in tied.items()]
    if holder := holder_of(pairs[0][0], insides):
        holders = [holder, *(holder_of(name, insides) for _, name in pairs)]
        return [*dict.fromkeys(filter(None, holders))]
    whole, _, inner = pairs[0][0].rpartition(".")
    also = [name.rpartition(".")[0] for _, name in pairs if name.rpartition(".")[2] == inner]
    parts = (whole, *also) if whole and all(also) else (pairs[0][0], *(name for _, name in pairs))
    return [*dict.fromkeys(parts)]


def misshapen_weight(
    case: Case, name: str, shape: object, insides: Collection[str], own: str
) -> str:
    """Return that a parameter has another shape than expected. own: the learner's name of it."""
    part, keys = holder_of(name, insides), case.weights
    which = f"the {'weight of' if part else 'parameter'} `{part or own}`"
    asked = spoken_shape(case.tensors[keys[name]].shape) if name in keys else ""
    if not isinstance(shape, list):
        return f"{which} does not have the expected shape{f' {asked}' if asked else ''}"
    return f"{which} has shape {spoken_shape(shape)}; {asked or 'another one'} is expected"


def holder_of(name: str, insides: Collection[str]) -> str:
    """Return the part around a weight that the learner has not seen; "" for other weights.

    >>> holder_of("rows.0.mix.w", {"w"}), holder_of("w", {"w"})
    ('rows.0.mix', '')
    """
    inner = max((one for one in insides if name.endswith(f".{one}")), key=len, default="")
    return name.removesuffix(f".{inner}") if inner else ""


def lost_part(case: Case, missing: list[str]) -> str:
    """Return the largest part that lacks all of its parameters, at least two; "" if none does.

    An entry of a list that is too short counts too, even with one parameter.
    """
    words = missing[0].split(".")
    for part in (".".join(words[:depth]) for depth in range(1, len(words))):
        inside = {name for name in case.weights if name.startswith(f"{part}.")}
        if (len(inside) > 1 or part[-1].isdigit()) and inside.issubset(missing):
            return part
    return ""


def instead(name: str, unexpected: list[str], insides: Collection[str]) -> str:
    """Return a clause on the unexpected parameters that exist instead of a missing one, or "".

    It names the most similar one, or else the first few.
    """
    there = get_close_matches(name, unexpected, 1, 0.5) or unexpected[:6]
    names = dict.fromkeys(weight_name(one, insides) for one in there)
    return f"it has {', '.join(names)}" if there else ""


def weight_name(name: str, insides: Collection[str]) -> str:
    """Return what messages call a weight; inside a part that the learner has not seen, the part."""
    part = holder_of(name, insides)
    return f"a weight of `{part}`" if part else f"`{name}`"
