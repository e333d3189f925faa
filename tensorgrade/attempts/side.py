"""One side of a chapter, `graders/` or `exercises/`: its cases and its known mistakes.

The side of the graders also has the solution. It runs here with known mistakes in it, which shows
if several mistakes at once give a learner's results.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..exchange.observation import Outcome
from ..exchange.references import References, Seen
from ..exchange.stored import read_part
from ..judging.checks import CourseChecks
from ..judging.names import in_names_of_stub
from ..recognition.edits import Edits, with_mistakes
from ..recognition.fingerprints import Fingerprints, Known, Names, as_stored, right_imprints
from ..recognition.imprints import Imprint
from ..recognition.signatures import UNSEEN, imprint
from ..runner.source import Source
from ..sources.program import Program
from .lab import Lab

MOST_IMPRINTS = 50_000  # of combinations on cases in memory


@dataclass(frozen=True)
class Sources:
    """The solution of an exercise, and its mistakes by name.

    text: the whole lesson. edits: those that make each mistake.
    """

    text: str
    edits: dict[str, Edits]


def read_sources(path: Path) -> Sources | None:
    """Return the sources in an exercise's file for graders; None if it has none.

    The file has none in the containers of course systems. Raises CourseError if it is damaged.
    """
    stored = read_part(path, "sources")
    return stored and Sources(**stored)


@dataclass(frozen=True)
class Solution:
    """The solution of a chapter, which runs in this process with known mistakes in it.

    sources: by exercise. program: runs with another text. own: what the course adds to the engine.
    made_imprints: cached imprints of the solution with mistakes on a case, because similar answers
    try the same ones.
    """

    sources: Mapping[str, Sources]
    program: Program
    own: CourseChecks
    lab: Lab
    made_imprints: dict[tuple[Names, str], Imprint] = field(default_factory=dict)

    def made(self, exercise: str, names: Names) -> Program:
        """Return the solution with these mistakes. Raises EditError if their edits overlap."""
        own = self.sources[exercise]
        mistakes = [edits for name, edits in own.edits.items() if name in names]
        text = with_mistakes(own.text, exercise, mistakes)
        return replace(self.program, source=Source(text, self.program.source.filename))

    def made_imprint(self, names: Names, program: Program, seen: Seen) -> Imprint:
        """Return the imprint of the solution with these mistakes on a case, as it is stored."""
        case, expected, _ = seen
        key = names, case.id
        if key in self.made_imprints:
            return self.made_imprints[key]
        (made,) = [expected] if case.signature in UNSEEN else self.lab.run(program, [case])
        made = in_names_of_stub(expected, made, {})
        found = as_stored(imprint(case, expected, made, self.own.signatures))
        if made.status == Outcome.ANSWERED:  # the time left differs from one answer to the next
            if len(self.made_imprints) >= MOST_IMPRINTS:
                self.made_imprints.clear()
            self.made_imprints[key] = found
        return found


@dataclass
class Side:
    """What a folder knows of a chapter.

    own: the course's own checks and signatures. learners: the learners' side, if this is the other
    one. solution: None on the learners' side, and if the solution is missing. kept: what is known
    of each exercise, by its name, as far as it was needed.
    """

    references: References
    own: CourseChecks = field(default_factory=CourseChecks)
    fingerprints: Fingerprints = field(default_factory=Fingerprints)
    learners: "Side | None" = None
    solution: Solution | None = None
    kept: dict[str, Known] = field(default_factory=dict)

    @property
    def public(self) -> "Side | None":
        """The learners' side: this one, if its cases are public; None if it is missing."""
        return self.learners if self.references.hidden else self

    def known(self, exercise: str) -> Known:
        """Return the imprints of right answers to an exercise, and those of its mistakes."""
        if exercise not in self.kept:
            right = right_imprints(self.references.of(exercise), self.own.signatures)
            self.kept[exercise] = Known(right, self.fingerprints.of(exercise))
        return self.kept[exercise]
