"""Modules: their parameters, buffers and initial weights, and moving them to another device."""

import torch

from ...exchange.cases import spoken_shape
from ...exchange.text import joined
from ...runner.second_device import TwoDevices
from ..checked import CheckedExercise, is_constant
from ..diagnosis import Wrong
from ..errors import why_it_raised
from ..names import own_weight
from . import check

MOST_NAMES = 8  # parameters of a module listed in one sentence
START = "wrong_start"  # the name of a problem with initial weights


@check
def has_parameters(exercise: CheckedExercise, group: str, module: str = "module") -> None:
    """Check for exactly the reference's parameters: the same names and shapes, all learnable."""
    for case, expected, observed in exercise.answered(group):
        want = expected.facts[module]["parameters"]
        got = observed.fact(module, "parameters", default={})
        if problem := _parameters_problem(exercise, want, got):
            exercise.wrong("fact", problem, case=case)


def _parameters_problem(exercise: CheckedExercise, want: dict, got: dict) -> str:
    """Return how a module's parameters differ from the expected ones; "" if they do not."""
    missing, extra = sorted(set(want) - set(got)), sorted(set(got) - set(want))
    if missing:
        there = (own_weight(one, exercise.seen) for one in sorted(got)[:MOST_NAMES])
        listed = ", ".join(f"`{one}`" for one in there) or "none"
        return f"the module has no parameter `{missing[0]}`; it has {listed}"
    if extra:
        named = own_weight(extra[0], exercise.seen)
        return f"the module has a parameter `{named}` that it should not have"
    for name in (name for name in want if got[name] != want[name]):
        shape = got[name][0] if isinstance(got[name], list) and got[name] else None
        which = f"the parameter `{own_weight(name, exercise.seen)}`"
        if shape == want[name][0]:
            return f"{which} does not learn: its `requires_grad` is False"
        return f"{which} has shape {_claimed(shape)}; {spoken_shape(want[name][0])} is expected"
    return ""


@check
def has_buffer(exercise: CheckedExercise, group: str, name: str) -> None:
    """Check that a tensor of this name is a buffer: not a parameter and not a plain attribute."""
    for case, expected, observed in exercise.answered(group):
        place = observed.home("module", name)
        if place != "buffers":
            exercise.wrong("fact", NO_BUFFER[place].format(name), case=case)
        want = expected.facts["module"]["buffers"][name][0]
        got = next(iter(observed.fact("module", "buffers", name, default=[])), None)
        # A buffer of shape (1, n, n) is accepted for (n, n).
        if not isinstance(got, list) or got[-len(want) :] != want:
            shapes = f"{_claimed(got)}; {spoken_shape(want)} is expected"
            exercise.wrong("fact", f"the buffer `{name}` has shape {shapes}", case=case)


NO_BUFFER = {
    "parameters": "`{}` is a parameter, which an optimizer would change; make it a buffer",
    "attributes": "`{}` is a plain attribute, which torch neither moves nor saves; register it as "
    "a buffer",
    "nowhere": "the module has no buffer named `{}`",
}


def _claimed(told: object) -> str:
    """Return a shape that a learner's process reports; `?` if it is no list."""
    return spoken_shape(told) if isinstance(told, list) else "?"


@check
def starts_alive(exercise: CheckedExercise, group: str, module: str = "module") -> None:
    """Check that initial weights are not all equal, and that they depend on the seed.

    Weights that are equal in the reference may be equal here too. Biases may start at zero.
    """
    starts: dict[str, tuple[torch.Tensor, torch.Tensor]] = {}  # reference, first one seen
    for case, expected, observed in exercise.answered(group):
        for name, reference in expected.tensors.items():
            start = exercise.result(case, name, expected, observed)
            if name.endswith(".bias") or is_constant(reference):
                continue
            weight = own_weight(name.removeprefix(module + "."), exercise.seen)
            if not start.isfinite().all() or is_constant(start):
                problem = "starts with NaN or with the same number everywhere; draw it at random"
                exercise.wrong("values", f"`{weight}` {problem}", START, case=case)
            other, before = starts.setdefault(name, (reference, start))
            if torch.equal(before, start) and not torch.equal(other, reference):
                problem = "starts with the same numbers for every seed. Is a seed set inside?"
                exercise.wrong("values", f"`{weight}` {problem}", START, case=case)


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
            place = exercise.attempt.source.place(error.line) if error.line else ""
            exercise.wrong("fact", joined(place, _stays(name), between=": "), case=case)


def _stays(name: str) -> str:
    """Return that a tensor stays on the CPU. name: "" if it is not known."""
    if name.startswith("self."):
        return (
            f"`{name}` stays on the CPU when the module moves to another device, such as a GPU; "
            "register it as a buffer, and it moves along"
        )
    return (
        f"{f'`{name}`' if name else 'a tensor'} is created on the CPU even if the module and its "
        "input are on another device; create it on the input's device (`device=`), or register it "
        "once as a buffer"
    )
