"""Fingerprints: the effects of each mistake on the cases of its exercise, as imprints.

They are stored in the files of the references. They identify a mistake without containing its code.
"""

import functools
import hashlib
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from ..exchange.cases import Case
from ..exchange.observation import Observation, Outcome
from ..exchange.references import Seen
from ..exchange.stored import damaged, read_part, refuse_missing, stored_path
from .imprints import Imprint, equals_an_input
from .signatures import Signature, imprint

Names = tuple[str, ...]  # of mistakes


@dataclass(frozen=True)
class Fingerprint:
    """The imprints of one mistake, or of two at once, by the cases' names.

    Two at once have no facts of their own: theirs are the facts of both. share: of the exercise's
    points, those of the checks that the mistake fails alone. fails: the titles of these checks.
    """

    mistakes: tuple[str, ...]
    imprints: dict[str, Imprint]
    share: float = 0.0
    fails: tuple[str, ...] = ()


@dataclass(frozen=True)
class Fingerprints:
    """The fingerprints of a chapter's mistakes, and the mistakes' messages by name.

    of: returns those of an exercise. prices: by exercise, the share of it that a mistake costs, if
    its author sets one.
    """

    of: Callable[[str], list[Fingerprint]] = lambda exercise: []
    messages: dict[str, str] = field(default_factory=dict)
    prices: dict[str, dict[str, float]] = field(default_factory=dict)


def mistakes_path(folder: Path, chapter: str) -> Path:
    """Return the path of the file about a chapter's mistakes. folder: as in `stored_path`."""
    return folder / "references" / chapter / "mistakes.json"


def read_mistakes(path: Path) -> dict[str, dict]:
    """Return the stored messages and prices. Raises CourseError if they are missing or damaged."""
    refuse_missing(path)
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
        return {"messages": stored["messages"], "prices": stored["prices"]}
    except (ValueError, KeyError, TypeError):
        raise damaged(path) from None


def load_fingerprints(folder: Path, chapter: str) -> Fingerprints:
    """Return the fingerprints of a chapter. Those of an exercise are read on demand, once.

    Raises CourseError if the file about its mistakes is missing or damaged.
    """

    @functools.cache
    def of(exercise: str) -> list[Fingerprint]:
        return read_prints(read_part(stored_path(folder, chapter, exercise), "fingerprints"))

    return Fingerprints(of, **read_mistakes(mistakes_path(folder, chapter)))


NEXT = -1  # the number of an imprint that is used for the first time


def stored_form(prints: list[Fingerprint]) -> dict:
    """Return one exercise's fingerprints in their stored form.

    Each distinct imprint is there once, and so are its words, which many imprints share. Numbers,
    words and facts are three columns. The first use of an imprint is NEXT in place of its number.
    Without these three, files take a third more space.
    """
    cases = sorted({case for fingerprint in prints for case in fingerprint.imprints})
    imprints: dict[tuple, int] = {}
    words: dict[str, int] = {}

    def number_of(one: Imprint) -> int:
        numbers = ",".join(map(shortened, one.numbers))
        key = (numbers, words.setdefault(one.words, len(words)), one.facts)
        if key in imprints:
            return imprints[key]
        imprints[key] = len(imprints)
        return NEXT

    rows = [
        [p.mistakes, [number_of(p.imprints[c]) for c in cases], p.share, p.fails] for p in prints
    ]
    columns = list(zip(*imprints, strict=True))
    return {"cases": cases, "words": list(words), "imprints": columns, "prints": rows}


def shortened(number: float) -> str:
    """Return a number of an imprint in its stored form, a few times as exact as `is_close`."""
    return f"{number:.4f}" if abs(number) < 10 else f"{number:.5g}"


def as_stored(one: Imprint) -> Imprint:
    """Return an imprint with its numbers rounded as in a file, so that comparisons agree."""
    first, second = (float(shortened(number)) for number in one.numbers)
    return Imprint(one.words, (first, second), one.facts)


def read_prints(data: dict) -> list[Fingerprint]:
    """Return the fingerprints of one exercise."""
    imprints = []
    for numbers, word, facts in zip(*data["imprints"], strict=True):
        first, second = map(float, numbers.split(","))
        imprints.append(Imprint(data["words"][word], (first, second), tuple(facts)))
    following = iter(imprints)
    return [
        Fingerprint(
            tuple(names),
            {
                case: next(following) if number == NEXT else imprints[number]
                for case, number in zip(data["cases"], row, strict=True)
            },
            share,
            tuple(fails),
        )
        for names, row, share, fails in data["prints"]
    ]


def imprints_of(seen: list[Seen], own: dict[str, Signature]) -> dict[str, Imprint]:
    """Return the imprint of each case, by the case's name. own: the course's signatures."""
    return {case.name: imprint(case, expected, observed, own) for case, expected, observed in seen}


def right_imprints(
    entries: Iterable[tuple[Case, Observation]], own: dict[str, Signature]
) -> dict[str, Imprint]:
    """Return the imprint of a right answer on each case, by the case's name."""
    return imprints_of([Seen(case, right, right) for case, right in entries], own)


def digest_of(exercise: str, imprints: dict[str, Imprint], secret: bytes) -> str:
    """Return a name that is equal for all wrong answers with the same imprints.

    Words and facts must be equal, and numbers must agree to four digits. secret: bytes that learner
    code never sees. Learner code chooses the texts of its errors. Without the secret, it could
    choose a text whose digest encodes hidden inputs.
    """
    told = [
        (case, one.words, one.facts, *(f"{number:.4g}" for number in one.numbers))
        for case, one in sorted(imprints.items())
    ]
    key = hashlib.blake2b(secret).digest()
    digest = hashlib.blake2b(repr((exercise, told)).encode(), digest_size=6, key=key).hexdigest()
    return digest.translate(LETTERS)


# Letters only, because a group's name of digits could be mistaken for a number.
LETTERS = str.maketrans("0123456789abcdef", "klmnopqrstuvwxyz")


Facts = frozenset[tuple[str, str]]  # each with the name of its case


def facts_of(imprints: dict[str, Imprint], right: dict[str, Imprint]) -> Facts:
    """Return the facts in which imprints differ from those of a right answer."""
    return frozenset(
        (case, fact)
        for case, one in imprints.items()
        if case in right
        for fact in {*one.facts} ^ {*right[case].facts}
    )


@dataclass(frozen=True)
class Known:
    """What is known of an exercise on one side: a right answer's imprints, and those of mistakes.

    right: by the case's name. prints: of single mistakes, and of pairs.
    """

    right: dict[str, Imprint]
    prints: list[Fingerprint]

    @cached_property
    def changing(self) -> list[Fingerprint]:
        """The fingerprints of mistakes that change values, not only facts."""
        return [one for one in self.prints if not matches(one, self.right)]

    @cached_property
    def singles(self) -> dict[str, Fingerprint]:
        """The fingerprint of each mistake alone."""
        return {one.mistakes[0]: one for one in self.prints if len(one.mistakes) == 1}

    @cached_property
    def facts(self) -> dict[str, Facts]:
        """The facts of each single mistake."""
        return {name: facts_of(one.imprints, self.right) for name, one in self.singles.items()}

    @cached_property
    def only_facts(self) -> list[str]:
        """The mistakes that change no value, those with the most facts first."""
        changing = {name for one in self.changing for name in one.mistakes}
        own = self.facts.keys() - changing
        return sorted(own, key=lambda name: (-len(self.facts[name]), name))

    def is_right(self, imprints: dict[str, Imprint]) -> bool:
        """Return True if the values of all cases are right."""
        return all(self.right[case].matches(one) for case, one in imprints.items())


def recognize(
    known: Known,
    imprints: dict[str, Imprint],
    seen: list[Seen],
    several: Callable[[], tuple[Names, ...]] = tuple,
) -> tuple[Names, ...]:
    """Return the sets of mistakes that each explain the values; () if none does.

    The values of every case must match, and the mistakes' own facts must be among the answer's.
    Cases that end in another error may differ if enough others match.

    several: finds sets of two or three mistakes; called if no fingerprint matches. One mistake is
    preferred to two with similar effects, and of several the one that explains most of the facts.
    An answer with right values matches no mistake in values.
    """
    if any(one.observed.status == Outcome.UNREACHED for one in seen):
        return ()
    facts = facts_of(imprints, known.right)
    # An answer in which every call ends in an error can show one mistake, but hardly two.
    failed = all(one.observed.error for one in seen if one.case.calls)
    may_be_two = not (failed or returns_only_inputs(seen))
    fit = [
        p.mistakes
        for p in known.changing
        if matches(p, imprints) and all(known.facts[name] <= facts for name in p.mistakes)
    ]
    if exact := [names for names in fit if len(names) == 1]:
        return (max(exact, key=lambda names: len(known.facts[names[0]])),)
    if fit and may_be_two:
        return tuple(fit)
    sets = several() if may_be_two and not known.is_right(imprints) else ()
    return sets or but_for_errors(known, imprints)


def with_facts(
    sets: tuple[Names, ...], known: Known, imprints: dict[str, Imprint]
) -> tuple[Names, ...]:
    """Return sets of mistakes in the values, each with the known facts beside it.

    A fact that belongs to a mistake in the values is not named again. sets: () if all values are
    right.
    """
    found = []
    for names in sets or ((),):
        own = (known.facts.get(name, ()) for name in names)
        rest = facts_of(imprints, known.right).difference(*own)
        for name in known.only_facts:
            if known.facts[name] <= rest:
                names, rest = (*names, name), rest - known.facts[name]
        found.append(names)
    return tuple(filter(None, found))


ENOUGH = 3  # wrong cases that match a mistake exactly


def but_for_errors(known: Known, imprints: dict[str, Imprint]) -> tuple[Names, ...]:
    """Return the one mistake that matches on all cases except some that end in an error.

    A learner's assert may raise before torch does. An operation in place raises an error if the
    out-of-place version would broadcast. Then the other cases decide. Return () if they match no
    mistake or several.
    """
    singles = (p for p in known.changing if len(p.mistakes) == 1)
    alike = [p for p in singles if p.imprints.keys() == imprints.keys()]
    names = {p.mistakes for p in alike if agrees_but_for_errors(p.imprints, imprints, known.right)}
    return tuple(names) if len(names) == 1 else ()


def agrees_but_for_errors(
    mistake: dict[str, Imprint], imprints: dict[str, Imprint], right: dict[str, Imprint]
) -> bool:
    """Return True if enough cases have a mistake's wrong values and others differ only by errors.

    If a case's imprints differ, the mistake and the attempt must both be wrong, and at least one of
    them must end in an error.
    """
    matched = 0
    for case, own in imprints.items():
        made, due = mistake[case], right[case]
        if made.matches(own):
            matched += not (made.matches(due) or own.is_error)
        elif made.matches(due) or own.matches(due) or not (made.is_error or own.is_error):
            return False
    return matched >= ENOUGH


def returns_only_inputs(seen: list[Seen]) -> bool:
    """Return True if the attempt returned only its inputs although other values are expected.

    Code that does nothing contains no particular mistake, and certainly not two.
    """
    asked = [one for one in seen if not returns_inputs(one.case, one.expected)]
    return bool(asked) and all(returns_inputs(case, observed) for case, _, observed in asked)


def returns_inputs(case: Case, observed: Observation) -> bool:
    """Return True if every result, apart from gradients, equals a tensor of the case."""
    results = [t for name, t in observed.tensors.items() if not name.startswith("gradient.")]
    inputs = case.tensors.values()
    return bool(results) and all(equals_an_input(inputs, result) for result in results)


def matches(fingerprint: Fingerprint, imprints: dict[str, Imprint]) -> bool:
    """Return True if every case has the values of the fingerprint."""
    return fingerprint.imprints.keys() == imprints.keys() and all(
        agrees(fingerprint, case, imprints) for case in imprints
    )


def agrees(fingerprint: Fingerprint, case: str, imprints: dict[str, Imprint]) -> bool:
    """Return True if a fingerprint has the values of one case."""
    return case in fingerprint.imprints and fingerprint.imprints[case].matches(imprints[case])
