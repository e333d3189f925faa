"""Right answers that have been seen before: most short answers of a class are the same.

The same is: equal in all of a file that an exercise can reach, comments and spaces left out. A
process says what that is that reads a file before any line of it runs. When the same is handed in
for the second time, it is judged once more, alone in a process; where it is right there, it is
right for everybody who hands it in, whatever else stands beside it. So nobody's file can make
another one's answer right or wrong.
"""

from collections.abc import Callable, Iterable
from hashlib import blake2b

from ..exchange.observation import Outcome
from .attempt import Attempt
from .verdict import RIGHT, Status, Verdict


class KnownAnswers:
    """What was right, by what it is made of.

    is_right: judges one exercise of a chapter in a text that holds nothing else.
    """

    def __init__(self, is_right: Callable[[str, str, str], bool]):
        self.is_right = is_right
        self.seen: set[bytes] = set()  # right in somebody's file, with all that is in it
        self.judged: dict[bytes, bool] = {}  # whether it is right alone

    def among(self, attempt: Attempt) -> set[str]:
        """The exercises of a loaded attempt that are known to be right."""
        return {name for name in attempt.exercises if self.knows(attempt, name)}

    def knows(self, attempt: Attempt, name: str) -> bool:
        """Whether an exercise is; on what is seen for the second time, it is judged alone."""
        text = made_of(attempt, name)
        key = key_of(attempt, name, text)
        if text and key in self.seen and key not in self.judged:
            self.judged[key] = self.is_right(attempt.chapter.name, name, text)
        return self.judged.get(key, False)

    def learn(self, attempt: Attempt, verdicts: Iterable[Verdict]) -> None:
        """Remember what is right without any reserve."""
        for one in verdicts:
            text = made_of(attempt, one.exercise) if is_without_reserve(one) else ""
            if text:
                self.seen.add(key_of(attempt, one.exercise, text))


def is_without_reserve(verdict: Verdict) -> bool:
    """Whether there is nothing to be said of an answer but that it is right."""
    return verdict.status == Status.PASSED and verdict.message == RIGHT


def key_of(attempt: Attempt, name: str, text: str) -> bytes:
    """What stands for an exercise's text."""
    told = repr((attempt.chapter.name, name, text))
    return blake2b(told.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def made_of(attempt: Attempt, name: str) -> str:
    """All of a file that an exercise's cases can reach; empty where more than that counts.

    Where a bug is to be found it counts how much was changed, too; and weights are no code.
    """
    if attempt.loaded.status != Outcome.LOADED or attempt.loaded.failure_of(name):
        return ""
    steps = [step for case, _ in attempt.references.of(name) for step in case.steps]
    if name in attempt.references.bugs or any("beside" in step for step in steps):
        return ""
    return attempt.backend.slices.text({name, *attempt.references.asked_by_name(name)})
