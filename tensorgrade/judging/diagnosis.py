"""What is told about a failed check: its diagnosis, and the finding that joins all there is to say.

`Diagnosis` is all that may be said on hidden cases: shapes, places, names of mistakes and the
learner's own values. `PublicDiagnosis` adds the expected values, and is only ever made for public
cases: the type makes the difference, not the renderer.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import StrEnum

import torch

from ..exchange.observation import CaughtError
from ..messages.checks import NotFixedYet, NotTheValues
from ..messages.message import Clauses, Message, Sentences
from ..messages.places import HowMany
from ..messages.results import GradientOf
from ..messages.verdicts import KnownMistake
from .stages import Parting


class Kind(StrEnum):
    """In what way a check failed."""

    TO_DO = "to do"
    MISSING = "missing"  # the file does not define it
    ERROR = "error"
    TIMEOUT = "timeout"
    KILLED = "killed"
    UNREACHED = "unreached"  # an earlier call never came back
    ABSENT = "absent"  # something else than a tensor came back, or nothing
    SHAPE = "shape"
    NAN = "nan"
    VALUES = "values"
    FACT = "fact"  # a property that is no value: a buffer, a dtype, a loop


# What a check says where the code never got as far as a result; then every check fails alike.
NO_RESULT = {Kind.ERROR, Kind.MISSING, Kind.TO_DO, Kind.TIMEOUT, Kind.KILLED}


@dataclass(frozen=True)
class Diagnosis:
    """Why one check failed, in words that a learner understands.

    problem: one plain sentence. called: what was called, with shapes. where: at which places.
    case: the name of the case. actual: the learner's own result. error: what the learner's code
    raised. remarks: what else can be said where no known mistake matches. line: where it goes
    wrong, if that is known. share: of its exercise's points, what is lost at least; 0 if only the
    check's own points are.
    """

    kind: Kind
    problem: Message
    called: str = ""
    where: Message | None = None
    case: str = ""
    actual: torch.Tensor | None = None
    error: CaughtError | None = None
    remarks: tuple[Message, ...] = ()
    line: int | None = None
    share: float = 0.0


LEAST_TELLING = 2


def telling(diagnosis: Diagnosis) -> int:
    """How little a diagnosis tells: what only says that values are wrong, or where, waits for what
    says more.

    So do the values of gradients, which nobody sees in the code. Checks that tell alike keep their
    author's order, in which the plain ones come first.
    """
    if diagnosis.kind == Kind.UNREACHED:
        return LEAST_TELLING
    problem = diagnosis.problem
    if diagnosis.kind != Kind.VALUES or not isinstance(problem, NotTheValues):
        return 0
    return int(not diagnosis.remarks or isinstance(problem.what, GradientOf))


@dataclass(frozen=True)
class PublicDiagnosis(Diagnosis):
    """A diagnosis on a public case: the expected values may be shown beside the learner's.

    texts: the same for values that are no tensors: of both, what stands where they differ first.
    """

    expected: torch.Tensor | None = None
    differs: torch.Tensor | None = None
    texts: tuple[str, str] | None = None


class Wrong(AssertionError):
    """Raised by a check that fails; carries its diagnosis."""

    def __init__(self, diagnosis: Diagnosis):
        super().__init__(diagnosis.problem)
        self.diagnosis = diagnosis


# (line, name, shape of a tensor or a whole number) on the way through a learner's own code.
Step = tuple[int, str, tuple[int, ...] | int]


@dataclass(frozen=True)
class Finding:
    """Everything that is to be said about one failed check, joined once; every view renders it.

    asks: the check's own line. mistakes: messages of the known mistakes recognised, by name.
    trace: gives the shapes on the way through the call; it runs that again, so it is asked only
    where shapes help. parting: gives where the values part from those of right answers, if that is
    known; it runs some cases again too. said: gives what the code prints in the call, run again.
    earlier: a word about an earlier exercise that is wrong and called here, beside known mistakes.
    """

    asks: str
    diagnosis: Diagnosis
    mistakes: dict[str, str] = field(default_factory=dict)
    trace: Callable[[], list[Step]] = list
    parting: Callable[[], Parting | None] = lambda: None
    said: Callable[[], list[str]] = list
    earlier: Message | None = None

    @property
    def message(self) -> Message:
        """The ideas that are wrong, or else what was seen."""
        if self.mistakes:
            known = (KnownMistake(name, text) for name, text in self.mistakes.items())
            return Sentences((*known, self.earlier))
        diagnosis = self.diagnosis
        where = () if isinstance(diagnosis.where, HowMany) else (diagnosis.where,)
        return Clauses((diagnosis.problem, *(diagnosis.remarks + where)[:1]), ": ")

    @property
    def is_to_do(self) -> bool:
        """Whether the check failed for nothing but an unwritten exercise."""
        return self.diagnosis.kind == Kind.TO_DO

    @property
    def is_to_mend(self) -> bool:
        """Whether it tells what is wrong with code that is still as it was given."""
        return self.is_to_do and isinstance(self.diagnosis.problem, NotFixedYet)


def as_given(diagnosis: Diagnosis) -> Diagnosis:
    """Return a diagnosis of given code that its learner has not changed: it is still to do."""
    return replace(diagnosis, kind=Kind.TO_DO, problem=NotFixedYet(diagnosis.problem))
