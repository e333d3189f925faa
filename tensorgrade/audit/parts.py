"""A definition of a softmax, a norm, positions or a loss, and how to make and call it."""

from dataclasses import dataclass, replace
from math import inf
from typing import Any

import torch
from torch import Tensor

from .code import Definition, Made, Raised
from .kinds import CROSS_ENTROPY, LAYER_NORM, RMS_NORM, ROTARY, SINUSOIDAL, SOFTMAX, Formula, Kind
from .roles import CALL, CONSTRUCTOR, Sizes, role_of
from .subject import HELP, CannotRun, Output, Subject, scale_of

CLOSE = 1e-4  # relative; some code computes angles in single precision
USUAL_EPS = (1e-5, 1e-6, 1e-8, 1e-12, 1e-3)
VALUES = {"context": 140, "dropout": 0.0, "eps": 1e-5}  # by role


@dataclass(frozen=True, eq=False)
class Part:
    """A definition of one kind. flat: a loss takes (tokens, classes), without a batch."""

    subject: Subject
    kind: Kind
    flat: bool = False

    @property
    def definition(self) -> Definition:
        """Return the definition."""
        return self.subject.definition

    def fitted(self, sizes: Sizes) -> Sizes:
        """Return the sizes unchanged: a part works at any sizes."""
        return sizes

    def inputs(self, sizes: Sizes) -> dict[str, Any]:
        """Return drawn arguments by role."""
        found = self.kind.inputs(sizes)
        every = self.subject.makes + self.subject.takes
        if "dim" in found and not any(role_of(one.name, CALL) == "dim" for one in every):
            found["dim"] = -1
        if self.flat:
            found = {"logits": found["logits"].flatten(0, 1), "targets": found["targets"].flatten()}
        return found

    def build(self, sizes: Sizes) -> Made | None:
        """Return a module in double precision with drawn weights; None for a function."""
        wide = 2 * sizes.head_dim if self.kind is SINUSOIDAL else sizes.width
        given: dict[str, Any] = {}
        for one in self.subject.makes:
            role = role_of(one.name, CONSTRUCTOR)
            if role_of(one.name, CALL) == "dim" and self.kind is SOFTMAX:
                given[one.name] = self.inputs(sizes)["dim"]
            elif not one.default or role in ("context", "dropout"):
                given[one.name] = VALUES.get(role, wide)
        return replace(self.subject, given=given | self.subject.given).build(sizes)

    def run(
        self,
        made: Made | None,
        inputs: dict[str, Any],
        sizes: Sizes,
        training: bool = False,
        weights: dict[str, Tensor] | None = None,
    ) -> Output:
        """Call the definition with arguments by role, and return its result. Raises CannotRun."""
        subject, values = self.subject, inputs
        if self.kind is SINUSOIDAL and made:
            count = inputs["count"]  # of both axes, since either can be that of tokens
            values = {"x": torch.zeros(count, count, inputs["width"], dtype=torch.float64)}
        roles, arguments = list(values), dict[str, Any]()
        for place, one in enumerate(subject.takes):
            if not one.default and place < len(roles):
                arguments[one.name] = values[roles[place]]
            elif role_of(one.name, CALL) == "dim" and "dim" in values:
                arguments[one.name] = values["dim"]
            elif one.name in subject.given:
                arguments[one.name] = subject.given[one.name]
            elif not one.default:
                raise CannotRun(f"the call needs `{one.name}`, for which there is no value; {HELP}")
        called, sent, changed = subject.ask(made, arguments, sizes.seed, training, weights)
        if called.parts != ["tensor"]:
            raise CannotRun("it returns no single tensor")
        out = sent["part.0"]
        if self.kind is SINUSOIDAL and made and out.dim() == 3:
            same = torch.equal(out[0], out[0, :1].expand_as(out[0]))
            out = out[:, 0] if same else out[0]
        return Output(out, changed=changed)

    def arguments(self, made: Made | None, inputs: dict[str, Any], wide: int) -> list[tuple]:
        """Return the possible arguments of the formula: each usual eps if it is not known.

        Either of two weights of a norm can be its scale, and the other one its shift.
        """
        if self.kind not in NORMS:
            return [tuple(inputs.values())]
        drawn = [one.flatten() for one in (made.weights if made else {}).values()]
        ones, zeros = torch.ones(wide, dtype=torch.float64), torch.zeros(wide, dtype=torch.float64)
        own = [one for one in drawn if one.numel() == wide]
        known = (made.eps,) if made and made.eps else USUAL_EPS
        scales: list = [own, own[::-1]] if len(own) == 2 else [(ones, zeros)]
        scales = [(*own, zeros), (ones, *own)] if len(own) == 1 else scales
        return [(inputs["x"], *both, eps) for both in scales for eps in known]


NORMS = (LAYER_NORM, RMS_NORM)


def part_of(subject: Subject, kind: Kind) -> Part:
    """Return a definition that runs. Raises CannotRun."""
    part, sizes = Part(subject, kind), Sizes(head_dim=6, heads=2)
    try:
        made = part.build(sizes)
        if made and kind in (ROTARY, SINUSOIDAL) and made.weights:
            raise CannotRun("positions with weights of their own have no known formula")
        part.run(made, part.inputs(sizes), sizes)
    except Raised as error:
        flat = replace(part, flat=True)
        if kind is CROSS_ENTROPY and runs(flat, sizes):
            return flat
        raise CannotRun(str(error), error.line) from error
    return part


def runs(part: Part, sizes: Sizes) -> bool:
    """Return True if a part runs."""
    try:
        part.run(part.build(sizes), part.inputs(sizes), sizes)
        return True
    except (Raised, CannotRun):
        return False


def gap(part: Part, sizes: Sizes, formula: Formula) -> float:
    """Return how far a part's results are from a formula's.

    0 means that they agree but for rounding, infinity that they have another shape.
    """
    made, inputs = part.build(sizes), part.inputs(sizes)
    training = sizes.seed % 2 == 0  # both modes must give the same
    actual = part.run(made, inputs, sizes, training).value.double()
    gaps = []
    for given in part.arguments(made, inputs, sizes.width):
        found = formula(*given)
        if actual.dim() == found.dim() + 1 and actual.shape[0] == 1:
            actual = actual[0]
        if actual.shape != found.shape:
            return inf
        away = (actual - found).abs()
        close = bool((away <= CLOSE * max(scale_of(found), 1e-2)).all())
        gaps.append(0.0 if close else float(away.max()))
    return min(gaps)


def convention_of(part: Part, sizes: Sizes) -> str | None:
    """Return the convention in which a part follows the formula; None if there is none."""
    return next((name for name, one in part.kind.right.items() if not gap(part, sizes, one)), None)
