"""Modules: their parameters, buffers and initial weights, and moving them to another device."""

import torch

from ...marker import check
from ...messages import checks as say
from ...messages.message import Message
from ...runner.second_device import TwoDevices
from ..checked import CheckedExercise
from ..diagnosis import Wrong
from ..errors import why_it_raised
from ..result_names import parameter, weight_name

MOST_NAMES = 8  # parameters of a module listed in one sentence


@check
def has_parameters(exercise: CheckedExercise, group: str, module: str = "module") -> None:
    """Check for exactly the reference's parameters: the same names and shapes, all learnable."""
    for case, expected, observed in exercise.answered(group):
        want = expected.facts[module]["parameters"]
        got = observed.fact(module, "parameters", default={})
        if problem := _parameters_problem(exercise, want, got):
            exercise.wrong("fact", problem, case=case)


def _parameters_problem(exercise: CheckedExercise, want: dict, got: dict) -> Message | None:
    """Return how a module's parameters differ from the expected ones; None if they do not."""
    missing, extra = sorted(set(want) - set(got)), sorted(set(got) - set(want))
    if missing:
        there = tuple(weight_name(exercise, name) for name in sorted(got)[:MOST_NAMES])
        return say.MissingParameter(weight_name(exercise, missing[0]), there)
    if extra:
        return say.ExtraParameter(parameter(exercise, extra[0]))
    for name in (name for name in want if got[name] != want[name]):
        shape = got[name][0] if isinstance(got[name], list) and got[name] else None
        if shape == want[name][0]:
            return say.DoesNotLearn(parameter(exercise, name))
        asked = tuple(want[name][0])
        return say.ParameterShape(parameter(exercise, name), _claimed_shape(shape), asked)
    return None


@check
def has_buffer(exercise: CheckedExercise, group: str, name: str) -> None:
    """Check that a tensor of this name is a buffer: not a parameter and not a plain attribute."""
    for case, expected, observed in exercise.answered(group):
        place = observed.home("module", name)
        if place != "buffers":
            exercise.wrong("fact", say.NoBuffer(name, place), case=case)
        want = expected.facts["module"]["buffers"][name][0]
        got = next(iter(observed.fact("module", "buffers", name, default=[])), None)
        # A buffer of shape (1, n, n) is accepted for (n, n).
        if not isinstance(got, list) or got[-len(want) :] != want:
            problem = say.BufferShape(name, _claimed_shape(got), tuple(want))
            exercise.wrong("fact", problem, case=case)


def _claimed_shape(told: object) -> tuple | None:
    """Return a shape that a learner's process reports as a tuple; None if it is no list."""
    return tuple(told) if isinstance(told, list) else None


@check
def starts_alive(exercise: CheckedExercise, group: str, module: str = "module") -> None:
    """Check that initial weights are not all equal, and that they depend on the seed.

    Weights that are equal in the reference may be equal here too. Biases may start at zero.
    """
    starts: dict[str, tuple[torch.Tensor, torch.Tensor]] = {}  # reference, first one seen
    for case, expected, observed in exercise.answered(group):
        for name, reference in expected.tensors.items():
            start = exercise.result(case, name, expected, observed)
            if name.endswith(".bias") or _is_one_number(reference):
                continue
            weight = weight_name(exercise, name.removeprefix(module + "."))
            if not start.isfinite().all() or _is_one_number(start):
                exercise.wrong("values", say.ConstantInitialWeights(weight), case=case)
            other, before = starts.setdefault(name, (reference, start))
            if torch.equal(before, start) and not torch.equal(other, reference):
                exercise.wrong("values", say.SetsASeed(weight), case=case)


def _is_one_number(tensor: torch.Tensor) -> bool:
    """Return True if all entries are the same, as in a tensor with one entry."""
    return bool((tensor == tensor.flatten()[:1]).all())


@check
def moves_as_a_whole(exercise: CheckedExercise, group: str) -> None:
    """Check that nothing on a second device uses a tensor that stayed on the first.

    Code that cannot run there for another reason is not judged. The second device has no numbers,
    so Python code that asks for one (`.item()`, `if mask.any()`) has to fail. Weights that torch
    does not find do not move either; other checks report them.
    """
    for case, _, observed in exercise.group(group):
        exercise.check_finished(case, observed)
        error = observed.error
        if error and error.verb != "move":
            raise Wrong(why_it_raised(exercise.attempt, exercise.name, case, error))
        if error and error.type == TwoDevices.__name__:
            left = observed.facts.get("moved", {}).get("left")
            # The learner's process reports it, so it can be anything.
            name = left if isinstance(left, str) and left.replace(".", "").isidentifier() else ""
            place = exercise.attempt.place(error.line) if error.line else ""
            exercise.wrong("fact", say.StaysOnCPU(name, place), case=case)
