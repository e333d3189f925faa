"""The registry of checks, and results that came in another form."""

import inspect
from importlib import import_module
from pkgutil import iter_modules
from types import SimpleNamespace

import pytest
import torch

from tensorgrade.author import call
from tensorgrade.course import Tolerance
from tensorgrade.exchange.cases import record
from tensorgrade.exchange.observation import Observation
from tensorgrade.judging import checks
from tensorgrade.judging.checked import CheckedExercise
from tensorgrade.judging.checks import ENGINE_CHECKS
from tensorgrade.judging.diagnosis import PublicDiagnosis, Wrong
from tensorgrade.messages.message import render
from tensorgrade.views.comparison import comparison

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
    assert len(public) == len(ENGINE_CHECKS)
    assert {function.__name__: function for function in public} == ENGINE_CHECKS
    first = {next(iter(inspect.signature(function).parameters)) for function in public}
    assert first == {"exercise"} and all(map(inspect.getdoc, public))


IN_TWO_ORDERS = [
    call("mean", x=torch.ones(3)),
    call("mean", x=torch.ones(3), result="exchanged"),
]


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
