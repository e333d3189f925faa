"""Name results and parameters in messages, but never by a name that learners have not seen."""

from collections.abc import Collection

from torch import nn

from ..exchange.cases import Case, passed_as
from ..exchange.values import kind
from ..runner.step import Step
from .own_names import own_name
from .protocols import JudgedExercise

ORDINALS = ("first", "second", "third", "fourth", "fifth")


def result_name(exercise: JudgedExercise, name: str, case: Case) -> str:
    """Return the name of a case's result for messages: `the result of the second call`."""
    if is_within(name):
        return f"`{name}`"
    for step in case.steps:
        if step.verb == "read" and f"{name}.".startswith(f"{step.result}."):
            return part_of(name.removeprefix(step.result), f"`{step.result}`")
    whole, _, part = name.partition(".")
    if whole == "gradient":
        return f"the gradient for {own_weight(exercise, part)}"
    verbs = {step.result: step.verb for step in case.steps if step.result}
    if verbs.get(whole) == "describe":
        owner, reloaded = owner_of(whole, case)
        after = "".join(f", after `{one}` got other weights," for one in reloaded)
        of_owner = f" of `{owner}`" if owner else ""
        return f"the {parameter(exercise, part)}{of_owner}{after}"
    return part_of(part, call_of(whole, case))


def not_the_same(exercise: JudgedExercise, name: str, case: Case) -> str:
    """Return that a result differs from `result`, and how their two calls differ."""
    twins = {step.result for step in case.steps if step.verb == "duplicate"}
    calls = {call.result: call for call in case.calls}
    call = calls.get(name.partition(".")[0], Step("call"))
    if call.on in twins:
        return "a copy of the module, or one that loads its `state_dict`, gives different results"
    what = result_name(exercise, name, case)
    if call.options.get("no_grad"):
        return f"{what} is different inside `torch.no_grad()`"
    if call.options.get("scattered"):
        return (
            f"{what} depends on how the inputs are laid out in memory, which should make no "
            "difference"
        )
    return f"{what} should be the same as the first time, and is not"


def own_weight(exercise: JudgedExercise, name: str) -> str:
    """Return a parameter's own name. If it is inside a substitute, name the part that holds it."""
    part, own = holder_and_name(exercise, name)
    return f"a weight of `{part}`" if part else f"`{own}`"


def parameter(exercise: JudgedExercise, name: str) -> str:
    """Return the name of a parameter for use after an article, such as `the parameter w`."""
    part, own = holder_and_name(exercise, name)
    return f"weight of `{part}`" if part else f"parameter `{own}`"


def holder_and_name(exercise: JudgedExercise, name: str) -> tuple[str, str]:
    """Return what the learner calls the part around a parameter ("" for none), and the parameter.

    Only parts whose code the learner has not seen count.
    """
    holder = holder_of(name, names_in_substitutes(exercise))
    seen = [one.observed for one in exercise.seen]
    return own_name(holder, *seen), own_name(name, *seen)


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


def holder_of(name: str, insides: Collection[str]) -> str:
    """Return the part around a weight that the learner has not seen; "" for other weights.

    >>> holder_of("rows.0.mix.w", {"w"}), holder_of("w", {"w"})
    ('rows.0.mix', '')
    """
    inner = max((one for one in insides if name.endswith(f".{one}")), key=len, default="")
    return name.removesuffix(f".{inner}") if inner else ""


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


def part_of(path: str, whole: str) -> str:
    """Return the name of a part of a result; for an empty path, that of the result itself.

    >>> part_of("1", "the result"), part_of("1.0", "the result")
    ('the second part of the result', '`[1][0]` of the result')
    """
    places = [int(place) for place in path.split(".") if place.isdigit()]
    if len(places) == 1:
        return f"the {ordinal(places[0])} part of {whole}"
    return f"`{''.join(f'[{place}]' for place in places)}` of {whole}" if places else whole


def ordinal(place: int) -> str:
    """Return the ordinal for a place that counts from 0.

    >>> ordinal(0), ordinal(6)
    ('first', '7th')
    """
    return ORDINALS[place] if place < len(ORDINALS) else f"{place + 1}th"


def call_of(name: str, case: Case) -> str:
    """Return what to call the result of a call: of several, by what it passes, or by its place."""
    mode, modes = "", {}
    for step in case.steps:
        if step.verb == "mode":
            mode = "training" if step.options["training"] else "evaluation"
        elif step.verb == "call":
            modes[step.result] = mode
    if len(modes) < 2 or name not in modes:
        return "the result"
    in_mode = f", in {modes[name]}," if modes[name] else ""
    place = [*modes].index(name)
    calls = [arguments_of(call, case) for call in case.calls]
    for argument, told in calls[place].items():
        if sum(call.get(argument) == told for call in calls) == 1:
            return f"the result of the call with {told}{in_mode}"
    return f"the result of the {ordinal(place)} call{in_mode}"


def arguments_of(call: Step, case: Case) -> dict[str, str]:
    """Return what a call passes, by name: a tensor's shape, or a number."""
    passed = {
        n: case.tensors[v["tensor"]] for n, v in call.arguments.items() if kind(v) == "tensor"
    }
    told = {name: f"`{name}` of shape {tuple(tensor.shape)}" for name, tensor in passed.items()}
    numbers = {n: v for n, v in call.arguments.items() if isinstance(v, (bool, int, float))}
    return told | {name: f"`{name}={value}`" for name, value in numbers.items()}
