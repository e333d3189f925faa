"""Additions to the problem of a failed check, from other runs of a case."""

from dataclasses import dataclass
from typing import Annotated

from .message import FromLearner, Message


@dataclass(frozen=True)
class WorksInPlace(Message):
    """Lines that overwrite a tensor. places: the places of these lines."""

    id = "works_in_place"
    places: tuple[str, ...]

    def wording(self) -> str:
        return "{places:list} " + ("work" if len(self.places) > 1 else "works") + " in place"


@dataclass(frozen=True)
class StillRaises(Message):
    """A line that still raises. below: there is code below the line, not only above it."""

    id = "still_raises"
    place: str
    below: bool

    def wording(self) -> str:
        if self.below:
            return "{place} still raises NotImplementedError, so the code below it is never reached"
        return (
            "{place} still raises NotImplementedError behind the code above it: what is asked for "
            "is to be returned there instead"
        )


@dataclass(frozen=True)
class KeepsState(Message):
    id = "keeps_state"
    template = (
        "by itself, without the calls before it, this call is right: is something kept from them?"
    )


@dataclass(frozen=True)
class OtherCodeRuns(Message):
    """Find-the-bug exercise: other code in the file runs under the exercise's name."""

    id = "other_code_runs"
    template = (
        "the code that runs in your file is not the definition of {name:code} that was compared: "
        "that definition is run alone, without helpers or other lines of the file; mend it from "
        "the inside"
    )
    name: str


@dataclass(frozen=True)
class RewrittenCode(Message):
    """Find-the-bug exercise: right, but more was changed than needed. changed: None if unknown."""

    id = "rewritten_code"
    changed: Annotated[int | None, FromLearner]
    most: int

    def wording(self) -> str:
        if self.changed is None:
            counted = "it could not be compared with the code that was given"
        else:
            counted = "{changed} parts of the code (names, numbers, calls), where {most} are plenty"
        return f"it is right, and more was changed than the mistake asks for: {counted}"
