"""Messages about values that differ from the expected ones, and about the effects of dropout."""

from dataclasses import dataclass

from .message import Message

# Values that are not tensors. `what` names the result.


@dataclass(frozen=True)
class OtherNumberOfParts(Message):
    id = "other_number_of_parts"
    what: Message
    parts: int | None
    asked: int | None

    def wording(self) -> str:
        parts = "part" if self.parts == 1 else "parts"
        verb = "is" if self.asked == 1 else "are"
        return f"{{what}} has {{parts}} {parts}; {{asked}} {verb} expected"


@dataclass(frozen=True)
class KeyMissing(Message):
    id = "key_missing"
    template = "{what} has no key {key}"
    what: Message
    key: str


@dataclass(frozen=True)
class KeyNotAskedFor(Message):
    id = "key_not_asked_for"
    template = "{what} has a key {key} that it should not have"
    what: Message
    key: str


@dataclass(frozen=True)
class OtherValue(Message):
    id = "other_value"
    template = "{what} is {got}; {asked} is expected"
    what: Message
    got: str
    asked: str


@dataclass(frozen=True)
class OtherType(Message):
    id = "other_type"
    template = "{what} has type {got}; type {asked} is expected"
    what: Message
    got: str
    asked: str


@dataclass(frozen=True)
class SomeKeyMissing(Message):
    id = "some_key_missing"
    template = "{what} lacks a key"
    what: Message


@dataclass(frozen=True)
class SomeKeyNotAskedFor(Message):
    id = "some_key_not_asked_for"
    template = "{what} has a key that it should not have"
    what: Message


@dataclass(frozen=True)
class WrongType(Message):
    """The type of a value on a hidden case. got: the type and size of the learner's."""

    id = "wrong_type"
    template = "{what} is {got}; {asked} is expected"
    what: Message
    got: str
    asked: str


@dataclass(frozen=True)
class WrongSize(Message):
    """The size of a value on a hidden case. got: the type and size of the learner's."""

    id = "wrong_size"
    template = "{what} is {got}, which is not the right size"
    what: Message
    got: str


@dataclass(frozen=True)
class WrongValue(Message):
    """A value on a hidden case. got: the type and size of the learner's."""

    id = "wrong_value"
    template = "{what} is {got}, but not the right one"
    what: Message
    got: str


# Dropout. p: the expected rate.


@dataclass(frozen=True)
class NothingDropped(Message):
    id = "nothing_dropped"
    template = "in training nothing is dropped"


@dataclass(frozen=True)
class AllDropped(Message):
    id = "all_dropped"
    template = (
        "in training everything is dropped; drop each entry by chance, independently of the others"
    )


@dataclass(frozen=True)
class OnlyScaled(Message):
    id = "only_scaled"
    template = "in training everything is scaled, and nothing is dropped; drop each entry by chance"


@dataclass(frozen=True)
class SeveralScales(Message):
    id = "several_scales"
    template = "the kept entries are not all scaled by the same factor"


@dataclass(frozen=True)
class ScaledByShare(Message):
    """The kept entries are divided by the share that was kept by chance, not by 1 - p."""

    id = "scaled_by_share"
    template = "the kept entries are scaled by 1 / {divisor:.3g}, but 1 - p is {kept:.3g}"
    divisor: float
    kept: float


@dataclass(frozen=True)
class OtherShareDropped(Message):
    id = "other_share_dropped"
    template = "a share of {share:.2f} of the entries is dropped, but p is {p}"
    share: float
    p: float


@dataclass(frozen=True)
class NotScaledUp(Message):
    id = "not_scaled_up"
    template = "the kept entries are not scaled up, so the mean shrinks"


@dataclass(frozen=True)
class OtherScale(Message):
    id = "other_scale"
    template = "the kept entries are scaled by {scale:.2g}, which does not keep the mean"
    scale: float
