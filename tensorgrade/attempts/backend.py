"""Where learner code runs, as attempts see it: in this process, in another one, or nowhere."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from ..exchange.cases import Case
from ..exchange.observation import Loaded, Observation, Outcome, OwnParameters
from ..runner.source import Source
from ..sources.submission import Weights

Spans = list[tuple[list[str], int, int]]
# Of a case for which nothing is left of the seconds that a whole hand-in has.
OUT_OF_TIME = Observation(Outcome.TIMEOUT)


class Backend(Protocol):
    """One learner's chapter, wherever it runs.

    isolation: the rung that it runs on. definitions_only: whether all other code of the file was
    left out, since with it loading did not come to an end. warned: what Python and torch warned of
    in the learner's own lines, a sentence each, where that is known. weights: of the files beside
    the learner's, by their names.
    """

    @property
    def source(self) -> Source: ...

    @property
    def device(self) -> str: ...

    @property
    def isolation(self) -> str: ...

    @property
    def definitions_only(self) -> bool: ...

    @property
    def warned(self) -> Sequence[str]: ...

    @property
    def weights(self) -> Mapping[str, Weights]: ...

    def load(self) -> Loaded:
        """Load the learner's file."""

    def run(self, cases: list[Case]) -> list[Observation]:
        """An Observation for each case, in their order, whatever happens on the way."""

    def changes(self, bugs: dict[str, str]) -> dict[str, int]:
        """By name: in how many parts the learner's code differs from code that was given."""

    def names(self) -> dict[str, list[str]]:
        """By exercise, the names in its code that the text does not define itself."""

    def spans(self) -> Spans:
        """(names, first line, last line) of each top-level statement of the learner's text; none
        where it is unread.
        """

    def alone(self, name: str, given: str) -> "Backend":
        """One that runs a definition of the same file without the rest of it; closed with this one.

        given: the code that the definition is an edit of, with what it imports.
        """

    def own_parameters(self) -> OwnParameters:
        """Return what the learner's definitions take, by what the stub has there."""

    def assign(self, assigned: dict[str, dict[str, str]]) -> None:
        """From now on pass arguments as this says, by what is called; see `Submission`."""

    def close(self) -> None:
        """Give back what it holds. It may be used again: then it starts anew."""

    def fresh(self, stand_ins: dict[str, str] | None = None) -> "Backend":
        """Another one for the same file, that has seen nothing yet and has no more time left.

        stand_ins: sources of what is put in the place of the learner's own, by name.
        """


class Unread:
    """Stands where there is no file to run; the reason is told for every exercise."""

    device = "cpu"
    warned, definitions_only = (), False
    weights: Mapping[str, Weights] = {}

    def __init__(self, reason: str, isolation: str):
        self.reason, self.isolation = reason, isolation
        self.source = Source("", "")

    def load(self) -> Loaded:
        """Nothing is defined, for the one reason."""
        return Loaded(Outcome.UNREADABLE, reason=self.reason)

    def run(self, cases: list[Case]) -> list[Observation]:
        """Every case ends in the same way."""
        return [Observation(Outcome.UNREADABLE)] * len(cases)

    def changes(self, bugs: dict[str, str]) -> dict[str, int]:
        """There is none."""
        return {}

    def names(self) -> dict[str, list[str]]:
        """There are none."""
        return {}

    def spans(self) -> Spans:
        """There is no text."""
        return []

    def alone(self, name: str, given: str) -> "Unread":
        """The same: it has no definition."""
        return self

    def own_parameters(self) -> OwnParameters:
        """There is no definition."""
        return {}

    def assign(self, assigned: dict[str, dict[str, str]]) -> None:
        """Nothing is called."""

    def close(self) -> None:
        """Nothing to give back."""

    def fresh(self, stand_ins: dict[str, str] | None = None) -> "Unread":
        """The same: it sees nothing."""
        return self
