"""Several known mistakes at once: looked up on public cases, proved on hidden ones.

There are so many pairs of mistakes that their fingerprints are stored on public cases alone. On
hidden cases, one pair is made from the solution and run in this process, beside what the learner's
code gave there.

A third mistake hides two others that are known. So it is removed first: the two have to explain
every case on which the third changes nothing. All three are then made from the solution and run.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from ..exchange.observation import Outcome
from ..exchange.references import Seen
from ..recognition.fingerprints import (
    ENOUGH,
    Fingerprint,
    Fingerprints,
    agrees,
    as_stored,
    imprints_of,
    read_text,
    right_imprints,
)
from ..recognition.imprints import Imprint
from ..recognition.mistakes import EditError, Edits, Mistake, make
from ..recognition.signatures import UNSEEN, Signature, imprint
from ..sources.submission import Submission
from .in_process import InProcess

SOURCES = ".sources.json"  # how the name of a chapter's file of `Sources` ends
MOST_THREES = 20  # that are made and run for one submission

Names = tuple[str, ...]


@dataclass(frozen=True)
class Sources:
    """A chapter's solution, and by exercise and name the edits that make its mistakes."""

    text: str
    edits: dict[str, dict[str, Edits]]

    def with_mistakes(self, exercise: str, names: Names) -> str:
        """Return the solution with these mistakes in one exercise."""
        known = self.edits[exercise]
        made = [Mistake(name, "", {exercise: known[name]}) for name in names]
        return make(self.text, exercise, made)


def sources_path(references: Path, chapter: str) -> Path:
    """Return the path of a chapter's `Sources` in a folder of references. Graders only."""
    return references / f"{chapter}{SOURCES}"


def read_sources(path: Path) -> Sources:
    """Read what the build stored. Raises CourseError if it is missing."""
    stored = json.loads(read_text(path))
    return Sources(stored["text"], stored["edits"])


@dataclass(frozen=True)
class Pairs:
    """What finds two mistakes at once in a chapter.

    prints: the fingerprints that learners have. own: the course's own signatures. submission: the
    solution, as it would be submitted.
    """

    prints: Fingerprints
    sources: Sources
    own: dict[str, Signature]
    submission: Callable[[str], Submission]

    def looked_up(self, exercise: str, run: Callable[[], list[Seen]]) -> Names:
        """Return the mistakes that give the same on all public cases: two, or else three.

        () if none do. run: gives what the attempt gives on them; [] if one gave no answer.
        """
        prints = self.prints.by_exercise.get(exercise, [])
        pairs = [p for p in prints if len(p.mistakes) == 2]
        seen = run() if pairs else []
        if not seen or any(one.observed.status == Outcome.UNREACHED for one in seen):
            return ()
        imprints, right = imprints_of(seen, self.own), right_imprints(seen, self.own)
        for pair in pairs:
            if all(agrees(pair, case, imprints) for case in imprints):
                return pair.mistakes
        known = self.sources.edits[exercise]
        third = [p for p in prints if len(p.mistakes) == 1 and p.mistakes[0] in known]
        threes = islice(with_a_third(pairs, third, imprints, right), MOST_THREES)
        return next((names for names in threes if self.proved(exercise, names, seen)), ())

    def proved(self, exercise: str, names: Names, seen: list[Seen]) -> bool:
        """Return True if the solution with these mistakes gives what was seen on every case."""
        try:
            backend = self.made(exercise, names)
        except EditError:  # they change the same piece of the solution
            return False
        return all(self.is_same(backend, one) for one in seen)

    def made(self, exercise: str, names: Names) -> InProcess:
        """Return the solution with these mistakes. Raises EditError if their edits overlap."""
        return InProcess(self.submission(self.sources.with_mistakes(exercise, names)))

    def is_same(self, backend: InProcess, seen: Seen) -> bool:
        """Return True if a case gives the same there."""
        case, expected, observed = seen
        (made,) = [expected] if case.signature in UNSEEN else backend.run([case])
        stored = as_stored(imprint(case, expected, made, self.own))
        return stored.matches(imprint(case, expected, observed, self.own))


def with_a_third(
    pairs: list[Fingerprint],
    singles: list[Fingerprint],
    imprints: dict[str, Imprint],
    right: dict[str, Imprint],
) -> Iterator[Names]:
    """Yield pairs with a third mistake: those that explain all cases which the third leaves alone.

    Enough of these have to be wrong, and the third has to change a case that the pair does not
    explain.
    """
    explained = [{case for case in imprints if agrees(p, case, imprints)} for p in pairs]
    wrong = {case for case, one in imprints.items() if not right[case].matches(one)}
    for third in singles:
        left = {case for case in imprints if agrees(third, case, right)}
        if len(left & wrong) < ENOUGH:
            continue
        for pair, cases in zip(pairs, explained, strict=True):
            if left <= cases and third.mistakes[0] not in pair.mistakes:
                yield *pair.mistakes, *third.mistakes
