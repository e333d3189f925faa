"""One side of a chapter, `graders/` or `exercises/`: its cases and its known mistakes.

The side of the graders can find several mistakes at once. Proposed are the pairs whose stored
fingerprints match on public cases, and then sets of two and three in which each mistake explains
the cases that the others leave right. A set is proved if the solution with these mistakes, which
runs in this process, gives exactly the learner's results.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import chain, combinations, permutations
from pathlib import Path

from ..exchange.observation import Outcome
from ..exchange.references import References, Seen
from ..exchange.stored import read_part
from ..judging.checks import CourseChecks
from ..judging.names import in_names_of_stub
from ..recognition.edits import EditError, Edits, make
from ..recognition.fingerprints import (
    Fingerprint,
    Fingerprints,
    Known,
    Names,
    agrees,
    as_stored,
    facts_of,
    imprints_of,
    right_imprints,
)
from ..recognition.imprints import Imprint
from ..recognition.signatures import UNSEEN, Signature, imprint
from ..sources.program import Program
from .lab import Lab

MOST_SHOWN = 8  # sets that explain the results; with so many, none is certain
MOST_TRIES = 20  # stored pairs, sets of two, and of three, that are run for one submission
MOST_IMPRINTS = 50_000  # of combinations on cases in memory
ENOUGH_WRONG = 2  # wrong cases on which only one of several mistakes has an effect


@dataclass(frozen=True)
class Sources:
    """The solution of an exercise, and its mistakes by name.

    text: the whole lesson. edits: those that make each mistake.
    """

    text: str
    edits: dict[str, Edits]

    def with_mistakes(self, exercise: str, names: Names) -> str:
        """Return the solution with these mistakes in the exercise. Raises EditError.

        Some mistakes fit together in one order only.
        """
        ordered = [name for name in self.edits if name in names]
        *others, last = permutations(self.edits[name] for name in ordered)
        for order in others:
            with suppress(EditError):
                return make(self.text, exercise, chain(*order))
        return make(self.text, exercise, chain(*last))


def read_sources(path: Path) -> Sources | None:
    """Return the sources in an exercise's file for graders; None if it has none.

    The file has none in the containers of course systems. Raises CourseError if it is damaged.
    """
    stored = read_part(path, "sources")
    return stored and Sources(**stored)


@dataclass(frozen=True)
class Pairs:
    """The search for two mistakes at once in a chapter.

    prints: the fingerprints that learners have. sources: by exercise. own: the course's own
    signatures. solution: returns a version of the solution as a program. lab: runs it in this
    process. made_imprints: cached imprints of the solution with mistakes on a case, because similar
    answers try the same ones.
    """

    prints: Fingerprints
    sources: Mapping[str, Sources]
    own: dict[str, Signature]
    solution: Callable[[str], Program]
    lab: Lab
    made_imprints: dict[tuple[Names, str], Imprint] = field(default_factory=dict)

    def stored(self, exercise: str, run: Callable[[], list[Seen]]) -> list[Names]:
        """Return the pairs of mistakes that give the same results on all public cases.

        run: returns the attempt's results on these cases, or [] if one gave no result.
        """
        pairs = [p for p in self.prints.of(exercise) if len(p.mistakes) == 2]
        seen = run() if pairs else []
        if any(one.observed.status == Outcome.UNREACHED for one in seen):
            return []
        imprints = imprints_of(seen, self.own)
        alike = (p for p in pairs if all(agrees(p, case, imprints) for case in imprints))
        return [p.mistakes for p in alike] if seen else []

    def proved(
        self,
        exercise: str,
        names: Names,
        seen: list[Seen],
        found: dict[str, Imprint],
        right: dict[str, Imprint],
    ) -> bool:
        """Return True if the solution with these mistakes gives the values of every case.

        Its facts must be among those of the results. seen, found: an answer's results and their
        imprints. right: the imprints of right ones.
        """
        try:
            program = self.made(exercise, names)
        except EditError:  # they change the same piece of the solution
            return False
        try:
            made = {}
            for one in seen:
                made[one.case.name] = self.made_imprint(names, program, one)
                if not made[one.case.name].matches(found[one.case.name]):
                    return False
            return facts_of(made, right) <= facts_of(found, right)
        finally:
            self.lab.end(program)

    def made(self, exercise: str, names: Names) -> Program:
        """Return the solution with these mistakes. Raises EditError if their edits overlap."""
        return self.solution(self.sources[exercise].with_mistakes(exercise, names))

    def made_imprint(self, names: Names, program: Program, seen: Seen) -> Imprint:
        """Return the imprint of the solution with these mistakes on a case, as it is stored."""
        case, expected, _ = seen
        key = names, case.id
        if key in self.made_imprints:
            return self.made_imprints[key]
        (made,) = [expected] if case.signature in UNSEEN else self.lab.run(program, [case])
        made = in_names_of_stub(expected, made, {})
        found = as_stored(imprint(case, expected, made, self.own))
        if made.status == Outcome.ANSWERED:  # the time left differs from one answer to the next
            if len(self.made_imprints) >= MOST_IMPRINTS:
                self.made_imprints.clear()
            self.made_imprints[key] = found
        return found


def explaining(
    size: int,
    singles: list[Fingerprint],
    imprints: dict[str, Imprint],
    right: dict[str, Imprint],
) -> list[Names]:
    """Return sets of so many mistakes in which each explains the cases that the others leave right.

    Enough of these cases must be wrong. The sets that explain most come first.
    """
    wrong = {case for case, one in imprints.items() if not right[case].matches(one)}
    by_name = {p.mistakes[0]: p for p in reversed(singles)}
    left = {n: {case for case in imprints if agrees(p, case, right)} for n, p in by_name.items()}
    same = {n: {case for case in imprints if agrees(p, case, imprints)} for n, p in by_name.items()}
    found: list[tuple[int, Names]] = []
    for names in combinations(left, size):
        own = [set.intersection(*(left[o] for o in names if o != name)) for name in names]
        if all(cases <= same[name] for cases, name in zip(own, names, strict=True)):
            found.append((-len(set.union(*own) & wrong), names))
    return [names for count, names in sorted(found) if -count >= ENOUGH_WRONG][:MOST_TRIES]


def nothing() -> None:
    """Return None, for a side without learners' cases or without a search."""


@dataclass
class Side:
    """The references of a chapter, and three things that are read only for a wrong answer.

    own: the course's own checks and signatures. read: returns the fingerprints, which take a while
    to read. learners: returns the side of the learners, if it is another one. search: returns the
    search for several mistakes at once.
    """

    references: References
    own: CourseChecks = field(default_factory=CourseChecks)
    read: Callable[[], Fingerprints] = Fingerprints
    learners: Callable[[], "Side | None"] = nothing
    search: Callable[[], Pairs | None] = nothing

    def __post_init__(self) -> None:
        self.right = cache(self.imprints_of_right)
        self.known = cache(self.known_of)

    def imprints_of_right(self, exercise: str) -> dict[str, Imprint]:
        """Return a right answer's imprints, by the case's name."""
        return right_imprints(self.references.of(exercise), self.own.signatures)

    def known_of(self, exercise: str) -> Known:
        """Return what is known of an exercise."""
        return Known(self.right(exercise), self.fingerprints.of(exercise))

    @cached_property
    def fingerprints(self) -> Fingerprints:
        """The fingerprints of known mistakes."""
        return self.read()

    @cached_property
    def public(self) -> "Side | None":
        """The learners' side: this one, if its cases are public; None if it is missing."""
        return self.learners() if self.references.hidden else self

    @cached_property
    def pairs(self) -> Pairs | None:
        """The search for several mistakes at once; None on the learners' side."""
        return self.search()
