"""Messages to learners if only hidden cases are wrong, without anything that the code did there."""

from dataclasses import dataclass

from .message import Message


@dataclass(frozen=True)
class OnHiddenCase(Message):
    """A failure on hidden cases. public_right: True if the public cases ran and are right."""

    id = "on_hidden_case"
    public_right: bool
    what: Message

    def wording(self) -> str:
        right = "the public checks pass, but " if self.public_right else ""
        return right + "with hidden inputs {what}"


@dataclass(frozen=True)
class HiddenFailure(Message):
    """A failure on a hidden case.

    kind: the kind of failure, if it may be shown. where: the cases in which the answer is right.

    asks: the check's description, if it may be shown.
    """

    id = "hidden_failure"
    kind: str = ""
    where: Message | None = None
    asks: str = ""

    def wording(self) -> str:
        what = KINDS.get(self.kind, "a check fails")
        where = "; {where}" if self.where else ""
        return what + where + (f" ({self.asks.rstrip('.')})" if self.asks else "")


KINDS = {
    "absent": "a result is missing or of another kind than expected",
    "shape": "the result does not have the expected shape",
    "nan": "the result contains NaN",
    "values": "the values are wrong",
}


@dataclass(frozen=True)
class HiddenSqueeze(Message):
    """A result lacks a dimension of size 1 on a hidden case, and nothing else is wrong."""

    id = "hidden_squeeze"
    template = "the result does not have the expected shape; a dimension of size 1 is missing"


@dataclass(frozen=True)
class HiddenError(Message):
    """An error on a hidden case.

    type: a type of Python or torch, if it may be shown. at: its line, if it may be shown.
    """

    id = "hidden_error"
    type: str
    at: Message | None = None

    def wording(self) -> str:
        return "it raises " + (self.type or "an exception") + "{at}"
