"""A learner's own names of weights: translated for judging, and back for messages."""

from dataclasses import replace

from ..exchange.observation import Observation
from ..runner.names import Levels, names_in_stub, renamed


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
