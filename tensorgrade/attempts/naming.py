"""Run the cases of exercises, and decide which of a learner's names stand for the stub's.

Names are decided once for an exercise, on public cases, and then used for every call.

The most plausible names run first. Others are tried only if something is wrong under these, in a
process that has seen no hidden case. Names cost nothing (runner/names.py has the rule).
"""

from collections.abc import Collection
from dataclasses import replace
from itertools import product
from typing import Any

from ..exchange.cases import Case
from ..exchange.observation import Observation, Outcome
from ..exchange.references import Seen
from ..judging.own_names import in_names_of_stub
from ..recognition.fingerprints import agrees, imprints_of, right_imprints
from ..runner.names import (
    MOST,
    Assignment,
    Levels,
    argument_ways,
    lacking,
    plausible,
)
from .attempt import Attempt, ExerciseAttempt

Load = tuple[str, dict[str, list[int]]]  # the handle of an object, and the shapes it should have


def run(attempt: Attempt, names: Collection[str]) -> None:
    """Load the file and run the cases of these exercises, each case once."""
    attempt.load_once()
    asked = [part for name, part in attempt.exercises.items() if name in names]
    for part in (part for part in asked if not part.seen):
        part.judge_by(attempt.run_all_cases(part.name))
        settle_names(part)


def settle_names(part: ExerciseAttempt) -> None:
    """Judge an exercise under the names that fit best, and keep them for later exercises."""
    attempt = part.attempt
    ended = any(one.observed.status != Outcome.ANSWERED for one in part.seen)
    if part.given_code or ended or not has_own_names(part):
        return
    if all(right_cases(part, with_values(part))):
        attempt.assigned = names_at_first(part)
        if all(right_cases(part, part.seen)):
            return
    elif public := attempt.on_public_cases:
        public.assign(attempt.assigned)
        run(public, [part.name])
        attempt.assigned = public.assigned
    else:
        attempt.assigned = best_names(part)
    if attempt.assign(attempt.assigned):
        part.judge_by(attempt.run_all_cases(part.name))


def has_own_names(part: ExerciseAttempt) -> bool:
    """Return True if an exercise's weights or arguments can be matched in several ways."""
    own = any(one.observed.fact("names", "own", default={}) for one in part.seen)
    return own or any(len(ways) > 1 for ways in ways_to_call(part).values())


def ways_to_call(part: ExerciseAttempt) -> dict[str, list[dict[str, str]]]:
    """Return the ways to pass arguments, by the callables that no earlier exercise has decided."""
    attempt = part.attempt
    asked = {part.name, *attempt.references.asked_by_name(part.name)}
    own = attempt.loaded.own_parameters
    return {
        called: argument_ways(names, own[called])
        for called, names in attempt.chapter.parameters.items()
        if called.partition(".")[0] in asked
        and own.get(called)
        and called not in attempt.assigned.arguments
    }


def with_values(part: ExerciseAttempt) -> list[Seen]:
    """Return the cases on which all right answers have the same values; all if there are none."""
    return [one for one in part.seen if one.case.has_right_values] or part.seen


def right_cases(part: ExerciseAttempt, seen: list[Seen]) -> list[bool]:
    """Return, for each of these cases, if its result is right."""
    signatures = part.attempt.own.signatures
    found, right = imprints_of(seen, signatures), right_imprints(seen, signatures)
    return [found[name].matches(right[name]) for name in found]


def telling_load(part: ExerciseAttempt) -> tuple[Seen, Load] | None:
    """Return the case that loads tensors of the most different shapes, and what it loads."""
    loads = [
        (one, (step.on, shapes_to_load(one.case, step.options["weights"])))
        for one in with_values(part)
        for step in one.case.steps
        if step.verb == "load"
    ]

    def differ(load: tuple[Seen, Load]) -> tuple[int, int]:
        shapes = load[1][1].values()
        return len(set(map(str, shapes))), len(shapes)

    return max(loads, key=differ, default=None)


def shapes_to_load(case: Case, weights: dict[str, str]) -> dict[str, list[int]]:
    """Return the shapes of a step's weights, by the stub's names."""
    return {name: list(case.tensors[key].shape) for name, key in weights.items()}


def own_shapes(observed: Observation, load: Load) -> dict[str, Any]:
    """Return the shapes of an object, by the learner's names; {} if it could not be made."""
    handle, asked = load
    same = asked if observed.facts.get("load") else {}
    return observed.fact("names", "own", handle, default={}) or same


def names_at_first(part: ExerciseAttempt) -> Assignment:
    """Return the names under which an exercise has run first."""
    known = part.attempt.assigned
    arguments = {called: ways[0] for called, ways in ways_to_call(part).items()}
    weights: Levels = {}
    if found := telling_load(part):
        seen, load = found
        weights = plausible(load[1], own_shapes(seen.observed, load), known.weights)[0]
    return Assignment({**known.weights, **weights}, {**known.arguments, **arguments})


def best_names(part: ExerciseAttempt) -> Assignment:
    """Return the first names under which all cases are right, or else the best of those tried.

    Those with the results of one known mistake come first, then similar names, then right cases.
    """
    attempt, tries = part.attempt, names_to_try(part)
    program = attempt.program_of(part.name)
    asked = with_values(part)
    runs = [attempt.lab.tried_names(program, case, tries) for case, _, _ in asked]
    best, highest = tries[0], (False, False, -1.0, 0.0)
    for names, *observed in zip(tries, *runs, strict=False):
        seen = [
            one._replace(observed=in_names_of_stub(one.expected, own, names.weights))
            for one, own in zip(asked, observed, strict=True)
        ]
        right = right_cases(part, seen)
        score = all(right), is_known(part, seen), names.similarity, sum(right) / len(right)
        if score > highest:
            best, highest = names, score
    return best


def names_to_try(part: ExerciseAttempt) -> list[Assignment]:
    """Return the names to try; first those under which a module lacks the fewest tensors."""
    attempt, known, ways = part.attempt, part.attempt.assigned, ways_to_call(part)
    calls = [
        Assignment(known.weights, {**known.arguments, **dict(zip(ways, some, strict=True))})
        for some in product(*ways.values())
    ][:MOST]
    found = telling_load(part)
    if not found:
        return calls
    (case, _, _), load = found
    runs = attempt.lab.tried_names(attempt.program_of(part.name), case, calls)
    made = [(one, own_shapes(observed, load)) for one, observed in zip(calls, runs, strict=False)]
    made.sort(key=lambda one: lacking(load[1], one[1]))
    tries = [
        replace(one, weights={**known.weights, **weights})
        for one, own in made
        for weights in plausible(load[1], own, known.weights)
    ]
    return tries[:MOST] or calls


def is_known(part: ExerciseAttempt, seen: list[Seen]) -> bool:
    """Return True if the results are those of one known mistake."""
    imprints = imprints_of(seen, part.attempt.own.signatures)
    prints = part.attempt.side.fingerprints.by_exercise.get(part.name, [])
    single = (one for one in prints if len(one.mistakes) == 1)
    return any(all(agrees(one, case, imprints) for case in imprints) for one in single)
