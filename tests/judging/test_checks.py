"""How results are called in sentences, and what is said of two that should be equal."""

from types import SimpleNamespace

import pytest
import torch

from tensorgrade.author import call, construct, duplicate, mode, restore
from tensorgrade.course import Tolerance
from tensorgrade.exchange.cases import Case, record
from tensorgrade.exchange.observation import Observation
from tensorgrade.judging.checks import Checks, not_the_same, spoken_result
from tensorgrade.judging.diagnosis import PublicDiagnosis, Wrong
from tensorgrade.views.comparison import comparison


def copies() -> Case:
    """A module, its copy, and one that is given the copy's state."""
    first, fresh = construct("Layer"), construct("Layer")
    copy = duplicate(first)
    calls = [
        call(fresh, x=torch.ones(2, 3)),
        call(fresh, x=torch.ones(2, 3), scattered=True, result="scattered"),
    ]
    steps = [first, copy, call(copy, x=torch.ones(2, 3), result="copy"), fresh, restore(copy)]
    return record("Layer", "same/copies", [*steps, *calls])


CASE = copies()


def test_a_copy_that_differs_is_called_a_copy():
    assert not_the_same("copy", CASE) == (
        "a deep copy, and a module that the copy's state is loaded into, give different results"
    )


def test_inputs_that_lie_in_memory_otherwise_are_told():
    assert not_the_same("scattered.1", CASE) == (
        "the second part of the result of the third call is not what it was before; how its inputs "
        "lie in memory should make no difference"
    )


def test_another_call_is_told_without_the_name_that_we_gave_it():
    said = not_the_same("exchanged", record("mean", "order/turned", IN_TWO_ORDERS))
    assert said == (
        "the result of the second call is not what it was before; what changed should make no "
        "difference"
    )


IN_TWO_ORDERS = [
    call("mean", x=torch.ones(3)),
    call("mean", x=torch.ones(3), result="exchanged"),
]


def test_a_mode_is_told_between_commas():
    calls = [call(x=torch.ones(2), result="piece0"), call(x=torch.ones(2))]
    case = record("Layer", "chunks/2", [construct("Layer"), mode(training=False), *calls])
    assert spoken_result("piece0.0", case) == (
        "the first part of the result of the first call, in evaluation,"
    )
    assert spoken_result("scattered", CASE) == "the result of the third call"


# An attempt on public cases, of which nothing is known but what came back.
ATTEMPT = SimpleNamespace(
    tolerances={"float32": Tolerance(1e-4, 1e-4)},
    loaded=SimpleNamespace(outside={}),
    references=SimpleNamespace(hidden=False),
)


def told_of(name: str, **tensors: torch.Tensor) -> tuple[str, list[str]]:
    """What is said where a tensor of three ones is asked for under a name, and what is shown."""
    case, observed = (
        record("mean", "order/turned", IN_TWO_ORDERS),
        Observation(tensors=tensors),
    )
    checks = Checks()
    checks.attempt, checks.name, checks.seen = ATTEMPT, "mean", []
    with pytest.raises(Wrong) as raised:
        checks.compare(case, name, torch.ones(3), observed)
    diagnosis = raised.value.diagnosis
    assert isinstance(diagnosis, PublicDiagnosis)
    return diagnosis.problem, [line.plain for line in comparison(diagnosis, 80, colour=False)]


def test_tensors_that_came_otherwise_are_not_called_none():
    problem, shown = told_of("result.0", result=torch.ones(3))
    assert "is one tensor; a tuple of several is asked for" in problem and shown == []
    problem, shown = told_of("result", **{"result.0": torch.ones(3), "result.1": torch.ones(3)})
    assert "is a tuple or list of 2 tensors; one tensor" in problem and shown == []
    problem, shown = told_of("result")
    assert "is missing" in problem and shown[1] == "yours     no tensor"
