"""The place where a wrong answer's values diverge from those of right answers, and how they differ.

The first classes are clauses that describe a wrong value, line or result. The others are whole
sentences. All of them are about public cases.
"""

import re
from dataclasses import dataclass
from typing import Annotated

from .message import FromLearner, Message, Secret, Shape, braced

Place = Annotated[str, FromLearner]  # what a line is called where the learner wrote it


@dataclass(frozen=True)
class IsLast(Message):
    """The function returns nothing."""

    id = "is_last"
    template = "is the last one that runs"


@dataclass(frozen=True)
class ComesTooEarly(Message):
    """A loop that computes the line's inputs ends too early, or the line is still inside it."""

    id = "comes_too_early"
    template = (
        "comes too early: what goes into it is right so far, but right answers go on with it first"
    )


@dataclass(frozen=True)
class LeftAsMade(Message):
    """A tensor, for example of zeros, that is not filled, or not everywhere."""

    id = "left_as_made"
    template = "something is not written or added to it"


@dataclass(frozen=True)
class ShouldComeBack(Message):
    """An argument is the right result. options: the call's plain arguments, as `name=value`."""

    id = "should_come_back"
    argument: str
    options: tuple[str, ...] = ()

    def wording(self) -> str:
        given = "With {options:code} " if self.options else ""
        return given + "{argument:code} is to come back as it was passed in"


@dataclass(frozen=True)
class ReturnsMore(Message):
    id = "returns_more"
    template = "what comes back holds the right result, and more than that"


@dataclass(frozen=True)
class ReturnsOtherNumber(Message):
    id = "returns_other_number"
    template = "what comes back has another number of parts than what is asked for"


@dataclass(frozen=True)
class ReturnsEarlierValue(Message):
    """value: the name of an intermediate value of right answers, such as `masked scores`."""

    id = "returns_earlier_value"
    value: str

    def wording(self) -> str:
        noun = re.split(r" (?:of|by|before) ", self.value)[0]
        return f"what comes back {'are' if noun.endswith('s') else 'is'} the {{value}}"


@dataclass(frozen=True)
class NothingIsDone(Message):
    """The line makes a right value that nothing uses."""

    id = "nothing_is_done"
    template = "nothing is done with what this line makes"


@dataclass(frozen=True)
class HoldsOtherValue(Message):
    """A right value under the name of another one. name: that name. value: its right name."""

    id = "holds_other_value"
    template = "{name:code} holds the {value}"
    name: Annotated[str, FromLearner]
    value: str


# These say all that is to be said about their line.
SaysAll = ReturnsMore | ReturnsOtherNumber | ReturnsEarlierValue | NothingIsDone | HoldsOtherValue


@dataclass(frozen=True)
class StartsWithOtherNumber(Message):
    id = "starts_with_other_number"
    template = "it starts with another number than right answers do"


@dataclass(frozen=True)
class UnknownShape(Message):
    id = "unknown_shape"
    template = "right answers have nothing of the shape that it makes"


@dataclass(frozen=True)
class NotLowEnough(Message):
    """Scores that should be hidden are set to a number that does not hide them."""

    id = "not_low_enough"
    template = "what it hides is set to {number:.4g}, which is not low enough"
    number: Annotated[float, FromLearner]


@dataclass(frozen=True)
class HidesOthers(Message):
    id = "hides_others"
    template = "it hides others: {where}"
    where: Annotated[Message, Secret]


@dataclass(frozen=True)
class HidesNothing(Message):
    id = "hides_nothing"
    template = "nothing in it is low enough to be hidden"


@dataclass(frozen=True)
class IsDue(Message):
    """The right value that is missing. stage: its name."""

    id = "is_due"
    template = "the {stage} should come about here"
    stage: str


@dataclass(frozen=True)
class RightUpTo(Message):
    """Sentence: the right values before the first wrong one.

    reached: their names. until: True if the line of the last one is before the wrong value's line.
    """

    id = "right_up_to"
    place: Place
    reached: tuple[str, ...]
    until: bool

    def wording(self) -> str:
        right = braced(", ".join(self.reached))
        where = "up to {place}" if self.until else "on the way to {place}"
        return f"{where} your values are those of a right answer: {right}"


@dataclass(frozen=True)
class ValuesDiverge(Message):
    """Sentence: the lines where the mistake may be.

    last: empty if it is one line. follows: True if a sentence on the right values comes before this
    one.
    """

    id = "values_diverge"
    first: Place
    last: Place = ""
    follows: bool = False
    what: Message | None = None

    def wording(self) -> str:
        part = "they part" if self.follows else "your values leave those of a right answer"
        where = (
            f"{part} between {{first}} and {{last}}" if self.last else f"{{first}} is where {part}"
        )
        return where + (": {what}" if self.what else "")


@dataclass(frozen=True)
class LineIs(Message):
    """Sentence: `line 9 is the last one that runs`."""

    id = "line_is"
    template = "{place} {what}"
    place: Place
    what: Message


@dataclass(frozen=True)
class AtLine(Message):
    """Sentence: `line 9: nothing is done with what this line makes`."""

    id = "at_line"
    template = "{place}: {what}"
    place: Place
    what: Message


@dataclass(frozen=True)
class LookFrom(Message):
    """Sentence: the line where a loop starts that ends too early."""

    id = "look_from"
    template = "look at the lines from {place} on"
    place: Place


@dataclass(frozen=True)
class StillAsMade(Message):
    """Sentence: the result holds entries that were never written. place: the line that made it."""

    id = "still_as_made"
    template = "where the result is wrong, it is still as {place} makes it: {what}"
    place: Place
    what: LeftAsMade


@dataclass(frozen=True)
class MakesSomethingElse(Message):
    """Sentence: an argument should have been returned. since: the first line that may be wrong."""

    id = "makes_something_else"
    template = "{what}; {place}, or what leads there from {since} on, makes something else"
    what: ShouldComeBack
    place: Place
    since: Place


@dataclass(frozen=True)
class MadeAt(Message):
    """A name, and the line that assigns its value."""

    id = "made_at"
    template = "{name:code} from {place}"
    name: Annotated[str, FromLearner]
    place: Place


@dataclass(frozen=True)
class ReadsFrom(Message):
    """Sentence: the values that the line reads. between: True if it is one of several lines."""

    id = "reads_from"
    reads: tuple[MadeAt, ...]
    between: bool = False

    def wording(self) -> str:
        return "used there: {reads:list}" if self.between else "it takes {reads:list}"


@dataclass(frozen=True)
class NothingIsDoneWith(Message):
    """Sentence: another line makes a right value that nothing uses."""

    id = "nothing_is_done_with"
    template = "nothing is done with what {place} makes"
    place: Place


@dataclass(frozen=True)
class DefaultOnLine(Message):
    """Sentence: the answer is right only in the cases that pass an argument."""

    id = "default_on_line"
    template = "{place} says what {argument:code} is where it is not passed in"
    place: Place
    argument: Annotated[str, FromLearner]


@dataclass(frozen=True)
class MakesPart(Message):
    """Sentence: the line that makes a part of a module, which lacks weights or has other ones."""

    id = "makes_part"
    template = "{place} makes {part:code}"
    place: Place
    part: Annotated[str, FromLearner]


@dataclass(frozen=True)
class MakesPartOfShape(Message):
    """Sentence: the line that makes a part of a module with a weight of a wrong shape.

    weight: its name; empty if it is the part itself. deep: True if it belongs to a class that the
    learner may not have written.
    """

    id = "makes_part_of_shape"
    place: Place
    part: Annotated[str, FromLearner]
    shape: Annotated[Shape, FromLearner]
    asked: Annotated[Shape, Secret]
    weight: Annotated[str, FromLearner] = ""
    deep: bool = False

    def wording(self) -> str:
        what = "a weight in it" if self.deep else "{weight:code}" if self.weight else "it"
        asked = "has shape {shape:size} where {asked:size} is asked for"
        return f"{{place}} makes {{part:code}}: {what} {asked}"
