"""A definition of a softmax, a norm, positions or a loss, and how to make and call it."""

from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from .code import Made, Parameter, Raised
from .kinds import CROSS_ENTROPY, LAYER_NORM, RMS_NORM, ROTARY, SINUSOIDAL, Kind, drawn
from .roles import CALL, Sizes, role_of
from .subject import CannotRun, Output, Subject, scale_of

CLOSE = 1e-4  # relative; some code computes angles in single precision
USUAL_EPS = (1e-5, 1e-6, 1e-8, 1e-12, 1e-3)
ROLES = {"context": 140, "dropout": 0.0, "eps": 1e-5}


@dataclass(frozen=True, eq=False)
class Part:
    """A definition of one kind. flat: a loss takes (tokens, classes), without a batch."""

    subject: Subject
    kind: Kind
    flat: bool = False
    mask: None = field(default=None, init=False)

    @property
    def is_module(self) -> bool:
        """Return True if the definition is a class."""
        return self.subject.is_module

    def fitted(self, sizes: Sizes) -> Sizes:
        """Return the sizes unchanged: a part works at any sizes."""
        return sizes

    def takes_dim(self, parameters: list[Parameter]) -> str:
        """Return the name of the parameter for an axis, or an empty text."""
        named = (one.name for one in parameters if role_of(one.name, CALL) == "dim")
        return next(named, "")

    def inputs(self, sizes: Sizes) -> dict[str, Any]:
        """Return drawn arguments by role."""
        found = self.kind.inputs(sizes)
        parameters = self.subject.makes + self.subject.takes
        if "dim" in found and not self.takes_dim(parameters):
            found["dim"] = -1
        if self.flat:
            found = {"logits": found["logits"].flatten(0, 1), "targets": found["targets"].flatten()}
        return found

    def build(self, sizes: Sizes, state: dict[str, Tensor] | None = None) -> Made | None:
        """Return a module in double precision with weights as its constructor makes them."""
        subject = self.subject
        if not self.is_module:
            return None
        wide = 2 * sizes.head_dim if self.kind is SINUSOIDAL else sizes.width
        given: dict[str, Any] = {}
        for one in subject.makes:
            role = subject.constructor_role(one.name)
            if one.name == self.takes_dim(subject.makes) and self.kind not in NORMS:
                given[one.name] = self.inputs(sizes).get("dim", wide)
            elif not one.default or role == "context":
                given[one.name] = ROLES.get(role, wide)
            elif role == "dropout":
                given[one.name] = 0.0
        how = {"equal": True, "guesses": {}, "given": given | subject.given, "draws": False}
        how |= {"double": True, "copied": False}
        return subject.code.make(subject.name, sizes, state or {}, **how)

    def drawn_build(self, sizes: Sizes) -> tuple[Made | None, Tensor, Tensor]:
        """Return a module with drawn weights, and its scale and shift; ones and zeros for none."""
        scales = [torch.ones(sizes.width, dtype=torch.float64)]
        scales.append(torch.zeros(sizes.width, dtype=torch.float64))
        made = self.build(sizes)
        state = dict(made.state) if made else {}
        for name, value in made.weights.items() if made else ():
            if value.numel() == sizes.width:
                place = 0 if bool((value == 1).all()) else 1
                more = drawn(sizes.width, seed=sizes.seed + 9 + place)
                state[name] = value + more.view(value.shape)
                scales[place] = state[name].flatten()
        return (self.build(sizes, state) if state else made), scales[0], scales[1]

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
                raise CannotRun(f"nothing is known about the parameter `{one.name}`")
        called, sent, changed = subject.ask(made, arguments, sizes.seed, training, weights)
        if called.parts != ["tensor"]:
            raise CannotRun("it returns no single tensor")
        out = sent["part.0"]
        if self.kind is SINUSOIDAL and made and out.dim() == 3:
            same = torch.equal(out[0], out[0, :1].expand_as(out[0]))
            out = out[:, 0] if same else out[0]
        return Output(out, changed=changed)

    def arguments(self, made: Made | None, inputs: dict[str, Any], scales: tuple) -> list[tuple]:
        """Return the arguments for the formula: one tuple for each usual eps if it is not known."""
        if self.kind not in NORMS:
            return [tuple(inputs.values())]
        known = (made.eps,) if made and made.eps else USUAL_EPS
        return [(inputs["x"], *scales, eps) for eps in known]


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


def compared(
    part: Part, sizes: Sizes, forms: list[str] | None = None
) -> tuple[Tensor, str | None, Tensor]:
    """Return the part's result, the form of the formula that matches, and the result of that.

    If no form matches, the second is None and the third is the first form's result. forms: those
    that are tried, by default the kind's conventions.
    """
    made, *scales = part.drawn_build(sizes) if part.kind in NORMS else (part.build(sizes),)
    inputs = part.inputs(sizes)
    training = sizes.seed % 2 == 0  # both modes must give the same
    actual = part.run(made, inputs, sizes, training).value.double()
    first = None
    for how in part.kind.right if forms is None else forms:
        for given in part.arguments(made, inputs, tuple(scales)):
            found = part.kind.formula(*given, how=how)
            first = found if first is None else first
            if close(actual, found):
                return actual, how, found
    assert first is not None, "every kind has a convention"
    return actual, None, first


def close(actual: Tensor, found: Tensor) -> bool:
    """Return True if two results are equal but for rounding."""
    if actual.dim() == found.dim() + 1 and actual.shape[0] == 1:
        actual = actual[0]
    if actual.shape != found.shape:
        return False
    return bool(((actual - found).abs() <= CLOSE * max(scale_of(found), 1e-2)).all())
