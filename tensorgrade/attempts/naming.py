"""Run the cases of exercises, and decide which of a learner's names stand for the stub's.

Names are decided once for an exercise, on public cases, and then used for every call.

The most plausible names run first. Others are tried only if something is wrong under these, in a
process that has seen no hidden case. Names cost nothing (runner/names.py has the rule).
"""

from dataclasses import replace
from itertools import product
from typing import Any

from ..exchange.observation import Observation, Outcome
from ..exchange.references import Seen
from ..judging.names import in_names_of_stub
from ..recognition.fingerprints import agrees, imprints_of
from ..runner.names import (
    MOST,
    Assignment,
    Levels,
    argument_ways,
    lacking,
    plausible,
)
from .attempt import Answer, Attempt, once, ran

Load = tuple[str, dict[str, list[int]]]  # the handle of an object, and the shapes it should have


def answer_to(attempt: Attempt, name: str, known: Assignment | None = None) -> Answer:
    """Return the answer to an exercise; its cases run once.

    known: names that are decided already; by default, those of the answer that ran last.
    """
    if name not in attempt.answers:
        attempt.answers[name] = settled(attempt, name, known)
    return attempt.answers[name]


@once
def on_public_cases(answer: Answer) -> Answer | None:
    """Return the exercise on the public cases; None if there are none, or if one gave no result."""
    other = answer.attempt.on_public_cases
    if other is None:
        return None
    for name in other.called_before(answer.name):
        answer_to(other, name)
    public = answer_to(other, answer.name)
    answered = all(seen.observed.status == Outcome.ANSWERED for seen in public.seen)
    return public if answered else None


def settled(attempt: Attempt, name: str, known: Assignment | None) -> Answer:
    """Run an exercise under the names that fit best."""
    given = attempt.references.bugs.get(name)
    # Names that the answer before this one has decided hold here too.
    latest = next(reversed(attempt.answers.values()), None)
    now = known or (latest.program.assigned if latest else attempt.program.assigned)
    program = attempt.under(now, (name, given) if given else None)
    first = ran(attempt, name, program, known or (latest.assigned if latest else now))
    ended = any(one.observed.status != Outcome.ANSWERED for one in first.seen)
    if given or ended or not has_own_names(first):
        return first
    if all(right_cases(first, with_values(first))):
        names = names_at_first(first)
        if all(right_cases(first, first.seen)):
            return first.deciding(names)
    elif public := attempt.on_public_cases:
        names = answer_to(public, name, first.assigned).assigned
    else:
        names = best_names(first)
    if names == now:
        return first.deciding(names)
    attempt.lab.end(program)
    return ran(attempt, name, attempt.under(names))


def has_own_names(answer: Answer) -> bool:
    """Return True if an exercise's weights or arguments can be matched in several ways."""
    own = any(one.observed.fact("names", "own", default={}) for one in answer.seen)
    return own or any(len(ways) > 1 for ways in ways_to_call(answer).values())


def ways_to_call(answer: Answer) -> dict[str, list[dict[str, str]]]:
    """Return the ways to pass arguments, by the callables that no earlier exercise has decided."""
    attempt = answer.attempt
    asked = {answer.name, *attempt.references.asked_by_name(answer.name)}
    own = attempt.loaded.own_parameters
    return {
        called: argument_ways(names, own[called])
        for called, names in attempt.chapter.parameters.items()
        if called.partition(".")[0] in asked
        and own.get(called)
        and called not in answer.assigned.arguments
    }


def with_values(answer: Answer) -> list[Seen]:
    """Return the cases on which all right answers have the same values; all if there are none."""
    return [one for one in answer.seen if one.case.has_right_values] or answer.seen


def right_cases(answer: Answer, seen: list[Seen]) -> list[bool]:
    """Return, for each of these cases, if its result is right."""
    found = imprints_of(seen, answer.attempt.own.signatures)
    right = answer.attempt.side.known(answer.name).right
    return [found[name].matches(right[name]) for name in found]


def telling_load(answer: Answer) -> tuple[Seen, Load] | None:
    """Return the case that loads tensors of the most different shapes, and what it loads."""
    loads = []
    for one in with_values(answer):
        for step in (step for step in one.case.steps if step.verb == "load"):
            keys = step.options["weights"].items()
            shapes = {name: list(one.case.tensors[key].shape) for name, key in keys}
            loads.append((one, (step.on, shapes)))

    def differ(load: tuple[Seen, Load]) -> tuple[int, int]:
        shapes = load[1][1].values()
        return len(set(map(str, shapes))), len(shapes)

    return max(loads, key=differ, default=None)


def own_shapes(observed: Observation, load: Load) -> dict[str, Any]:
    """Return the shapes of an object, by the learner's names; {} if it could not be made."""
    handle, asked = load
    same = asked if observed.facts.get("load") else {}
    return observed.fact("names", "own", handle, default={}) or same


def names_at_first(answer: Answer) -> Assignment:
    """Return the names under which an exercise has run first."""
    known = answer.assigned
    arguments = {called: ways[0] for called, ways in ways_to_call(answer).items()}
    weights: Levels = {}
    if found := telling_load(answer):
        seen, load = found
        weights = plausible(load[1], own_shapes(seen.observed, load), known.weights)[0]
    return Assignment({**known.weights, **weights}, {**known.arguments, **arguments})


def best_names(answer: Answer) -> Assignment:
    """Return the first names under which all cases are right, or else the best of those tried.

    Those with the results of one known mistake come first, then similar names, then right cases.
    """
    attempt, tries = answer.attempt, names_to_try(answer)
    program = answer.program
    asked = with_values(answer)
    runs = [attempt.lab.tried_names(program, case, tries) for case, _, _ in asked]
    best, highest = tries[0], (False, False, -1.0, 0.0)
    for names, *observed in zip(tries, *runs, strict=False):
        seen = [
            one._replace(observed=in_names_of_stub(one.expected, own, names.weights))
            for one, own in zip(asked, observed, strict=True)
        ]
        right = right_cases(answer, seen)
        score = all(right), is_known(answer, seen), names.similarity, sum(right) / len(right)
        if score > highest:
            best, highest = names, score
    return best


def names_to_try(answer: Answer) -> list[Assignment]:
    """Return the names to try; first those under which a module lacks the fewest tensors."""
    attempt, known, ways = answer.attempt, answer.assigned, ways_to_call(answer)
    calls = [
        Assignment(known.weights, {**known.arguments, **dict(zip(ways, some, strict=True))})
        for some in product(*ways.values())
    ][:MOST]
    found = telling_load(answer)
    if not found:
        return calls
    (case, _, _), load = found
    runs = attempt.lab.tried_names(answer.program, case, calls)
    made = [(one, own_shapes(observed, load)) for one, observed in zip(calls, runs, strict=False)]
    made.sort(key=lambda one: lacking(load[1], one[1]))
    tries = [
        replace(one, weights={**known.weights, **weights})
        for one, own in made
        for weights in plausible(load[1], own, known.weights)
    ]
    return tries[:MOST] or calls


def is_known(answer: Answer, seen: list[Seen]) -> bool:
    """Return True if the results are those of one known mistake."""
    imprints = imprints_of(seen, answer.attempt.own.signatures)
    known = answer.attempt.side.known(answer.name)
    singles = known.singles.values()
    return any(all(agrees(one, case, imprints) for case in imprints) for one in singles)
