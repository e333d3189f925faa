"""The parts of an attempt and of its exercises that judging reads. They depend on no backend."""

from typing import Protocol

from ..course import Chapter, Tolerance
from ..exchange.observation import Loaded
from ..exchange.references import References, Seen
from .submitted_text import SubmittedText


class JudgedAttempt(Protocol):
    """A learner's chapter that has run (attempts/attempt.py). tolerances: by dtype."""

    chapter: Chapter
    references: References

    @property
    def loaded(self) -> Loaded: ...

    @property
    def tolerances(self) -> dict[str, Tolerance]: ...

    @property
    def submitted(self) -> SubmittedText:
        """The learner's text."""

    @property
    def names(self) -> dict[str, list[str]]:
        """By exercise, the names in the learner's text that it does not define itself."""

    def place(self, line: int) -> str:
        """Return what the learner calls a line: `line 9`, or `cell 3, line 2`."""

    def is_in_cell(self, line: int) -> bool:
        """Return True if a line is in a cell of a notebook."""


class JudgedExercise(Protocol):
    """One exercise of an attempt. seen: each case with its expected and observed results."""

    @property
    def attempt(self) -> JudgedAttempt: ...

    @property
    def name(self) -> str: ...

    @property
    def seen(self) -> list[Seen]: ...
