"""Right answers that have been seen before: most short answers of a class are the same.

What is kept is of files no part of which can act on another (runner/plain_code.py), as a process
says that reads them before any line has run. There a definition does what it does in any such
file, so whoever hands it in has it right, whatever else stands beside it.
"""

from collections import defaultdict
from collections.abc import Iterable

from ..exchange.observation import Outcome
from .attempt import Attempt
from .verdict import RIGHT, Status, Verdict


class KnownAnswers:
    """By exercise: what right answers were made of. Only of one chapter's tests as they are now."""

    def __init__(self) -> None:
        self.right: dict[tuple[str, str], set[str]] = defaultdict(set)

    def among(self, attempt: Attempt) -> set[str]:
        """The exercises of a loaded attempt that are known to be right."""
        chapter = attempt.chapter.name
        return {
            name
            for name in attempt.exercises
            if (made := made_of(attempt, name)) and made in self.right[chapter, name]
        }

    def learn(self, attempt: Attempt, verdicts: Iterable[Verdict]) -> None:
        """Remember what is right without any reserve."""
        for one in verdicts:
            without_reserve = one.status == Status.PASSED and one.message == RIGHT
            if without_reserve and (made := made_of(attempt, one.exercise)):
                self.right[one.chapter, one.exercise].add(made)


def made_of(attempt: Attempt, name: str) -> str:
    """All that an exercise's cases can reach of the learner's; empty where that is not known.

    Where a bug is to be found it counts how much was changed, too; and weights are no code.
    """
    steps = [step for case, _ in attempt.references.of(name) for step in case.steps]
    if attempt.loaded.status != Outcome.LOADED or name in attempt.references.bugs:
        return ""
    names = sorted({name, *attempt.references.asked_by_name(name)})
    told = attempt.backend.contents
    lost = any(one not in told or attempt.loaded.failure_of(one) for one in names)
    if lost or any("beside" in step for step in steps):
        return ""
    return " ".join(told[one] for one in names)
