"""The places where learner code can run: in this process, in another one, or nowhere."""

from collections.abc import Sequence
from typing import Protocol

from ..exchange.cases import Case
from ..exchange.observation import Loaded, Observation, Outcome, OwnParameters
from ..exchange.text_facts import TextFacts
from ..runner.source import Source

# The observation of a case if the whole submission has no seconds left.
OUT_OF_TIME = Observation(Outcome.TIMEOUT)


class Backend(Protocol):
    """The place where one learner's file runs: this process, another one, or nowhere.

    isolation: its kind of isolation. definitions_only: True if only the file's definitions were
    loaded, because loading all of it timed out or ended the process. is_lost: True if a process
    ended or stopped answering, which may be a fault of this machine. warned: warnings of Python and
    torch about the learner's own lines, one sentence each; empty if they are not recorded.
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
    def is_lost(self) -> bool: ...

    @property
    def warned(self) -> Sequence[str]: ...

    def load(self) -> Loaded:
        """Load the learner's file."""

    def run(self, cases: list[Case]) -> list[Observation]:
        """Return an Observation for each case, in order, even if cases fail."""

    def facts(self, bugs: dict[str, str]) -> TextFacts:
        """Return the facts about the learner's text, found before any of it runs.

        bugs: by name, the given code of the find-the-bug exercises.
        """

    def alone(self, name: str, given: str) -> "Backend":
        """Return a backend for one definition, without the rest of the file. `close` closes it too.

        given: the original code that the learner edited, with its imports.
        """

    def own_parameters(self) -> OwnParameters:
        """Return the parameters of the learner's definitions, by the definitions' stub names."""

    def assign(self, assigned: dict[str, dict[str, str]]) -> None:
        """Pass arguments to these parameters from now on; see `Submission.assigned`."""

    def close(self) -> None:
        """Release all resources. The backend may be used again and then restarts."""

    def fresh(self, stand_ins: dict[str, str] | None = None) -> "Backend":
        """Return another backend for the same file that has run no case and shares the time limit.

        stand_ins: sources that replace the learner's own definitions, by name.
        """


class Unread:
    """The backend of a file that cannot be run; every exercise reports the reason."""

    device = "cpu"
    warned, definitions_only, is_lost = (), False, False

    def __init__(self, reason: str, isolation: str):
        self.reason, self.isolation = reason, isolation
        self.source = Source("", "")

    def load(self) -> Loaded:
        """Return that nothing is defined, with the reason."""
        return Loaded(Outcome.UNREADABLE, reason=self.reason)

    def run(self, cases: list[Case]) -> list[Observation]:
        """Return the same observation for every case."""
        return [Observation(Outcome.UNREADABLE)] * len(cases)

    def facts(self, bugs: dict[str, str]) -> TextFacts:
        """Return no facts, because there is no text."""
        return TextFacts()

    def alone(self, name: str, given: str) -> "Unread":
        """Return itself, because it has no definition."""
        return self

    def own_parameters(self) -> OwnParameters:
        """Return no parameters, because there is no definition."""
        return {}

    def assign(self, assigned: dict[str, dict[str, str]]) -> None:
        """Do nothing, because nothing is called."""

    def close(self) -> None:
        """Do nothing, because there is nothing to release."""

    def fresh(self, stand_ins: dict[str, str] | None = None) -> "Unread":
        """Return itself, because it sees no case."""
        return self
