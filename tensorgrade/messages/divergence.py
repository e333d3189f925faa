"""The place where a wrong answer's values diverge from those of right answers, and how they differ.

The first classes are clauses that describe a wrong value, line or result. The others are whole
sentences. All of them are about public cases.
"""

from dataclasses import dataclass
from typing import Annotated

from .message import FromLearner, Message, Secret, Shape, braced

Place = Annotated[str, FromLearner]  # what a line is called where the learner wrote it


@dataclass(frozen=True)
class IsLast(Message):
    """The function returns nothing."""

    id = "is_last"
    template = "is the last line that runs, and it returns nothing"


@dataclass(frozen=True)
class ComesTooEarly(Message):
    """A loop that computes the line's inputs ends too early, or the line is still inside it."""

    id = "comes_too_early"
    template = (
        "comes too early: its inputs are right so far, but they are not complete. Does the loop "
        "end too soon, or is this line still inside it?"
    )


@dataclass(frozen=True)
class LeftAsMade(Message):
    """A tensor, for example of zeros, that is not filled, or not everywhere."""

    id = "left_as_made"
    template = "nothing is written or added to them"


@dataclass(frozen=True)
class ShouldComeBack(Message):
    """An argument is the right result. options: the call's plain arguments, as `name=value`."""

    id = "should_come_back"
    argument: str
    options: tuple[str, ...] = ()

    def wording(self) -> str:
        given = "With {options:code}, " if self.options else ""
        return given + "{argument:code} should be returned unchanged"


@dataclass(frozen=True)
class ReturnsMore(Message):
    id = "returns_more"
    template = "it returns the right result, and more than that"


@dataclass(frozen=True)
class ReturnsOtherNumber(Message):
    id = "returns_other_number"
    template = "it does not return the expected number of tensors"


@dataclass(frozen=True)
class ReturnsEarlierValue(Message):
    """value: the name of an intermediate value of right answers, such as `masked scores`."""

    id = "returns_earlier_value"
    template = "it returns the {value}"
    value: str


@dataclass(frozen=True)
class NothingIsDone(Message):
    """The line makes a right value that nothing uses."""

    id = "nothing_is_done"
    template = "its value is right, but nothing uses it"


@dataclass(frozen=True)
class HoldsOtherValue(Message):
    """A right value under the name of another one. name: that name. value: its right name."""

    id = "holds_other_value"
    template = "{name:code} holds the {value}"
    name: Annotated[str, FromLearner]
    value: str


@dataclass(frozen=True)
class RoundsTo(Message):
    """The line makes a coarser dtype than its input has. digits: those it keeps, as a word."""

    id = "rounds_to"
    template = "it rounds float64 to {dtype}, which keeps only about {digits} digits"
    dtype: str
    digits: str


@dataclass(frozen=True)
class FirstOfItsKind(Message):
    """The line makes the first NaN, or the first infinity. kind: the word for it."""

    id = "first_of_its_kind"
    template = "the first {kind} appears here"
    kind: str


# After these, no other sentence about the line is needed.
SaysAll = (
    FirstOfItsKind
    | RoundsTo
    | ReturnsMore
    | ReturnsOtherNumber
    | ReturnsEarlierValue
    | NothingIsDone
    | HoldsOtherValue
)


@dataclass(frozen=True)
class StartsWithOtherNumber(Message):
    id = "starts_with_other_number"
    template = "right answers start with another value"


@dataclass(frozen=True)
class UnknownShape(Message):
    id = "unknown_shape"
    template = "no value in a right answer has this shape"


@dataclass(frozen=True)
class KeepsOrder(Message):
    """A reshape makes a value of the right shape, with the right numbers in wrong places."""

    id = "keeps_order"
    template = (
        "a reshape keeps the order of the numbers, and here they have to move: swap dimensions, "
        "as `transpose` does"
    )


@dataclass(frozen=True)
class NotLowEnough(Message):
    """Scores that should be hidden are set to a number that does not hide them."""

    id = "not_low_enough"
    template = "hidden entries are set to {number:.4g}, which is not low enough to hide them"
    number: Annotated[float, FromLearner]


@dataclass(frozen=True)
class HidesOthers(Message):
    id = "hides_others"
    template = "it hides other entries than it should: {where}"
    where: Annotated[Message, Secret]


@dataclass(frozen=True)
class HidesNothing(Message):
    id = "hides_nothing"
    template = "it hides nothing"


@dataclass(frozen=True)
class IsDue(Message):
    """The right value that is missing. stage: its name."""

    id = "is_due"
    template = "this is where the {stage} should be computed"
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
        if self.until:
            return f"up to {{place}} your values are right: {right}"
        return f"the first values on {{place}} are right: {right}"


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
        where = "between {first} and {last}" if self.last else "on {first}"
        then = "then they become wrong" if self.follows else "your values become wrong"
        return f"{then} {where}" + (": {what}" if self.what else "")


@dataclass(frozen=True)
class LineIs(Message):
    """A line and what is said of it: `line 9 is the last line that runs, and …`."""

    id = "line_is"
    template = "{place} {what}"
    place: Place
    what: Message


@dataclass(frozen=True)
class AtLine(Message):
    """A line and what is said of it: `line 9: its value is right, but nothing uses it`."""

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
    template = "the wrong entries of the result still have the values from {place}: {what}"
    place: Place
    what: LeftAsMade


@dataclass(frozen=True)
class MakesSomethingElse(Message):
    """Sentence: an argument should have been returned. since: the first line that may be wrong."""

    id = "makes_something_else"
    template = "{what}; something else is computed between {since} and {place}"
    what: ShouldComeBack
    place: Place
    since: Place


@dataclass(frozen=True)
class MadeAt(Message):
    """Names, and the line that assigns their values."""

    id = "made_at"
    template = "{names:code} from {place}"
    names: Annotated[tuple[str, ...], FromLearner]
    place: Place


@dataclass(frozen=True)
class ReadsFrom(Message):
    """Sentence: the values that the line reads. between: True if it is one of several lines."""

    id = "reads_from"
    reads: tuple[MadeAt, ...]
    between: bool = False

    def wording(self) -> str:
        return "used there: {reads:list}" if self.between else "that line uses {reads:list}"


@dataclass(frozen=True)
class NothingIsDoneWith(Message):
    """Sentence: another line makes a right value that nothing uses."""

    id = "nothing_is_done_with"
    template = "nothing uses the value that {place} computes"
    place: Place


@dataclass(frozen=True)
class DefaultOnLine(Message):
    """Sentence: the answer is right only in the cases that pass an argument."""

    id = "default_on_line"
    template = (
        "the result is right whenever {argument:code} is passed in: check its default on {place}"
    )
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
        has = "has shape {shape:size}" if self.shape else "is a single number"
        asked = f"{has}; {'shape ' if self.asked else ''}{{asked:size}} is expected"
        return f"{{place}} makes {{part:code}}: {what} {asked}"
