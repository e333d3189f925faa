"""Find known mistakes that match an exercise's results, and group submissions by results."""

from ..exchange.cases import Case
from ..exchange.observation import Observation, Outcome
from ..exchange.references import Seen
from ..judging.checks.modules import START
from ..judging.diagnosis import Kind, Wrong
from ..recognition.fingerprints import (
    Fingerprint,
    Known,
    Names,
    digest_of,
    facts_of,
    imprints_of,
    recognize,
    with_facts,
)
from ..recognition.imprints import Imprint
from ..recognition.signatures import UNSEEN, only_squeezed
from .attempt import Answer, once, ran
from .naming import on_public_cases
from .results import CheckResult
from .side import MOST_SHOWN, MOST_TRIES, explaining


@once
def sets_in_values(answer: Answer) -> tuple[Names, ...]:
    """Return the sets of known mistakes that each explain the values; () if none does."""
    known, imprints = known_of(answer), own_imprints(answer)
    sets = recognize(known, imprints, answer.claimed, lambda: combinations(answer))
    alone = [names[0] for names in sets if len(names) == 1]
    if alone and not wrong_values(answer) <= set(print_of(answer, alone[0]).fails):
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
    return imprints_of(answer.claimed, answer.attempt.own.signatures)


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
    return tuple(sorted(found, key=lambda name: -print_of(answer, name).share))


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
    right = answer.attempt.side.right(answer.name)
    case, is_fact = diagnosis.case, diagnosis.kind == Kind.FACT or diagnosis.id == START
    if not is_fact or case not in imprints:
        return False
    about = right[case].matches(imprints[case]) or facts_of({case: imprints[case]}, right)
    return bool(about) and not any(check.asks in print_of(answer, name).fails for name in names)


def print_of(answer: Answer, mistake: str) -> Fingerprint:
    """Return the fingerprint of a mistake alone."""
    return next(one for one in known_of(answer).prints if one.mistakes == (mistake,))


def combinations(answer: Answer) -> tuple[Names, ...]:
    """Return sets of known mistakes that give the results: stored pairs, or else others."""
    pairs = answer.attempt.side.pairs
    if pairs is None or answer.attempt.loaded.status != Outcome.LOADED:
        return ()
    known, imprints = known_of(answer), own_imprints(answer)

    def proved(names: Names) -> bool:
        return pairs.proved(answer.name, names, answer.claimed, imprints, known.right)

    stored = pairs.stored(answer.name, lambda: seen_in_public(answer))
    if found := tuple(filter(proved, stored[:MOST_TRIES])):
        return found
    edits, changing = pairs.sources[answer.name].edits, known.changing
    singles = [p for p in changing if len(p.mistakes) == 1 and p.mistakes[0] in edits]
    for size in (2, 3):
        if found := tuple(filter(proved, explaining(size, singles, imprints, known.right))):
            return found
    return ()


def seen_in_public(answer: Answer) -> list[Seen]:
    """Return the results of the public cases; [] if one gave no result."""
    public = on_public_cases(answer)
    if public is None or not answer.right_versions:
        return public.claimed if public else []
    program = public.program.with_right_versions(answer.right_versions)
    beside = ran(public.attempt, answer.name, program, public.assigned, answer.right_versions)
    answer.attempt.lab.end(program)
    return beside.claimed


@once
def is_only_squeezed(answer: Answer) -> bool:
    """Return True if some results lack dimensions of size 1 and nothing else is wrong."""
    return only_squeezed(answer.claimed, answer.attempt.own.signatures)


def same_answers(answer: Answer) -> str:
    """Return a name for the results of all cases. Submissions with equal results get the same name.

    Empty if all results look right: then something else is wrong, such as weights.
    """
    imprints, right = own_imprints(answer), answer.attempt.side.right(answer.name)
    if known_of(answer).is_right(imprints) and not facts_of(imprints, right):
        return ""
    return digest_of(answer.name, imprints, secret_of(answer.attempt.references.of(answer.name)))


def secret_of(entries: list[tuple[Case, Observation]]) -> bytes:
    """Return data that learner code never sees: the names of cases, which the course's seed draws.

    Results are not in it, because each machine builds its own, and processors differ in the last
    digit.
    """
    return repr([case.id for case, _ in entries]).encode()
