"""Messages of the verdict on an exercise, in addition to the findings of its checks."""

from dataclasses import dataclass
from typing import Annotated

from ..exchange.text import LONGEST_MESSAGE, short
from ..runner.edits import Idea
from .message import FromLearner, Message, braced, sentence

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
    """The exercise calls an earlier one of the learner's that is wrong."""

    id = "earlier_is_wrong"
    template = "it calls your own {name:code}, which is wrong: fix that first"
    name: str


@dataclass(frozen=True)
class KnownMistake(Message):
    """A known mistake. Its wording is next to its definition, in the course."""

    id = "known_mistake"
    template = "{text}"
    begins_small = False  # it may begin with the name of a parameter
    name: str
    text: str


IDEAS = {
    Idea.STATEMENT: "whether that statement belongs there",
    Idea.MISSING_STEP: "whether an operation on {code:code} is missing there",
    Idea.OPERATION: "what is calculated there",
    Idea.OPERANDS: "the order of the two sides of {code:code} there",
    Idea.ORDER_OF_ARGUMENTS: "the order of the arguments of {code:code} there",
    Idea.MISSING_ARGUMENT: "which arguments {code:code} gets there",
    Idea.CALL: "the call of {code:code} there",
    Idea.COMPARISON: "the comparison there",
    Idea.INDEX: "the index there",
    Idea.NUMBER: "the number {code:code} there",
    Idea.NAME: "whether {code:code} is the right name there",
}


@dataclass(frozen=True)
class OneEdit(Message):
    """One edit makes the answer right. code: the edited code, a part of the learner's file."""

    id = "one_edit"
    place: str
    idea: Idea
    code: str = ""

    def wording(self) -> str:
        return (
            f"Look at {{place}} and check {IDEAS[self.idea]}. One small change there makes "
            "the answer right"
        )


@dataclass(frozen=True)
class OtherVersion(Message):
    """Another definition has the exercise's name and a number."""

    id = "other_version"
    template = "The file also defines {other:code}, but only {name:code} is graded"
    other: Annotated[str, FromLearner]
    name: str


@dataclass(frozen=True)
class WhichCounted(Message):
    """Several cells of a notebook define an exercise. text: which one was graded."""

    id = "which_counted"
    template = "{text}"
    text: Annotated[str, FromLearner]


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
