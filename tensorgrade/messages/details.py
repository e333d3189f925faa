"""Additions to the problem of a failed check, from the text or from other runs of a case."""

from dataclasses import dataclass

from .message import Message


@dataclass(frozen=True)
class WorksInPlace(Message):
    """Lines that overwrite a tensor. places: the places of these lines."""

    id = "works_in_place"
    places: tuple[str, ...]

    def wording(self) -> str:
        return (
            "{places:list} "
            + ("overwrite" if len(self.places) > 1 else "overwrites")
            + " a tensor in place"
        )


@dataclass(frozen=True)
class NoEffect(Message):
    """A statement whose result nothing keeps."""

    id = "no_effect"
    template = "{place} has no effect: the result of `{code}` is neither stored nor returned"
    place: str
    code: str


@dataclass(frozen=True)
class ReturnsInLoop(Message):
    id = "returns_in_loop"
    template = "the `return` on {place} is inside a loop, which therefore ends in its first round"
    place: str


@dataclass(frozen=True)
class StillRaises(Message):
    """A line that still raises.

    below: there is code below the line, not only above it. making: it is in `__init__`.
    """

    id = "still_raises"
    place: str
    below: bool
    making: bool = False

    def wording(self) -> str:
        if self.below:
            return "{place} still raises NotImplementedError, so the code below it never runs"
        if self.making:
            return "{place} still raises NotImplementedError at the end of `__init__`: delete it"
        return (
            "{place} still raises NotImplementedError after your code: return the result there "
            "instead"
        )


@dataclass(frozen=True)
class OtherCodeRuns(Message):
    """Find-the-bug exercise: other code in the file runs under the exercise's name."""

    id = "other_code_runs"
    template = (
        "{name:code} is right only with help from the rest of your file. In this exercise it runs "
        "alone: change the given lines themselves"
    )
    name: str


@dataclass(frozen=True)
class RewrittenCode(Message):
    """Find-the-bug exercise: right, but more was changed than needed. changed: None if unknown."""

    id = "rewritten_code"
    changed: int | None
    most: int

    def wording(self) -> str:
        if self.changed is None:
            return "it is right, but it could not be compared with the given code"
        return (
            "it is right, but it is rewritten: {changed} names, numbers and calls differ from the "
            "given code, and at most {most} may. Go back to the given code and fix only its mistake"
        )
