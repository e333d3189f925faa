"""Find known mistakes that match an exercise's results, and group submissions by results."""

from dataclasses import dataclass

import torch

from ..exchange.cases import Case
from ..exchange.observation import Observation, Outcome
from ..exchange.references import Seen
from ..judging.checks.modules import NO_BUFFER
from ..judging.diagnosis import Diagnosis
from ..recognition.fingerprints import (
    Names,
    digest_of,
    imprints_of,
    in_order_for,
    matches,
    recognize,
    right_imprints,
)
from ..recognition.signatures import UNSEEN
from ..recognition.squeezed_dimensions import only_squeezed
from .attempt import ExerciseAttempt, cached_for_results
from .pairs import MOST_SHOWN, explaining
from .public_side import on_public_cases


@cached_for_results
def mistake_sets(part: ExerciseAttempt) -> tuple[Names, ...]:
    """Return the sets of known mistakes that each explain the results; () if none does."""
    prints, own = part.attempt.fingerprints, part.attempt.own.signatures
    return recognize(part.name, part.claimed, prints, own, lambda: combinations(part).proved)


@cached_for_results
def mistakes(part: ExerciseAttempt) -> tuple[str, ...]:
    """Return the known mistakes that the answer certainly has: those in every explanation.

    The search stops at MOST_SHOWN explanations. With so many of them, no mistake is certain, nor if
    a combination was left untried.
    """
    sets = mistake_sets(part)
    if not sets or len(sets) >= MOST_SHOWN:
        return ()
    if len(sets[0]) > 1 and combinations(part).untried:
        return ()
    return tuple(name for name in sets[0] if all(name in names for names in sets))


@cached_for_results
def buffer_beside(part: ExerciseAttempt) -> str:
    """Return what is wrong with a buffer that is missing beside a known mistake, or ""."""
    sets, own = mistake_sets(part), part.attempt.own.signatures
    prints = part.attempt.fingerprints.by_exercise.get(part.name, [])
    found = [p for p in prints if len(sets) == 1 and p.mistakes == sets[0]]
    if not found or matches(found[0], imprints_of(part.claimed, own)):
        return ""
    described = (one for one in part.claimed if one.case.signature == "structure")
    for _, expected, observed in described:
        for module, facts in expected.facts.items():
            for name in facts.get("buffers", {}):
                if (home := observed.home(module, name)) != "buffers":
                    return NO_BUFFER[home].format(name)
    return ""


@dataclass(frozen=True)
class Combinations:
    """Combinations of known mistakes that give the results of hidden cases.

    untried: True if more stored pairs fit on public cases than were tried on hidden ones.
    """

    proved: tuple[Names, ...] = ()
    untried: bool = False


@cached_for_results
def combinations(part: ExerciseAttempt) -> Combinations:
    """Find sets of known mistakes that explain the results: stored pairs, or else others."""
    pairs, own = part.attempt.pairs(), part.attempt.own.signatures
    if pairs is None or part.attempt.loaded.status != Outcome.LOADED:
        return Combinations()
    stored = pairs.stored(part.name, lambda: seen_in_public(part))
    shown = stored[:MOST_SHOWN]
    if found := [names for names in shown if pairs.proved(part.name, names, part.claimed)]:
        return Combinations(tuple(found), untried=len(stored) > MOST_SHOWN)
    known, prints = pairs.sources[part.name].edits, part.attempt.fingerprints.by_exercise[part.name]
    singles = [p for p in prints if len(p.mistakes) == 1 and p.mistakes[0] in known]
    imprints, right = imprints_of(part.claimed, own), right_imprints(part.claimed, own)
    for size in (2, 3):
        tried = explaining(size, singles, imprints, right)
        if found := [names for names in tried if pairs.proved(part.name, names, part.claimed)]:
            return Combinations(tuple(found))
    return Combinations()


def seen_in_public(part: ExerciseAttempt) -> list[Seen]:
    """Return the results of the public cases; [] if one gave no result."""
    public = on_public_cases(part)
    if public is None or not part.right_versions:
        return public.claimed if public else []
    program = public.attempt.program.with_right_versions(part.right_versions)
    try:
        return public.attempt.run_all_cases(part.name, program)
    finally:
        part.attempt.lab.end(program)


@cached_for_results
def is_only_squeezed(part: ExerciseAttempt) -> bool:
    """Return True if some results lack dimensions of size 1 and nothing else is wrong."""
    return only_squeezed(part.claimed, part.attempt.own.signatures)


def mistakes_on(part: ExerciseAttempt, diagnosis: Diagnosis) -> tuple[str, ...]:
    """Return the mistakes, with the one first that alone explains the results of a failed case."""
    found = mistakes(part)
    if len(found) < 2 or not (case := telling_case(part, diagnosis)):
        return found
    own = part.attempt.own.signatures
    prints = part.attempt.fingerprints.by_exercise[part.name]
    imprints, right = imprints_of(part.claimed, own), right_imprints(part.claimed, own)
    return in_order_for(case, found, prints, imprints, right)


def telling_case(part: ExerciseAttempt, diagnosis: Diagnosis) -> str:
    """Return the name of the failed case that shows which mistake caused the failure.

    That is the failed case itself, unless its signature shows no mistakes and it ends in an error.
    Then it is a case with another signature that ends in the same error, if there is one. Return ""
    if no case of that name was run.
    """
    failed = next((seen for seen in part.claimed if seen.case.name == diagnosis.case), None)
    if failed is None or failed.case.signature not in UNSEEN or not diagnosis.error:
        return failed.case.name if failed else ""
    error = diagnosis.error
    for case, _, observed in part.claimed:
        there = observed.error
        same = there and (there.type, there.line, there.text) == (
            error.type,
            error.line,
            error.text,
        )
        if same and case.signature not in UNSEEN:
            return case.name
    return failed.case.name


def same_answers(part: ExerciseAttempt) -> str:
    """Return a name for the results of all cases. Submissions with equal results get the same name.

    Empty if all results look right: then something else is wrong, such as weights.
    """
    own = part.attempt.own.signatures
    imprints, right = imprints_of(part.claimed, own), right_imprints(part.claimed, own)
    if all(right[case].matches(one) for case, one in imprints.items()):
        return ""
    return digest_of(part.name, imprints, secret_of(part.attempt.references.of(part.name)))


def secret_of(entries: list[tuple[Case, Observation]]) -> bytes:
    """Return data that learner code never sees: names of cases, and some numbers of right results.

    The numbers are few and rounded, because each machine builds its own references and processors
    differ in the last digit.
    """
    told = [
        (case.id, *(f"{x:.2g}" for _, t in sorted(seen.tensors.items()) for x in some_of(t)))
        for case, seen in entries
    ]
    return repr(told).encode()


def some_of(tensor: torch.Tensor) -> list[float]:
    """Return the first, the middle and the last number of a tensor."""
    flat, count = tensor.flatten(), tensor.numel()
    return [flat[at].item() for at in (0, count // 2, count - 1)] if count else []
