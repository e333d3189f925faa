"""Find known mistakes that match an exercise's results, and group submissions by results.

Several mistakes at once are proposed first. Proposed are the pairs whose fingerprints match on
public cases, and then sets of three in which any two explain the cases that the third leaves right.
"""

import itertools

from ..exchange.observation import Outcome
from ..exchange.references import Seen
from ..judging.checks.modules import START
from ..judging.diagnosis import Kind, Wrong
from ..recognition.edits import EditError
from ..recognition.fingerprints import (
    Known,
    Names,
    agrees,
    digest_of,
    facts_of,
    imprints_of,
    recognize,
    with_facts,
)
from ..recognition.imprints import Imprint
from ..recognition.signatures import UNSEEN, nothing_else_differs
from .attempt import Answer, once, ran
from .naming import on_public_cases
from .results import CheckResult
from .side import Solution

MOST_SHOWN = 8  # sets that explain the results; with so many, none is certain
MOST_TRIES = 20  # pairs, and sets of three, that are run for one submission
ENOUGH_WRONG = 2  # wrong cases that one of three mistakes leaves right


@once
def sets_in_values(answer: Answer) -> tuple[Names, ...]:
    """Return the sets of known mistakes that each explain the values; () if none does."""
    known, imprints = known_of(answer), own_imprints(answer)
    sets = recognize(known, imprints, answer.seen, lambda: combinations(answer))
    alone = [names[0] for names in sets if len(names) == 1]
    if alone and not wrong_values(answer) <= set(known_of(answer).singles[alone[0]].fails):
        return ()  # only nearly the same values, such as rounded ones
    return sets


@once
def wrong_values(answer: Answer) -> set[str]:
    """Return the titles of the checks that fail by wrong values, on cases that show mistakes."""
    shown = {one.case.name for one in answer.seen if one.case.signature not in UNSEEN}
    return {
        says
        for says, error in answer.failures.items()
        if isinstance(error, Wrong)
        and error.diagnosis.kind == Kind.VALUES
        and error.diagnosis.case in shown
    }


@once
def mistake_sets(answer: Answer) -> tuple[Names, ...]:
    """Return the sets of known mistakes that each explain the values, with known facts beside.

    () if the values are wrong and no set explains them.
    """
    sets, known, imprints = sets_in_values(answer), known_of(answer), own_imprints(answer)
    return with_facts(sets, known, imprints) if sets or known.is_right(imprints) else ()


@once
def own_imprints(answer: Answer) -> dict[str, Imprint]:
    """Return the imprint of the result on each case, by the case's name."""
    return imprints_of(answer.seen, answer.attempt.own.signatures)


def known_of(answer: Answer) -> Known:
    """Return what is known of the exercise on the answer's side."""
    return answer.attempt.side.known(answer.name)


@once
def mistakes(answer: Answer) -> tuple[str, ...]:
    """Return the known mistakes that the answer certainly has, the dearest first.

    Those are the ones in every explanation. With MOST_SHOWN explanations, no mistake is certain.
    """
    sets = mistake_sets(answer)
    if not sets or len(sets) >= MOST_SHOWN:
        return ()
    found = (name for name in sets[0] if all(name in names for names in sets))
    return tuple(sorted(found, key=lambda name: -known_of(answer).singles[name].share))


def changes_values(answer: Answer, mistake: str) -> bool:
    """Return True if a mistake changes values, not only facts."""
    return any(mistake in names for names in sets_in_values(answer))


def is_beside(answer: Answer, check: CheckResult, names: Names) -> bool:
    """Return True if a check fails by a fact, and none of these mistakes fails it alone.

    Its case shows such a fact, or its values are right.
    """
    if check.passed or check.finding is None:
        return False
    diagnosis, imprints = check.finding.diagnosis, own_imprints(answer)
    right = known_of(answer).right
    case, is_fact = diagnosis.case, diagnosis.kind == Kind.FACT or diagnosis.id == START
    if not is_fact or case not in imprints:
        return False
    about = right[case].matches(imprints[case]) or facts_of({case: imprints[case]}, right)
    return bool(about) and not any(
        check.asks in known_of(answer).singles[name].fails for name in names
    )


def combinations(answer: Answer) -> tuple[Names, ...]:
    """Return sets of known mistakes that give the results: pairs, or else sets of three.

    The public cases propose a set. It is proved if the solution with these mistakes gives exactly
    the same results on all of the answer's own cases.
    """
    solution, public = answer.attempt.side.solution, answer.attempt.side.public
    if solution is None or public is None or answer.attempt.loaded.status != Outcome.LOADED:
        return ()
    known, seen = public.known(answer.name), seen_in_public(answer)
    if not seen:
        return ()
    imprints = imprints_of(seen, answer.attempt.own.signatures)
    explained = explained_by_pairs(known, imprints)
    pairs = [two for two, cases in explained.items() if len(cases) == len(imprints)]
    found = proved(answer, solution, pairs[:MOST_TRIES])
    return found or proved(answer, solution, triples(known, imprints, explained))


def explained_by_pairs(known: Known, imprints: dict[str, Imprint]) -> dict[Names, set[str]]:
    """Return the cases that each pair of mistakes explains.

    A pair that is not stored gives the results of one of its mistakes.
    """
    found = {
        tuple(sorted(p.mistakes)): {case for case in imprints if agrees(p, case, imprints)}
        for p in known.changing
    }
    singles = sorted(names for names in found if len(names) == 1)
    return {
        first + second: found.get(first + second, max(found[first], found[second], key=len))
        for first, second in itertools.combinations(singles, 2)
    }


def triples(
    known: Known, imprints: dict[str, Imprint], explained: dict[Names, set[str]]
) -> list[Names]:
    """Return sets of three mistakes in which any two explain the cases that the third leaves right.

    Enough of these cases must be wrong. The sets that explain most come first.
    """
    wrong = {case for case, one in imprints.items() if not known.right[case].matches(one)}
    names = sorted(set(itertools.chain(*explained)))
    left = {n: {c for c in imprints if agrees(known.singles[n], c, known.right)} for n in names}
    found: list[tuple[int, Names]] = []
    for three in itertools.combinations(names, 3):
        pairs = zip(itertools.combinations(three, 2), reversed(three), strict=True)
        if all(left[third] <= explained[two] for two, third in pairs):
            shown = set.union(*(left[name] for name in three)) & wrong
            found.append((-len(shown), three))
    return [three for count, three in sorted(found) if -count >= ENOUGH_WRONG][:MOST_TRIES]


def proved(answer: Answer, solution: Solution, sets: list[Names]) -> tuple[Names, ...]:
    """Return those of some sets of mistakes that give the values of every case.

    Their facts must be among those of the results.
    """
    found, imprints, right = [], own_imprints(answer), known_of(answer).right
    for names in sets:
        try:
            program = solution.made(answer.name, names)
        except EditError:  # they change the same piece of the solution
            continue
        made = {}
        for one in answer.seen:
            made[one.case.name] = solution.made_imprint(names, program, one)
            if not made[one.case.name].matches(imprints[one.case.name]):
                break
        else:
            if facts_of(made, right) <= facts_of(imprints, right):
                found.append(names)
        solution.lab.end(program)
    return tuple(found)


def seen_in_public(answer: Answer) -> list[Seen]:
    """Return the results of the public cases; [] if one gave no result."""
    public = on_public_cases(answer)
    if public is None or not answer.right_versions:
        return public.seen if public else []
    program = public.program.with_right_versions(answer.right_versions)
    beside = ran(public.attempt, answer.name, program, public.assigned, answer.right_versions)
    answer.attempt.lab.end(program)
    return beside.seen


@once
def only_ones_differ(answer: Answer) -> bool:
    """Return True if some results differ in dimensions of size 1, and nothing else is wrong."""
    return nothing_else_differs(answer.seen, answer.attempt.own.signatures)


def same_answers(answer: Answer) -> str:
    """Return a name for the results of all cases. Submissions with equal results get the same name.

    Empty if all results look right: then something else is wrong, such as weights.
    """
    imprints, known = own_imprints(answer), known_of(answer)
    if known.is_right(imprints) and not facts_of(imprints, known.right):
        return ""
    # Learner code never sees the names of cases, which the course's seed draws. Results would not
    # do: each machine builds its own, and processors differ in the last digit.
    secret = repr([one.case.id for one in answer.seen]).encode()
    return digest_of(answer.name, imprints, secret)
