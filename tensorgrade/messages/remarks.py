"""Facts about a wrong value if no known mistake matches, and about the cases with right answers."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from .message import FromLearner, Message, Secret, Shape
from .places import DIMENSIONS, plural_of, python_index

SAME_SUM = 1e-6  # two sums this close are equal up to rounding


class Compared(StrEnum):
    """The kind of a compared value: the result of a call, or an intermediate value."""

    RESULT = "the expected result"
    ON_THE_WAY = "the right value"


@dataclass(frozen=True)
class EverythingNaN(Message):
    id = "everything_nan"
    template = (
        "every entry is NaN, which comes from 0 / 0, infinity - infinity, infinity / infinity, 0 * "
        "infinity or the root of a negative number, and spreads through sums and products"
    )


@dataclass(frozen=True)
class NaNInRows(Message):
    """Rows of NaN. only_first: True if only the first row of every matrix is NaN."""

    id = "nan_in_rows"
    only_first: Annotated[bool, FromLearner]

    def wording(self) -> str:
        which = "the first row" if self.only_first else "whole rows"
        return (
            f"NaN fills {which}, as after a softmax over nothing but -inf, or after 0 / 0; "
            "infinity - infinity and the root of a negative number give NaN too"
        )


@dataclass(frozen=True)
class NaNAtSinglePlaces(Message):
    id = "nan_at_single_places"
    template = (
        "single entries are NaN, as after 0 * infinity or 0 / 0; infinity - infinity and the root "
        "of a negative number give NaN too"
    )


@dataclass(frozen=True)
class HoldsInfinities(Message):
    id = "holds_infinities"
    template = (
        "some entries are infinite: an exponential overflowed, or a division or a logarithm met 0"
    )


@dataclass(frozen=True)
class InfinitiesForBools(Message):
    id = "infinities_for_bools"
    template = "some entries are infinite, and True or False is expected"


@dataclass(frozen=True)
class CoarseDtype(Message):
    """A dtype that is too coarse. digits: the number of digits that it keeps, as a word."""

    id = "coarse_dtype"
    template = "its dtype is {dtype}, which keeps only about {digits} digits"
    dtype: Annotated[str, FromLearner]
    digits: Annotated[str, FromLearner]


@dataclass(frozen=True)
class NearlyRight(Message):
    """A result that differs only in late digits."""

    id = "nearly_right"
    template = (
        "it agrees with the expected result to about {digits} digits. Is something rounded on the "
        "way, or is a small constant different?"
    )
    digits: Annotated[int, FromLearner]


@dataclass(frozen=True)
class IntegerDtype(Message):
    id = "integer_dtype"
    template = "its dtype is {dtype}, which keeps only integers"
    dtype: Annotated[str, FromLearner]


@dataclass(frozen=True)
class NegativeEntries(Message):
    """Rows sum to 1 as they should, but not all of their entries are weights."""

    id = "negative_entries"
    template = "it has negative entries"


@dataclass(frozen=True)
class ColumnsSumToOne(Message):
    id = "columns_sum_to_one"
    template = "its columns sum to 1, and its rows do not"


@dataclass(frozen=True)
class EverythingSumsToOne(Message):
    id = "everything_sums_to_one"
    template = "all its entries together sum to 1; each row should sum to 1"


@dataclass(frozen=True)
class Sum(Message):
    """A sum, which may differ from 1 by less than four digits show."""

    id = "sum"
    number: Annotated[float, FromLearner]

    def wording(self) -> str:
        close = f"{self.number:.4g}" == "1" and abs(self.number - 1) > SAME_SUM
        return "nearly 1" if close else "{number:.4g}"


@dataclass(frozen=True)
class SumOfEntries(Message):
    id = "sum_of_entries"
    template = "its entries sum to {total} instead of 1"
    total: Sum


@dataclass(frozen=True)
class SumOfEveryRow(Message):
    id = "sum_of_every_row"
    template = "every row sums to {total} instead of 1"
    total: Sum


@dataclass(frozen=True)
class SumsOfRows(Message):
    id = "sums_of_rows"
    template = "its rows should sum to 1; their sums are between {least} and {most}"
    least: Sum
    most: Sum


@dataclass(frozen=True)
class IsArgument(Message):
    id = "is_argument"
    template = "it is {name:code}, unchanged"
    name: Annotated[str, FromLearner]


@dataclass(frozen=True)
class TimesFactor(Message):
    """A value is the right one times a number.

    factor: None if it is not worth reporting. origin: a clause on the possible origin of the
    factor.
    """

    id = "times_factor"
    compared: Compared
    factor: Annotated[float | None, Secret]
    origin: Annotated[Message | None, Secret] = None

    def wording(self) -> str:
        if self.factor is None:
            return "it is {compared} times a constant"
        return "it is {compared} times {factor:.4g}{origin}"


@dataclass(frozen=True)
class SoftmaxInputTimesFactor(Message):
    """Rows of weights are too even or too uneven. The fields are those of `TimesFactor`."""

    id = "softmax_input_times_factor"
    factor: Annotated[float | None, Secret]
    origin: Annotated[Message | None, Secret] = None

    def wording(self) -> str:
        so = "it looks as if the input of the softmax were "
        if self.factor is None:
            return so + "too large or too small"
        return so + "{factor:.4g} times as large as it should be{origin}"


@dataclass(frozen=True)
class SignTurned(Message):
    """The factor is -1."""

    id = "sign_turned"
    template = ": the sign is the wrong way round"


@dataclass(frozen=True)
class LooksLike(Message):
    """The factor is a number of the case, or computed from one.

    form: the expression with that number, such as `1/sqrt(4)`; empty for the number itself.
    """

    id = "looks_like"
    number: float
    meaning: Message
    form: str = ""

    def wording(self) -> str:
        return ", which is {form}; {number:g} is {meaning}" if self.form else ", which is {meaning}"


@dataclass(frozen=True)
class Argument(Message):
    id = "argument"
    template = "{name:code}"
    name: str


@dataclass(frozen=True)
class Slices(Message):
    """The slices of a tensor along one of its dimensions: rows, columns."""

    id = "slices"
    dim: int
    rank: int

    def wording(self) -> str:
        if self.rank in DIMENSIONS:
            return plural_of(DIMENSIONS[self.rank][self.dim])
        return "slices along dimension {dim}"


@dataclass(frozen=True)
class NumberOfSlices(Message):
    id = "number_of_slices"
    template = "the number of {slices} of {argument:code}"
    slices: Slices
    argument: str


@dataclass(frozen=True)
class SwappedDimensions(Message):
    id = "swapped_dimensions"
    template = "it is right, except that its dimensions {dimensions:list} are swapped"
    dimensions: Annotated[tuple[int, ...], Secret]


@dataclass(frozen=True)
class Reshaped(Message):
    id = "reshaped"
    template = (
        "its numbers are right and in the right order; only the shape is wrong: it should be "
        "{asked:size}"
    )
    asked: Annotated[Shape, Secret]


@dataclass(frozen=True)
class SlicesInOtherOrder(Message):
    id = "slices_in_other_order"
    slices: Slices
    order: Annotated[tuple[int, ...], Secret]

    def wording(self) -> str:
        index = python_index(str([*self.order]), self.slices.dim, self.slices.rank)
        return f"it equals `expected{index}`, the right {{slices}} in another order"


@dataclass(frozen=True)
class NumbersInOtherPlaces(Message):
    id = "numbers_in_other_places"
    template = "it has the right numbers in the wrong places"


@dataclass(frozen=True)
class RightWhere(Message):
    """The answer is right (or wrong) exactly in the cases that have a trait.

    Learner code can choose by hidden inputs in which cases it is right, so it controls the trait.
    """

    id = "right_where"
    trait: Annotated[Message, FromLearner]
    right: Annotated[bool, FromLearner] = True

    def wording(self) -> str:
        this, other = ("right", "wrong") if self.right else ("wrong", "right")
        return f"it is {this} whenever {{trait}}, and {other} otherwise"


@dataclass(frozen=True)
class CalledInMode(Message):
    """A trait of a case: the module's mode."""

    id = "called_in_mode"
    training: bool

    def wording(self) -> str:
        return (
            "the module is in training mode"
            if self.training
            else "the module is in evaluation mode"
        )


@dataclass(frozen=True)
class IsPassed(Message):
    """A trait of a case: an argument that other cases leave out."""

    id = "is_passed"
    template = "{argument:code} is passed in"
    argument: str


@dataclass(frozen=True)
class SizeOf(Message):
    """The size of a dimension. dim: counts from the last dimension, which is -1."""

    id = "size_of"
    template = "the size of dimension {dim} of {argument:code}"
    argument: str
    dim: int


@dataclass(frozen=True)
class IsNumber(Message):
    """A trait of a case: an option or a size. number: in Python's notation, where 1 is not True."""

    id = "is_number"
    template = "{what} is {number}"
    what: Message
    number: str


@dataclass(frozen=True)
class AreEqual(Message):
    """A trait of a case: two options or sizes that are equal."""

    id = "are_equal"
    template = "{one} and {other} are equal"
    one: Message
    other: Message
