"""Describe a result that is missing or differs from the reference, and weights that are lost."""

from difflib import get_close_matches

import torch

from ..exchange.cases import Case, spoken_shape
from ..exchange.observation import Observation, strings
from ..exchange.references import Seen
from ..exchange.text import code, joined
from ..exchange.values import kind as kind_of_value
from ..exchange.values import plain
from ..exchange.values import shown as value_shown
from ..recognition.signatures import differs_in_ones
from .names import own_name, result_name

SEVERAL = "a tuple of several tensors"
MOST_SHARED = 4  # parts with the same weights in one sentence


def result_problem(
    kind: str,
    name: str,
    case: Case,
    expected: torch.Tensor,
    observed: Observation,
    seen: list[Seen],
) -> str:
    """Return a clause on a result that disagrees with the reference.

    kind: the disagreement, such as `shape`; see Disagreement. seen: see `result_name`.
    """
    what, actual = result_name(name, case, seen), observed.tensors.get(name)
    if actual is None:
        return missing_problem(name, case, observed, seen)
    if kind == "shape":
        return wrong_shape(what, actual, expected)
    if kind == "nan":
        return f"{what} contains NaN"
    return f"{what} has the right shape but not the right values"


def wrong_shape(what: str, actual: torch.Tensor, expected: torch.Tensor) -> str:
    """Return a clause on a result of a wrong shape, and on dimensions of size 1."""
    asked = spoken_shape(expected.shape)
    if not actual.dim():
        return f"{what} is a single number; a tensor of shape {asked} is expected"
    axis, off = "", abs(actual.dim() - expected.dim())
    if differs_in_ones(actual, expected):
        one = "is one dimension" if off == 1 else f"are {off} dimensions"
        lost = actual.dim() < expected.dim()
        axis = "; a dimension of size 1 is missing" if lost else f"; there {one} of size 1 too many"
    return f"{what} has shape {spoken_shape(actual.shape)}; {asked} is expected{axis}"


def missing_problem(name: str, case: Case, observed: Observation, seen: list[Seen]) -> str:
    """Return a clause on the value that was returned instead of a tensor."""
    whole, _, part = name.partition(".")
    parent, _, place = name.rpartition(".")
    if place.isdigit() and parent in observed.tensors:
        return came_instead(result_name(parent, case, seen), "one tensor", SEVERAL)
    if place.isdigit() and "." in parent and parent in observed.values:
        came = what_came(observed, parent)
        return came_instead(result_name(parent, case, seen), came, SEVERAL)
    if part.isdigit() and whole in observed.values and name not in observed.values:
        came = what_came(observed, whole)
        return came_instead(result_name(whole, case, seen), came, SEVERAL)
    other = observed.values.get(name, {}).get("type", "NoneType") != "NoneType"
    parts = any(result.startswith(f"{name}.") for result in observed.tensors)
    asked = "one tensor" if (other and "." not in name) or parts else ""
    return came_instead(result_name(name, case, seen), what_came(observed, name), asked)


def came_instead(what: str, came: str, asked: str = "") -> str:
    """Return that a result is not what is asked for. A question about it is not followed."""
    return f"{what} is {came}" + (f"; {asked} is expected" if asked and came[-1] != "?" else "")


def came_otherwise(name: str, observed: Observation) -> bool:
    """Return True if one tensor was returned instead of several, or several instead of one.

    Then there is no tensor to compare the expected one with.
    """
    whole = name.partition(".")[0]
    return any(other == whole or other.startswith(f"{name}.") for other in observed.tensors)


def what_came(observed: Observation, name: str) -> str:
    """Return what was returned instead of the expected value."""
    if name.startswith("gradient."):
        leaf = name.removeprefix("gradient.")
        if leaf in observed.fact("gradients", "frozen", default=[]):
            return f"missing: `{leaf}` has `requires_grad=False`, so it never learns"
        chain = "no chain of differentiable operations connects that tensor to the result"
        return f"missing: {chain}"
    if parts := sum(other.startswith(f"{name}.") for other in observed.tensors):
        inside = (told for other, told in observed.values.items() if other.startswith(f"{name}."))
        none = any(told.get("type") == "NoneType" for told in inside)
        return f"a tuple or list of {parts} tensor" + "s" * (parts > 1) + " and None" * none
    value = observed.values.get(name) or observed.values.get(name.split(".")[0])
    if value is None:
        return "missing"
    told, of_type = value.get("json"), str(value.get("type"))
    if of_type == "NoneType":
        by_call = "." not in name and "changed" in observed.facts.get(name, {})
        return "None" + ": does your function end in a `return` with a value?" * by_call
    if kind_of_value(told) == "dict":
        return f"a dict with the keys {', '.join(map(str, keys_of(plain(told))))[:200]}"
    if of_type.endswith(" tensor"):
        return f"a {of_type}"
    if kind_of_value(told) in ("none", "unjudged"):
        return f"an object of type {of_type}"
    return f"{value_shown(told):.200} ({of_type})"


def keys_of(value: object) -> list[str]:
    """Return the keys of a dict; [] for anything else."""
    return list(value) if isinstance(value, dict) else []


# --- weights that could not be loaded ---------------------------------------------------------


def lost_weights(case: Case, observed: Observation) -> str:
    """Return which parameter is missing or has another shape, and what exists instead.

    Return "" if all weights were loaded.
    """
    missing = strings(observed.fact("load", "missing", default=[]))
    unexpected = [
        own_name(n, observed) for n in strings(observed.fact("load", "unexpected", default=[]))
    ]
    misshapen = observed.fact("load", "misshapen", default={})
    if missing and not unexpected and (part := lost_part(case, missing)):
        return f"torch finds no parameters in `{part}`, so its weights could not be set"
    if missing:
        lost = f"the module has no parameter `{missing[0]}`, so its values could not be set"
        return joined(lost, instead(missing[0], unexpected))
    if tied := observed.fact("load", "tied", default={}):
        shared = code(one_part_for_several(tied)[:MOST_SHARED])
        return f"{shared} are one and the same object; each needs weights of its own"
    if misshapen:
        name, shape = next(iter(misshapen.items()))
        return misshapen_weight(case, name, shape, own_name(name, observed))
    return ""


def one_part_for_several(tied: dict) -> list[str]:
    """Return the parts that share their weights, each once.

    tied: by parameter, the first parameter with the same tensor, as the learner's process reports.
    """
    pairs = [(str(first), str(name)) for name, first in tied.items()]
    whole, _, inner = pairs[0][0].rpartition(".")
    also = [name.rpartition(".")[0] for _, name in pairs if name.rpartition(".")[2] == inner]
    parts = (whole, *also) if whole and all(also) else (pairs[0][0], *(name for _, name in pairs))
    return [*dict.fromkeys(parts)]


def misshapen_weight(case: Case, name: str, shape: object, own: str) -> str:
    """Return that a parameter has another shape than expected. own: the learner's name of it."""
    keys = case.weights
    asked = spoken_shape(case.tensors[keys[name]].shape) if name in keys else "another one"
    if not isinstance(shape, list):
        return f"the parameter `{own}` does not have the expected shape"
    return f"the parameter `{own}` has shape {spoken_shape(shape)}; {asked} is expected"


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


def instead(name: str, unexpected: list[str]) -> str:
    """Return a clause on the unexpected parameters that exist instead of a missing one, or "".

    It names the most similar one, or else the first few.
    """
    there = get_close_matches(name, unexpected, 1, 0.5) or unexpected[:6]
    return f"it has {', '.join(f'`{one}`' for one in there)}" if there else ""
