"""Weights that could not be put into a learner's module: a parameter renamed or misshapen."""

from difflib import get_close_matches

from ..observation import Observation


def lost_weights(observed: Observation) -> str:
    """Which parameter was not found, or had another shape, and what there is instead; or nothing."""
    missing = strings(observed.fact("load", "missing", default=[]))
    unexpected = strings(observed.fact("load", "unexpected", default=[]))
    misshapen = observed.fact("load", "misshapen", default={})
    if missing:
        return f"the module has no parameter `{missing[0]}`, so it could not be given its values{instead(missing[0], unexpected)}"
    if misshapen:
        name, shape = next(iter(misshapen.items()))
        sizes = "×".join(map(str, shape)) if isinstance(shape, list) else "?"
        return f"its parameter `{name}` has shape {sizes}, so it could not be given its values"
    return ""


def instead(name: str, found: list[str]) -> str:
    """What is there in place of a parameter, the likeliest first."""
    close = get_close_matches(name, found, 1, 0.5)
    if close:
        return f"; it has `{close[0]}`"
    return f"; it has {', '.join(f'`{n}`' for n in found[:6])}" if found else ""


def strings(values: list) -> list[str]:
    """The texts in a list: what a learner's process claims may hold anything."""
    return [value for value in values if isinstance(value, str)]
