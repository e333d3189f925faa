"""One side of a chapter, `graders/` or `exercises/`: its cases and its known mistakes."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, cached_property

from ..exchange.references import References
from ..judging.course_checks import CourseChecks
from ..recognition.fingerprints import Fingerprints, Known, right_imprints
from ..recognition.imprints import Imprint
from .pairs import Pairs


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
        prints = self.fingerprints.by_exercise.get(exercise, [])
        return Known(self.right(exercise), prints)

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
