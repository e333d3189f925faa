"""Find several known mistakes at once: look them up on public cases, prove them on hidden ones.

There are so many pairs of mistakes that their fingerprints are stored for public cases only. The
few pairs that fit there are made from the solution and run in this process on hidden cases. Their
results are compared with those of the learner's code.

Three mistakes at once are searched as a pair and a third one. The pair must explain every case that
the third mistake leaves right. If the third changes only facts, such as an overwritten input, the
pair must explain all numbers instead. Then all three are made from the solution and run.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import chain, combinations, islice, permutations
from pathlib import Path

from ..course import CourseError
from ..exchange.cases import Case
from ..exchange.observation import Outcome
from ..exchange.references import Seen
from ..folders import SOURCES
from ..recognition.edits import EditError, Edits, make
from ..recognition.fingerprints import (
    ENOUGH,
    Fingerprint,
    Fingerprints,
    Names,
    agrees,
    as_stored,
    imprints_of,
    read_text,
    right_imprints,
)
from ..recognition.imprints import Imprint
from ..recognition.signatures import UNSEEN, Signature, imprint
from ..sources.program import Program
from .lab import Lab

MOST_SHOWN = 8  # combinations that match on public cases and are then tried on hidden cases
MOST_TRIES = 20  # combinations of two, and of three, that are made and run for one submission
MOST_IMPRINTS = 50_000  # of combinations on cases in memory
ENOUGH_FOR_TWO = 2  # wrong cases on which only one of the two mistakes has an effect


@dataclass(frozen=True)
class Sources:
    """A chapter's solution, and its mistakes by exercise and name.

    edits: those that make each mistake. effects: the stored first effects of each mistake.
    """

    text: str
    edits: dict[str, dict[str, Edits]]
    effects: dict[str, dict[str, dict]]

    def with_mistakes(self, exercise: str, names: Names) -> str:
        """Return the solution with these mistakes in one exercise. Raises EditError.

        Some mistakes fit together in one order only.
        """
        known = self.edits[exercise]
        ordered = [name for name in known if name in names]
        *others, last = permutations(known[name] for name in ordered)
        for order in others:
            with suppress(EditError):
                return make(self.text, exercise, chain(*order))
        return make(self.text, exercise, chain(*last))


def sources_path(references: Path, chapter: str) -> Path:
    """Return the path of a chapter's `Sources` in a folder of references. Graders only."""
    return references / f"{chapter}{SOURCES}"


def read_sources(path: Path) -> Sources:
    """Return a chapter's stored `Sources`. Raises CourseError if they are missing or unusable."""
    try:
        return Sources(**json.loads(read_text(path)))
    except (TypeError, ValueError):
        raise CourseError(
            f"{path} is damaged or has an older format; run `tensorgrade build`"
        ) from None


@dataclass(frozen=True)
class Pairs:
    """The search for two mistakes at once in a chapter.

    prints: the fingerprints that learners have. own: the course's own signatures. solution: returns
    a version of the solution as a program. lab: runs it in this process. made_imprints: cached
    imprints of the solution with mistakes, because similar answers try the same ones. Each entry
    also holds its case. While that is alive, no other object has its id().
    """

    prints: Fingerprints
    sources: Sources
    own: dict[str, Signature]
    solution: Callable[[str], Program]
    lab: Lab
    made_imprints: dict[tuple[Names, int], tuple[Case, Imprint]] = field(default_factory=dict)

    def looked_up(self, exercise: str, run: Callable[[], list[Seen]]) -> Iterator[Iterator[Names]]:
        """Yield mistakes that give the same results on all public cases, in two groups.

        The first group has the stored pairs. The second has other pairs and sets of three, which
        are made from the solution and run. run: returns the attempt's results on these cases, or []
        if one gave no result.
        """
        prints = self.prints.by_exercise.get(exercise, [])
        pairs = [p for p in prints if len(p.mistakes) == 2]
        seen = run() if pairs else []
        if not seen or any(one.observed.status == Outcome.UNREACHED for one in seen):
            return
        imprints, right = imprints_of(seen, self.own), right_imprints(seen, self.own)
        yield (p.mistakes for p in pairs if all(agrees(p, case, imprints) for case in imprints))
        known = self.sources.edits[exercise]
        singles = [p for p in prints if len(p.mistakes) == 1 and p.mistakes[0] in known]
        twos = two_that_fit(singles, imprints, right)
        threes = chain(
            with_other_facts(pairs, singles, imprints, right),
            with_a_third(pairs, singles, imprints, right),
        )
        tries = chain(twos[:MOST_TRIES], islice(threes, MOST_TRIES))
        yield (names for names in tries if self.proved(exercise, names, seen))

    def proved(self, exercise: str, names: Names, seen: list[Seen]) -> bool:
        """Return True if the solution with these mistakes gives the results of every case."""
        try:
            program = self.made(exercise, names)
        except EditError:  # they change the same piece of the solution
            return False
        try:
            return all(
                self.made_imprint(names, program, one).matches(
                    imprint(one.case, one.expected, one.observed, self.own)
                )
                for one in seen
            )
        finally:
            self.lab.end(program)

    def made(self, exercise: str, names: Names) -> Program:
        """Return the solution with these mistakes. Raises EditError if their edits overlap."""
        return self.solution(self.sources.with_mistakes(exercise, names))

    def made_imprint(self, names: Names, program: Program, seen: Seen) -> Imprint:
        """Return the imprint of the solution with these mistakes on a case, as it is stored."""
        case, expected, _ = seen
        key = names, id(case)
        if key in self.made_imprints:
            return self.made_imprints[key][1]
        (made,) = [expected] if case.signature in UNSEEN else self.lab.run(program, [case])
        found = as_stored(imprint(case, expected, made, self.own))
        if made.status == Outcome.ANSWERED:  # the time left differs from one answer to the next
            if len(self.made_imprints) >= MOST_IMPRINTS:
                self.made_imprints.clear()
            self.made_imprints[key] = case, found
        return found


def two_that_fit(
    singles: list[Fingerprint], imprints: dict[str, Imprint], right: dict[str, Imprint]
) -> list[Names]:
    """Return pairs in which each explains all cases that the other leaves right, the best first.

    Stored pairs do not include all: some look like a single mistake on public cases.
    """
    wrong = {case for case, one in imprints.items() if not right[case].matches(one)}
    by_name = {p.mistakes: p for p in singles}
    left = {n: {case for case in imprints if agrees(p, case, right)} for n, p in by_name.items()}
    same = {n: {case for case in imprints if agrees(p, case, imprints)} for n, p in by_name.items()}
    found = {
        one + other: len((left[one] | left[other]) & wrong)
        for one, other in combinations(left, 2)
        if left[one] <= same[other] and left[other] <= same[one]
    }
    enough = [names for names, count in found.items() if count >= ENOUGH_FOR_TWO]
    return sorted(enough, key=lambda names: -found[names])


def with_a_third(
    pairs: list[Fingerprint],
    singles: list[Fingerprint],
    imprints: dict[str, Imprint],
    right: dict[str, Imprint],
) -> Iterator[Names]:
    """Yield pairs and a third mistake, if the pair explains all cases that the third leaves right.

    Enough of these cases must be wrong. Combinations that explain more of them come first.
    """
    wrong = {case for case, one in imprints.items() if not right[case].matches(one)}
    left = [({case for case in imprints if agrees(p, case, right)}, p) for p in singles]
    enough = [one for one in left if len(one[0] & wrong) >= ENOUGH]
    known: set[frozenset[str]] = set()
    for cases, third in sorted(enough, key=lambda one: -len(one[0] & wrong)):
        for pair in pairs:
            names = pair.mistakes + third.mistakes
            if third.mistakes[0] in pair.mistakes or frozenset(names) in known:
                continue
            if all(agrees(pair, case, imprints) for case in cases):
                known.add(frozenset(names))
                yield names


def with_other_facts(
    pairs: list[Fingerprint],
    singles: list[Fingerprint],
    imprints: dict[str, Imprint],
    right: dict[str, Imprint],
) -> Iterator[Names]:
    """Yield pairs that explain all numbers, with a third mistake that changes only facts.

    The facts of the third, such as overwritten inputs, may be in every case.
    """
    thirds = [p for p in singles if have_numbers_of(p, right)]
    for pair in pairs if thirds else []:
        if have_numbers_of(pair, imprints):
            yield from (
                pair.mistakes + p.mistakes for p in thirds if p.mistakes[0] not in pair.mistakes
            )


def have_numbers_of(fingerprint: Fingerprint, imprints: dict[str, Imprint]) -> bool:
    """Return True if a fingerprint has the same numbers as these imprints; ignore the words."""
    return fingerprint.imprints.keys() == imprints.keys() and all(
        one.matches(replace(imprints[case], words=one.words))
        for case, one in fingerprint.imprints.items()
    )
