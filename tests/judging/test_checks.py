"""The registry of checks, the names of results in messages, and results that should be equal."""

import inspect
from importlib import import_module
from pkgutil import iter_modules
from types import SimpleNamespace

import pytest
import torch

from tensorgrade.author import call, construct, duplicate, mode, restore
from tensorgrade.course import Tolerance
from tensorgrade.exchange.cases import Case, record
from tensorgrade.exchange.observation import Observation
from tensorgrade.judging import checks
from tensorgrade.judging.checked import CheckedExercise
from tensorgrade.judging.checks import ENGINE_CHECKS
from tensorgrade.judging.diagnosis import PublicDiagnosis, Wrong
from tensorgrade.judging.result_names import not_the_same, result_name
from tensorgrade.messages.message import render
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


# An attempt on public cases, with only the results known.
ATTEMPT = SimpleNamespace(
    tolerances={"float32": Tolerance(1e-4, 1e-4)},
    loaded=SimpleNamespace(outside={}),
    references=SimpleNamespace(hidden=False),
    chapter=SimpleNamespace(exercises=()),
)


@pytest.fixture
def exercise() -> CheckedExercise:
    """Return an exercise of this attempt, without results."""
    made = CheckedExercise()
    made.attempt, made.name, made.seen = ATTEMPT, "mean", []
    return made


def test_each_public_function_of_the_checks_is_registered_under_its_own_name():
    names = [f"{checks.__name__}.{one.name}" for one in iter_modules(checks.__path__)]
    public = [
        function
        for module in map(import_module, names)
        for name, function in inspect.getmembers(module, inspect.isfunction)
        if function.__module__ == module.__name__ and not name.startswith("_")
    ]
    assert len(public) > 15 and len(public) == len(ENGINE_CHECKS)
    assert {function.__name__: function for function in public} == ENGINE_CHECKS
    first = {next(iter(inspect.signature(function).parameters)) for function in public}
    assert first == {"exercise"} and all(map(inspect.getdoc, public))


def test_a_copy_that_differs_is_called_a_copy(exercise):
    assert render(not_the_same(exercise, "copy", CASE)) == (
        "a copy of the module, or one that loads its `state_dict`, gives different results"
    )


def test_inputs_that_lie_in_memory_otherwise_are_reported(exercise):
    assert render(not_the_same(exercise, "scattered.1", CASE)) == (
        "the second part of the result of the third call depends on how the inputs are laid out in "
        "memory, which should make no difference"
    )


def test_another_call_is_reported_without_the_name_that_we_gave_it(exercise):
    case = record("mean", "order/turned", IN_TWO_ORDERS)
    assert render(not_the_same(exercise, "exchanged", case)) == (
        "the result of the second call should be the same as the first time, and is not"
    )


IN_TWO_ORDERS = [
    call("mean", x=torch.ones(3)),
    call("mean", x=torch.ones(3), result="exchanged"),
]


def test_a_mode_is_reported_between_commas(exercise):
    calls = [call(x=torch.ones(2), result="piece0"), call(x=torch.ones(2))]
    case = record("Layer", "chunks/2", [construct("Layer"), mode(training=False), *calls])
    assert render(result_name(exercise, "piece0.0", case)) == (
        "the first part of the result of the first call, in evaluation,"
    )
    assert render(result_name(exercise, "scattered", CASE)) == "the result of the third call"


def told_of(exercise: CheckedExercise, name: str, **tensors: torch.Tensor) -> tuple[str, list[str]]:
    """Return the message if three ones are asked for under a name, and the comparison shown."""
    case, observed = (
        record("mean", "order/turned", IN_TWO_ORDERS),
        Observation(tensors=tensors),
    )
    with pytest.raises(Wrong) as raised:
        exercise.compare(case, name, torch.ones(3), observed)
    diagnosis = raised.value.diagnosis
    assert isinstance(diagnosis, PublicDiagnosis)
    return render(diagnosis.problem), [
        line.plain for line in comparison(diagnosis, 80, colour=False)
    ]


def test_tensors_that_came_otherwise_are_not_called_none(exercise):
    problem, shown = told_of(exercise, "result.0", result=torch.ones(3))
    assert "is one tensor; a tuple of several tensors is expected" in problem and shown == []
    problem, shown = told_of(
        exercise, "result", **{"result.0": torch.ones(3), "result.1": torch.ones(3)}
    )
    assert "is a tuple or list of 2 tensors; one tensor" in problem and shown == []
    problem, shown = told_of(exercise, "result")
    assert "is missing" in problem and shown[1] == "yours     no tensor"
