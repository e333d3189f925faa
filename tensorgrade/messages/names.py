"""Messages about names and orders of parameters that differ from the stub's."""

from dataclasses import dataclass

from .message import Message


@dataclass(frozen=True)
class OtherOrder(Message):
    """The parameters in another order, with commas between them."""

    id = "other_order"
    template = "the given order is `{asked}`; yours is `{own}`"
    asked: str
    own: str


@dataclass(frozen=True)
class StubCalls(Message):
    id = "stub_calls"
    template = "`{own}` is called `{asked}` in the given code"
    own: str
    asked: str


@dataclass(frozen=True)
class ByNameOnly(Message):
    """The stub's names for parameters that can be passed by name only."""

    id = "by_name_only"
    template = "{names}, and it can be passed by name only"
    names: Message


@dataclass(frozen=True)
class Renamed(Message):
    """A learner's own name. first: True if it begins the list of such names."""

    id = "renamed"
    own: str
    asked: str
    first: bool

    def wording(self) -> str:
        return "`{own}` should be called `{asked}`" if self.first else "`{own}` should be `{asked}`"


@dataclass(frozen=True)
class LibraryPart(Message):
    """torch's own class in the place of the learner's class of the same name."""

    id = "library_part"
    template = "{parts:code} should be your own `{name}`, not torch's `nn.{name}`"
    parts: tuple[str, ...]
    name: str


@dataclass(frozen=True)
class AndMore(Message):
    """Names, and the number of names that are left out."""

    id = "and_more"
    template = "{names} and {count} more"
    names: Message
    count: int


@dataclass(frozen=True)
class NamesCost(Message):
    """The deduction for other names, in points."""

    id = "names_cost"
    names: Message
    points: float

    def wording(self) -> str:
        return "{names} (costs {points:g} " + ("point)" if self.points == 1 else "points)")
