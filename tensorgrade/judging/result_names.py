"""Name results and parameters in messages, but never by a name that learners have not seen."""

from torch import nn

from ..exchange.cases import Case, passed_as
from ..messages.checks import CopyDiffers, DiffersWithoutGradients, NotTheSame
from ..messages.message import Message
from ..messages.results import (
    GradientOf,
    KeptParameter,
    Parameter,
    PartOf,
    Quoted,
    Result,
    WeightName,
)
from ..runner.step import Step
from .errors import holder_of
from .own_names import own_name
from .protocols import JudgedExercise


def result_name(exercise: JudgedExercise, name: str, case: Case) -> Message:
    """Return the name of a case's result for messages."""
    if is_within(name):
        return Quoted(name)
    for step in case.steps:
        if step.verb == "read" and f"{name}.".startswith(f"{step.result}."):
            return part_of(name.removeprefix(step.result), Quoted(step.result))
    whole, _, part = name.partition(".")
    if whole == "gradient":
        return GradientOf(weight_name(exercise, part))
    verbs = {step.result: step.verb for step in case.steps if step.result}
    if verbs.get(whole) == "describe":
        owner, reloaded = owner_of(whole, case)
        return KeptParameter(parameter(exercise, part), owner, reloaded)
    return part_of(part, Result(*call_of(whole, case)))


def not_the_same(exercise: JudgedExercise, name: str, case: Case) -> Message:
    """Return the message that a result differs from `result`, and how their two calls differ."""
    twins = {step.result for step in case.steps if step.verb == "duplicate"}
    calls = {call.result: call for call in case.calls}
    call = calls.get(name.partition(".")[0], Step("call"))
    if call.on in twins:
        return CopyDiffers()
    what = result_name(exercise, name, case)
    if call.options.get("no_grad"):
        return DiffersWithoutGradients(what)
    return NotTheSame(what, scattered=call.options.get("scattered", False))


def weight_name(exercise: JudgedExercise, name: str) -> WeightName:
    """Return a parameter's own name. If it is inside a substitute, name the part that holds it."""
    holder = holder_of(name, names_in_substitutes(exercise))
    seen = [one.observed for one in exercise.seen]
    return WeightName(own_name(name, *seen), own_name(holder, *seen))


def parameter(exercise: JudgedExercise, name: str) -> Parameter:
    """Return the name of a parameter for use after an article, such as `the parameter w`."""
    return Parameter(**vars(weight_name(exercise, name)))


def names_in_substitutes(exercise: JudgedExercise) -> set[str]:
    """Return the names of parameters inside substitutes for code of other chapters.

    Learners have never seen these names.
    """
    own = {one.name for one in exercise.attempt.chapter.exercises}
    found: set[str] = set()
    for facts in (facts for seen in exercise.seen for facts in seen.expected.facts.values()):
        kinds = facts.get("modules", {}).items()
        substitutes = [f"{p}." for p, kind in kinds if kind not in own and not hasattr(nn, kind)]
        for name in facts.get("parameters", {}):
            found |= {name.removeprefix(part) for part in substitutes if name.startswith(part)}
    return found


def is_within(name: str) -> bool:
    """Return True if a tensor is inside a value of another type, and is judged with that value."""
    return "[" in name


def owner_of(name: str, case: Case) -> tuple[str, tuple[str, ...]]:
    """Return the owner of described parameters, and the objects that have received new weights.

    name: the result of a `describe` step. The owner is the argument that the described
    object is passed as; "" for the only object of a case. New weights count if they were loaded
    after the previous description of the same object.
    """
    at = next(n for n, step in enumerate(case.steps) if step.result == name)
    looked = case.steps[at]
    owner = passed_as(case, looked.on)
    if not owner:
        return "" if name == "module" else name, ()
    looks = (n for n in range(at) if case.steps[n].verb == "describe")
    before = [n for n in looks if case.steps[n].on == looked.on]
    since = case.steps[before[-1] : at] if before else ()
    return owner, tuple(passed_as(case, step.on) for step in since if step.verb == "load")


def part_of(path: str, whole: Message) -> Message:
    """Return the name of a part of a result; for an empty path, that of the result itself.

    >>> part_of("1.0", Result())
    PartOf(whole=Result(call=None, mode=''), places=(1, 0))
    """
    places = tuple(int(place) for place in path.split(".") if place.isdigit())
    return PartOf(whole, places) if places else whole


def call_of(name: str, case: Case) -> tuple[int | None, str]:
    """Return the index and the mode of the call that gave a result; (None, "") for only one."""
    mode, modes = "", {}
    for step in case.steps:
        if step.verb == "mode":
            mode = "training" if step.options["training"] else "evaluation"
        elif step.verb == "call":
            modes[step.result] = mode
    if len(modes) < 2 or name not in modes:
        return None, ""
    return list(modes).index(name), modes[name]
