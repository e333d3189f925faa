"""The names of a case's results in messages: `the result of the second call, in training`."""

from dataclasses import dataclass

from .message import Message

ORDINALS = ("first", "second", "third", "fourth", "fifth")


def ordinal(place: int) -> str:
    """Return the ordinal for a place that counts from 0.

    >>> ordinal(0), ordinal(6)
    ('first', '7th')
    """
    return ORDINALS[place] if place < len(ORDINALS) else f"{place + 1}th"


@dataclass(frozen=True)
class Quoted(Message):
    """A result that the case names itself, or a place in a nested value: `` `result[0]` ``."""

    id = "quoted"
    template = "{name:code}"
    name: str


@dataclass(frozen=True)
class Result(Message):
    """The result of a call. call: its index among several calls. mode: the module's mode then."""

    id = "result"
    call: int | None = None
    mode: str = ""

    def wording(self) -> str:
        if self.call is None:
            return "the result"
        mode = ", in {mode}," if self.mode else ""
        return f"the result of the {ordinal(self.call)} call{mode}"


@dataclass(frozen=True)
class PartOf(Message):
    """A part of a result. places: the indices that lead to it."""

    id = "part_of"
    whole: Message
    places: tuple[int, ...]

    def wording(self) -> str:
        if len(self.places) == 1:
            return f"the {ordinal(self.places[0])} part of {{whole}}"
        return f"`{''.join(f'[{place}]' for place in self.places)}` of {{whole}}"


@dataclass(frozen=True)
class WeightName(Message):
    """A parameter of a module.

    inside: the part that holds it, if it is inside a substitute for another chapter's code.
    Learners have never seen its name there.
    """

    id = "weight_name"
    name: str
    inside: str = ""

    def wording(self) -> str:
        return "a weight of {inside:code}" if self.inside else "{name:code}"


@dataclass(frozen=True)
class Parameter(WeightName):
    """A parameter of a module, written after an article."""

    id = "parameter"

    def wording(self) -> str:
        return "weight of {inside:code}" if self.inside else "parameter {name:code}"


@dataclass(frozen=True)
class GradientOf(Message):
    """The gradient for an argument or a parameter."""

    id = "gradient_of"
    template = "the gradient for {weight}"
    weight: WeightName


@dataclass(frozen=True)
class KeptParameter(Message):
    """A parameter of an object at some moment of the case.

    owner: the argument in which the object is passed, or the name of the result. reloaded: the
    objects that received other weights since the object was last described.
    """

    id = "kept_parameter"
    parameter: Parameter
    owner: str = ""
    reloaded: tuple[str, ...] = ()

    def wording(self) -> str:
        owner = " of {owner:code}" if self.owner else ""
        reloaded = "".join(f", after `{one}` got other weights," for one in self.reloaded)
        return "the {parameter}" + owner + reloaded
