"""Describe a single result that is missing or differs from the reference, as a message."""

import torch

from ..exchange.cases import Case, spoken_shape
from ..exchange.observation import Observation
from ..exchange.values import kind as kind_of_value
from ..exchange.values import parts as parts_of
from ..exchange.values import plain
from ..exchange.values import shown as value_shown
from ..recognition.squeezed_dimensions import is_squeezed
from .protocols import JudgedExercise
from .result_names import result_name

SEVERAL = "a tuple of several tensors"


def result_problem(
    exercise: JudgedExercise,
    kind: str,
    name: str,
    case: Case,
    expected: torch.Tensor,
    observed: Observation,
) -> str:
    """Return a clause on a result that disagrees with the reference.

    kind: the disagreement, such as `shape`; see Disagreement.
    """
    what, actual = result_name(exercise, name, case), observed.tensors.get(name)
    if actual is None:
        return missing_problem(exercise, name, case, observed)
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
    if is_squeezed(actual, expected):
        axis = "; a dimension of size 1 is missing"
    elif is_squeezed(expected, actual):
        one = "is one dimension" if off == 1 else f"are {off} dimensions"
        axis = f"; there {one} of size 1 too many"
    return f"{what} has shape {spoken_shape(actual.shape)}; {asked} is expected{axis}"


def missing_problem(exercise: JudgedExercise, name: str, case: Case, observed: Observation) -> str:
    """Return a clause on the value that was returned instead of a tensor."""
    whole, _, part = name.partition(".")
    parent, _, place = name.rpartition(".")
    if place.isdigit() and parent in observed.tensors:
        return came_instead(result_name(exercise, parent, case), "one tensor", SEVERAL)
    if place.isdigit() and "." in parent and parent in observed.values:
        came = what_came(observed, parent)
        return came_instead(result_name(exercise, parent, case), came, SEVERAL)
    if part.isdigit() and (inner := tensors_in(observed, whole, int(part))):
        return came_instead(result_name(exercise, name, case), several_tensors(inner), "one tensor")
    if part.isdigit() and whole in observed.values and name not in observed.values:
        came = what_came(observed, whole)
        return came_instead(result_name(exercise, whole, case), came, SEVERAL)
    other = observed.values.get(name, {}).get("type", "NoneType") != "NoneType"
    parts = any(result.startswith(f"{name}.") for result in observed.tensors)
    asked = "one tensor" if (other and "." not in name) or parts else ""
    return came_instead(result_name(exercise, name, case), what_came(observed, name), asked)


def came_instead(what: str, came: str, asked: str = "") -> str:
    """Return that a result is not what is asked for. A question about it is not followed."""
    return f"{what} is {came}" + (f"; {asked} is expected" if asked and came[-1] != "?" else "")


def several_tensors(count: int) -> str:
    """Return what to call a list or tuple of tensors."""
    return f"a tuple or list of {count} tensor" + "s" * (count > 1)


def tensors_in(observed: Observation, whole: str, place: int) -> int:
    """Return the length of the list or tuple at an index of a returned tuple; otherwise 0."""
    told = observed.values.get(whole, {}).get("json")
    if kind_of_value(told) not in ("list", "tuple") or place >= len(parts_of(told)):
        return 0
    inner = parts_of(told)[place]
    return len(parts_of(inner)) if kind_of_value(inner) in ("list", "tuple") else 0


def came_otherwise(name: str, observed: Observation) -> bool:
    """Return True if one tensor was returned instead of several, or several instead of one.

    Then there is no tensor to compare the expected one with.
    """
    whole = name.partition(".")[0]
    return any(other == whole or other.startswith(f"{name}.") for other in observed.tensors)


def what_came(observed: Observation, name: str) -> str:
    """Return what was returned instead of the expected value."""
    if name.startswith("gradient."):
        chain = "no chain of differentiable operations connects that tensor to the result"
        return f"missing: {chain}"
    if parts := sum(other.startswith(f"{name}.") for other in observed.tensors):
        return several_tensors(parts)
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
