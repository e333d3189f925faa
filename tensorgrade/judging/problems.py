"""Describe a single result that is missing or differs from the reference, as a message."""

import torch

from ..exchange.cases import Case
from ..exchange.observation import Observation
from ..exchange.values import kind as kind_of_value
from ..exchange.values import parts as parts_of
from ..exchange.values import plain
from ..exchange.values import shown as value_shown
from ..messages import checks as say
from ..messages.message import Message
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
) -> Message:
    """Return a message on a result that disagrees with the reference.

    kind: the disagreement, such as `shape`; see Disagreement.
    """
    what, actual = result_name(exercise, name, case), observed.tensors.get(name)
    if actual is None:
        return missing_problem(exercise, name, case, observed)
    if kind == "shape":
        gone, added = is_squeezed(actual, expected), is_squeezed(expected, actual)
        axis = "gone" if gone else "too many" if added else ""  # a dimension of size 1
        return say.WrongShape(what, tuple(actual.shape), tuple(expected.shape), axis)
    return say.ContainsNaN(what) if kind == "nan" else say.NotTheValues(what)


def missing_problem(
    exercise: JudgedExercise, name: str, case: Case, observed: Observation
) -> Message:
    """Return a message on the value that was returned instead of a tensor."""
    whole, _, part = name.partition(".")
    parent, _, place = name.rpartition(".")
    if place.isdigit() and parent in observed.tensors:
        return say.CameInstead(result_name(exercise, parent, case), say.OneTensor(), SEVERAL)
    if place.isdigit() and "." in parent and parent in observed.values:
        return say.CameInstead(
            result_name(exercise, parent, case), what_came(observed, parent), SEVERAL
        )
    if part.isdigit() and (inner := tensors_in(observed, whole, int(part))):
        what = result_name(exercise, name, case)
        return say.CameInstead(what, say.SeveralTensors(inner), "one tensor")
    if part.isdigit() and whole in observed.values and name not in observed.values:
        instead = what_came(observed, whole)
        return say.CameInstead(result_name(exercise, whole, case), instead, SEVERAL)
    other = observed.values.get(name, {}).get("type", "NoneType") != "NoneType"
    parts = any(result.startswith(f"{name}.") for result in observed.tensors)
    asked = "one tensor" if (other and "." not in name) or parts else ""
    return say.CameInstead(result_name(exercise, name, case), what_came(observed, name), asked)


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


def what_came(observed: Observation, name: str) -> Message:
    """Return a message on the value that was returned instead of the expected one."""
    if name.startswith("gradient."):
        return say.NoGradient()
    if parts := sum(other.startswith(f"{name}.") for other in observed.tensors):
        return say.SeveralTensors(parts)
    value = observed.values.get(name) or observed.values.get(name.split(".")[0])
    if value is None:
        return say.NothingCame()
    told, of_type = value.get("json"), str(value.get("type"))
    if of_type == "NoneType":
        by_call = "." not in name and "changed" in observed.facts.get(name, {})
        return say.NoneReturned(by_call)
    if kind_of_value(told) == "dict":
        return say.DictWithKeys(tuple(map(str, keys_of(plain(told)))))
    if of_type.endswith(" tensor"):
        return say.SomeTensor(of_type)
    if kind_of_value(told) in ("none", "unjudged"):
        return say.SomeObject(of_type)
    return say.SomeValue(value_shown(told), of_type)


def keys_of(value: object) -> list[str]:
    """Return the keys of a dict; [] for anything else."""
    return list(value) if isinstance(value, dict) else []
