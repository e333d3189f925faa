"""Names of results and parameters in messages.

A learner's own names of weights are translated for judging, and back for messages.
"""

from dataclasses import replace

from ..exchange.cases import Case, passed_as
from ..exchange.observation import Observation
from ..exchange.references import Seen
from ..exchange.values import kind
from ..runner.names import Levels, names_in_stub, renamed
from ..runner.step import Step

ORDINALS = ("first", "second", "third", "fourth", "fifth")


def result_name(name: str, case: Case, seen: list[Seen]) -> str:
    """Return the name of a case's result for messages: `the result of the second call`.

    seen: the results of all cases of the exercise, which have the learner's names of weights.
    """
    if is_within(name):
        return f"`{name}`"
    for step in case.steps:
        if step.verb == "read" and f"{name}.".startswith(f"{step.result}."):
            return part_of(name.removeprefix(step.result), f"`{step.result}`")
    whole, _, part = name.partition(".")
    if whole == "gradient":
        return f"the gradient for `{own_weight(part, seen)}`"
    verbs = {step.result: step.verb for step in case.steps if step.result}
    if verbs.get(whole) == "describe":
        owner, reloaded = owner_of(whole, case)
        after = "".join(f", after `{one}` got other weights," for one in reloaded)
        of_owner = f" of `{owner}`" if owner else ""
        return f"the parameter `{own_weight(part, seen)}`{of_owner}{after}"
    return part_of(part, call_of(whole, case))


def not_the_same(name: str, case: Case, seen: list[Seen]) -> str:
    """Return that a result differs from `result`, and how their two calls differ."""
    twins = {step.result for step in case.steps if step.verb == "duplicate"}
    calls = {call.result: call for call in case.calls}
    call = calls.get(name.partition(".")[0], Step("call"))
    if call.on in twins:
        return "a copy of the module, or one that loads its `state_dict`, gives different results"
    what = result_name(name, case, seen)
    if call.options.get("no_grad"):
        return f"{what} is different inside `torch.no_grad()`"
    if call.options.get("scattered"):
        return (
            f"{what} depends on how the inputs are laid out in memory, which should make no "
            "difference"
        )
    return f"{what} should be the same as the first time, and is not"


def own_weight(name: str, seen: list[Seen]) -> str:
    """Return what the learner calls a parameter that has this name in the stub."""
    return own_name(name, *(one.observed for one in seen))


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


# --- the learner's own names ------------------------------------------------------------------


def own_name(name: str, *seen: Observation) -> str:
    """Return the learner's name of a parameter that has this name in the stub."""
    told = [one.fact("names", "understood", default={}).items() for one in seen]
    return renamed(name, {a: own for names in told for a, own in names if isinstance(own, str)})


def in_names_of_stub(expected: Observation, observed: Observation, levels: Levels) -> Observation:
    """Return the observation with the parts of described modules under the stub's names."""
    for result, facts in expected.facts.items():
        if "parameters" in facts:
            observed = described(result, expected, observed, levels)
    return observed


def described(
    result: str, expected: Observation, observed: Observation, levels: Levels
) -> Observation:
    """Return the observation with the parts of one described module under the stub's names."""
    want, got = (shapes_in(one, result, "parameters") for one in (expected, observed))
    names = names_in_stub(want, got, levels)
    want, got = (shapes_in(one, result, "buffers") for one in (expected, observed))
    buffers = names_in_stub(want, got, {})
    # A buffer of another size is not the one that was asked for.
    names |= {o: a for o, a in buffers.items() if a in want and got[o][-len(want[a]) :] == want[a]}
    if not names:
        return observed
    told = observed.facts[result]
    module = {
        kind: {renamed(name, names): fact for name, fact in told[kind].items()}
        for kind in ("parameters", "buffers")
        if isinstance(told.get(kind), dict)
    }
    understood = observed.fact("names", "understood", default={}) | {
        asked: own for own, asked in names.items() if own != asked
    }
    both = observed.fact("names", default={}) | {"understood": understood}
    facts = {result: told | module, "names": both}
    within = {f"{result}.{own}": f"{result}.{asked}" for own, asked in names.items()}
    tensors = {renamed(name, within): tensor for name, tensor in observed.tensors.items()}
    return replace(observed, facts=observed.facts | facts, tensors=tensors)


def shapes_in(observed: Observation, result: str, kind: str) -> dict[str, list[int]]:
    """Return the shapes of the tensors that a described module is said to have."""
    told = observed.fact(result, kind, default={})
    facts = {name: fact[0] for name, fact in told.items() if isinstance(fact, list) and fact}
    return {name: shape for name, shape in facts.items() if isinstance(shape, list)}
