"""One side of a chapter, `graders/` or `exercises/`: its cases and its known mistakes."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

from ..exchange.references import References
from ..judging.course_checks import CourseChecks
from ..recognition.fingerprints import Fingerprints
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
