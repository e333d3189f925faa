"""Messages of the verdict on an exercise, in addition to the findings of its checks."""

from dataclasses import dataclass

from ..exchange.text import LONGEST_MESSAGE, short
from .message import Message, braced, sentence

SHORTEST = 90  # characters that a sentence is never cut below, however long the next one is


@dataclass(frozen=True)
class Right(Message):
    id = "right"
    template = "Right"


@dataclass(frozen=True)
class NotChecked(Message):
    id = "not_checked"
    template = "It could not be checked"


@dataclass(frozen=True)
class CheckFailed(Message):
    """The check itself failed. In a learner's own run, the error is printed above."""

    id = "check_failed"
    template = "the check itself failed; see its error above"


@dataclass(frozen=True)
class WriteThatFirst(Message):
    """A hint that follows the reason why an exercise cannot be written yet."""

    id = "write_that_first"
    template = "write that one first"


@dataclass(frozen=True)
class NotExplained(Message):
    """Explaining failed, which is a fault of the graders. The points are valid."""

    id = "not_told"
    template = (
        "This could not be explained, which is not your fault. Your instructor can look at it"
    )


@dataclass(frozen=True)
class OnHiddenInputs(Message):
    """A check fails with hidden inputs only. title: what it asks for."""

    id = "on_hidden_inputs"
    title: str

    def wording(self) -> str:
        title = braced(self.title.rstrip("."))
        return f"the public checks pass, but with hidden inputs a check fails: “{title}”"


@dataclass(frozen=True)
class OverTime(Message):
    """The time of the whole chapter was used up."""

    id = "over_time"
    template = (
        "The time limit of {seconds:g} seconds for the whole chapter was reached before this "
        "exercise was finished. Which call takes so long?"
    )
    seconds: float


@dataclass(frozen=True)
class EarlierIsWrong(Message):
    """The exercise calls an earlier one of the learner's that is wrong, or not written yet."""

    id = "earlier_is_wrong"
    name: str
    written: bool = True

    def wording(self) -> str:
        what = "wrong: fix that first" if self.written else "not written yet: write that first"
        return f"it calls your own {{name:code}}, which is {what}"


@dataclass(frozen=True)
class KnownMistake(Message):
    """A known mistake. Its wording is next to its definition, in the course."""

    id = "known_mistake"
    template = "{text}"
    begins_small = False  # it may begin with the name of a parameter
    name: str
    text: str


@dataclass(frozen=True)
class OtherVersion(Message):
    """Another definition has the exercise's name and a number."""

    id = "other_version"
    template = "The file also defines {other:code}, but only {name:code} is graded"
    other: str
    name: str


@dataclass(frozen=True)
class WhichCounted(Message):
    """Several cells of a notebook define an exercise. text: which one was graded."""

    id = "which_counted"
    template = "{text}"
    text: str


@dataclass(frozen=True)
class SeenThenWhere(Message):
    """The observed problem, cut if necessary, and a place to look at."""

    id = "seen_then_where"
    seen: Message
    where: Message

    def wording(self) -> str:
        where = sentence(self.where)
        room = max(SHORTEST, LONGEST_MESSAGE - len(where) - 1)
        return braced(f"{short(sentence(self.seen), room)} {where}")

    def joins(self) -> tuple[Message | None, ...]:
        return self.seen, self.where
