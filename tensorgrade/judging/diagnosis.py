"""The report on a failed check: its diagnosis, and the finding that joins everything to say.

On hidden cases, a diagnosis has no expected values, so renderers cannot show any.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import NamedTuple

import torch

from ..exchange.observation import CaughtError
from ..exchange.text import joined, sentences
from .where import Where


class Kind(StrEnum):
    """The way in which a check failed."""

    TO_DO = "to do"
    MISSING = "missing"  # the file does not define it
    ERROR = "error"
    TIMEOUT = "timeout"
    KILLED = "killed"
    UNREACHED = "unreached"  # an earlier call never returned
    ABSENT = "absent"  # the result is missing or is not a tensor
    SHAPE = "shape"
    NAN = "nan"
    VALUES = "values"
    FACT = "fact"  # a property other than a value: a buffer, a dtype, a loop


class Observations(NamedTuple):
    """Remarks on a wrong result. where: its wrong places, or else how_many: their number."""

    remarks: tuple[str, ...] = ()
    where: str = ""
    how_many: str = ""

    def after(self, remark: str) -> "Observations":
        """Return these observations after another remark, if there is one."""
        return self._replace(remarks=(remark, *self.remarks)) if remark else self


@dataclass(frozen=True)
class Diagnosis:
    """The reason why one check failed, in words that a learner understands.

    problem: what is wrong, in a clause. id: the name of the problem; the kind if nothing asks for
    it. case: the name of the case. actual: the learner's own result. error: the error of the
    learner's code. about: the name of the argument that the problem is about. line: the place of
    the fault, if it is known. share: at least this share of the exercise's points is lost; 0 if
    only the check's own points are. forbidden: names that the exercise rules out and this code
    uses. call: the forbidden code on that line. observe: returns remarks on the result; called only
    if a reader sees them.

    Of public cases only: expected: the right result. differs: a mask of the wrong places, if there
    are some. texts: for values that are not tensors, the expected and the learner's value around
    their first difference.
    """

    kind: Kind
    problem: str
    id: str = ""
    case: str = ""
    actual: torch.Tensor | None = None
    error: CaughtError | None = None
    about: str = ""
    line: int | None = None
    share: float = 0.0
    forbidden: frozenset[str] = frozenset()
    call: str = ""
    observe: Callable[[], Observations] = Observations
    expected: torch.Tensor | None = None
    differs: torch.Tensor | None = None
    texts: tuple[str, str] | None = None

    @cached_property
    def observations(self) -> Observations:
        """The remarks on the result, computed once."""
        return self.observe()


class Wrong(AssertionError):
    """The error of a check that fails. It carries the diagnosis."""

    def __init__(self, diagnosis: Diagnosis):
        super().__init__(diagnosis.problem)
        self.diagnosis = diagnosis


OF_GRADIENT = "not_the_gradient"  # the name of the problem that a gradient has wrong values


@dataclass(frozen=True)
class Earlier:
    """An earlier exercise of the learner's that is wrong, or not written yet, and is called."""

    name: str
    written: bool = True

    @property
    def said(self) -> str:
        """What to say of it, in a clause."""
        what = "wrong: fix that first" if self.written else "not written yet: write that first"
        return f"it calls your own `{self.name}`, which is {what}"


class Step(NamedTuple):
    """A value that a learner's own code computes: its line, its name, and its shape or number.

    place: the line as the learner knows it. function: the function that the line is in.
    """

    line: int
    name: str
    size: tuple[int, ...] | int
    place: str = ""
    function: str = ""


@dataclass(frozen=True)
class Finding:
    """Everything to say about one failed check, joined once, for every view to render.

    asks: the check's description. mistakes: messages of the recognized mistakes, by name. called:
    returns the call in words, with shapes. trace: returns the shapes of the values in the call. It
    runs the call again, so it is used only if shapes help. find_where: returns where values become
    wrong, if that is known; it also runs cases again. said: returns the output of the code in the
    call, which runs again. earlier: a wrong earlier exercise that is called here. blames: the name
    of one that is the only cause. fact: a fault that the text shows and that is probably the cause,
    with its line in fact_line. line: the line where the code fails, if it is known and may be
    shown. place: returns what the learner calls a line.
    """

    asks: str
    diagnosis: Diagnosis
    mistakes: dict[str, str] = field(default_factory=dict)
    called: Callable[[], str] = str
    trace: Callable[[], list[Step]] = list
    find_where: Callable[[], Where | None] = lambda: None
    said: Callable[[], list[str]] = list
    earlier: Earlier | None = None
    blames: str = ""
    fact: str = ""
    fact_line: int | None = None
    line: int | None = None
    place: Callable[[int], str] = "line {}".format

    @property
    def message(self) -> str:
        """The known mistakes, or else the observed problem, in sentences."""
        earlier = self.earlier.said if self.earlier else ""
        if self.mistakes:  # their texts are sentences, which may begin with a parameter's name
            return " ".join(filter(None, (*self.mistakes.values(), sentences(self.fact, earlier))))
        remarks, where, _ = self.diagnosis.observations
        told = "" if earlier else next(filter(None, (*remarks, where)), "")
        return sentences(joined(self.diagnosis.problem, told, between=": "), self.fact, earlier)

    @property
    def telling(self) -> int:
        """A sort key that puts the most informative findings first.

        A known mistake comes first, because it shows what is wrong. Wrong values come later if
        nothing more is known about them, and so do wrong gradients, because gradients do not appear
        in the code. A loop comes later too, because values matter more. A case that was not reached
        comes last. Checks with equal keys remain in their author's order, simple ones first.
        """
        diagnosis = self.diagnosis
        if diagnosis.kind == Kind.UNREACHED:
            return 2
        if self.mistakes:
            return 0
        if diagnosis.id == "growing_operations":
            return 1
        if diagnosis.kind != Kind.VALUES or diagnosis.id not in ("not_the_values", OF_GRADIENT):
            return 0
        known = self.earlier or diagnosis.observations.remarks
        return int(not known or diagnosis.id == OF_GRADIENT)

    @property
    def is_to_do(self) -> bool:
        """True if the check failed only because the exercise is not written."""
        return self.diagnosis.kind == Kind.TO_DO

    @property
    def is_to_fix(self) -> bool:
        """True if the finding is about given code that the learner has not changed yet."""
        return self.is_to_do and self.diagnosis.id == "not_fixed_yet"
