"""What the verdict on an exercise says, beside what its checks found."""

from dataclasses import dataclass

from .message import Message


@dataclass(frozen=True)
class Right(Message):
    id = "right"
    template = "Right"


@dataclass(frozen=True)
class EarlierIsWrong(Message):
    """The exercise calls an earlier one of the learner's that is wrong."""

    id = "earlier_is_wrong"
    template = "your own {name:code} is called here, and it is wrong: mend that first"
    name: str
