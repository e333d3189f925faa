"""Facts about a wrong value if no known mistake matches, and about the cases with right answers."""

from dataclasses import dataclass
from enum import StrEnum

from .message import Message, Shape
from .places import DIMENSIONS, plural_of

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
    only_first: bool

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
class CoarseDtype(Message):
    """A dtype that is too coarse. digits: the number of digits that it keeps, as a word."""

    id = "coarse_dtype"
    template = "its dtype is {dtype}, which keeps only about {digits} digits"
    dtype: str
    digits: str


@dataclass(frozen=True)
class NearlyRight(Message):
    """A result that differs only in late digits."""

    id = "nearly_right"
    template = (
        "it agrees with the expected result to about {digits} digits. Is something rounded on the "
        "way, or is a small constant different?"
    )
    digits: int


@dataclass(frozen=True)
class IntegerDtype(Message):
    id = "integer_dtype"
    template = "its dtype is {dtype}, which keeps only integers"
    dtype: str


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
    number: float

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
    name: str


@dataclass(frozen=True)
class TimesFactor(Message):
    """A value is the right one times a number.

    factor: None if it is not worth reporting. origin: a clause on the possible origin of the
    factor.
    """

    id = "times_factor"
    compared: Compared
    factor: float | None
    origin: Message | None = None

    def wording(self) -> str:
        if self.factor is None:
            return "it is {compared} times a constant"
        return "it is {compared} times {factor:.4g}{origin}"


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
    dimensions: tuple[int, ...]


@dataclass(frozen=True)
class Reshaped(Message):
    id = "reshaped"
    template = (
        "its numbers are right and in the right order; only the shape is wrong: it should be "
        "{asked:size}"
    )
    asked: Shape


@dataclass(frozen=True)
class NumbersInOtherPlaces(Message):
    id = "numbers_in_other_places"
    template = "it has the right numbers in the wrong places"
