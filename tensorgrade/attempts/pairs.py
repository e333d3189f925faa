"""Two known mistakes at once: looked up on public cases, proved on hidden ones.

There are so many pairs of mistakes that their fingerprints are stored on public cases alone. On
hidden cases, one pair is made from the solution and run in this process, beside what the learner's
code gave there.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ..exchange.observation import Outcome
from ..exchange.references import Seen
from ..recognition.fingerprints import Fingerprints, agrees, as_stored, imprints_of, read_text
from ..recognition.mistakes import Edits, Mistake, make
from ..recognition.signatures import UNSEEN, Signature, imprint
from ..sources.submission import Submission
from .in_process import InProcess

SOURCES = ".sources.json"  # how the name of a chapter's file of `Sources` ends

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
        """Return the pair that gives the same on all public cases; () if none does.

        run: gives what the attempt gives on them; [] if one gave no answer.
        """
        pairs = [p for p in self.prints.by_exercise.get(exercise, []) if len(p.mistakes) == 2]
        seen = run() if pairs else []
        if not seen or any(one.observed.status == Outcome.UNREACHED for one in seen):
            return ()
        imprints = imprints_of(seen, self.own)
        found = (p.mistakes for p in pairs if all(agrees(p, case, imprints) for case in imprints))
        return next(found, ())

    def proved(self, exercise: str, names: Names, seen: list[Seen]) -> bool:
        """Return True if the solution with these mistakes gives what was seen on every case."""
        text = self.sources.with_mistakes(exercise, names)
        backend = InProcess(self.submission(text))
        return all(self.is_same(backend, one) for one in seen)

    def is_same(self, backend: InProcess, seen: Seen) -> bool:
        """Return True if a case gives the same there."""
        case, expected, observed = seen
        (made,) = [expected] if case.signature in UNSEEN else backend.run([case])
        stored = as_stored(imprint(case, expected, made, self.own))
        return stored.matches(imprint(case, expected, observed, self.own))
