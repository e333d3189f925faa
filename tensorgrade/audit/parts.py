"""A definition of a softmax, a norm, positions or a loss, ready to run."""

import inspect
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from .errors import CannotRun, line_raising, raised
from .formulas import CROSS_ENTROPY, LAYER_NORM, RMS_NORM, ROTARY, SINUSOIDAL, Kind, drawn
from .roles import CALL, CONSTRUCTOR, Sizes, parameters_of, role_of
from .subject import scale_of

CLOSE = 1e-4  # relative; some code computes angles in single precision


@dataclass(eq=False)
class Part:
    """A definition of one kind. flat: a loss takes (tokens, classes), without a batch."""

    name: str
    target: Any
    text: str
    line: int
    kind: Kind
    flat: bool = False

    @property
    def is_module(self) -> bool:
        """Return True if the definition is a class."""
        return inspect.isclass(self.target)

    def fitted(self, sizes: Sizes) -> Sizes:
        """Return the sizes unchanged: a part works at any sizes."""
        return sizes

    def inputs(self, sizes: Sizes) -> dict[str, Any]:
        """Return drawn arguments by role."""
        found = self.kind.inputs(sizes)
        parameters = parameters_of(self.target)
        if "dim" in found and not any(role_of(one.name, CALL) == "dim" for one in parameters):
            found["dim"] = -1
        if self.flat:
            found = {"logits": found["logits"].flatten(0, 1), "targets": found["targets"].flatten()}
        return found

    def build(self, sizes: Sizes) -> Any:
        """Return the function, or a module in double precision with drawn weights."""
        if not self.is_module:
            return self.target
        wide = 2 * sizes.head_dim if self.kind is SINUSOIDAL else sizes.width
        given: dict[str, Any] = {}
        for one in parameters_of(self.target):
            role = role_of(one.name, CONSTRUCTOR)
            if role_of(one.name, CALL) == "dim":
                given[one.name] = self.inputs(sizes).get("dim", wide)
            elif one.default is inspect.Parameter.empty or role == "context":
                given[one.name] = {"context": 40, "dropout": 0.0, "eps": 1e-5}.get(role, wide)
            elif role == "dropout":
                given[one.name] = 0.0
        made = self.target(**given)
        if isinstance(made, nn.Module):
            made.double().train(sizes.seed % 2 == 0)  # both modes must give the same
        return made

    def run(self, made: Any, inputs: dict[str, Any]) -> Tensor:
        """Call the definition with arguments by role, and return its result."""
        if self.kind is SINUSOIDAL and self.is_module:
            count = inputs["count"]  # of both axes, since either can be that of tokens
            out = made(torch.zeros(count, count, inputs["width"], dtype=torch.float64))
            if out.dim() == 3:
                return out[:, 0] if torch.equal(out[0], out[0, :1].expand_as(out[0])) else out[0]
            return out
        called = self.target.forward if self.is_module else self.target
        parameters = parameters_of(called)[1 if self.is_module else 0 :]
        roles = list(inputs)
        arguments: dict[str, Any] = {}
        for place, one in enumerate(parameters):
            if one.default is inspect.Parameter.empty and place < len(roles):
                arguments[one.name] = inputs[roles[place]]
            elif role_of(one.name, CALL) == "dim" and "dim" in inputs:
                arguments[one.name] = inputs["dim"]
            elif one.default is inspect.Parameter.empty:
                raise CannotRun(f"nothing is known about the parameter `{one.name}`")
        result = made(**arguments)
        if not isinstance(result, Tensor):
            raise CannotRun(f"it returns a {type(result).__name__}, not a tensor")
        return result

    def scales(self, made: Any, sizes: Sizes) -> tuple[Tensor, Tensor]:
        """Draw a norm's scale and shift, and return them; ones and zeros if it has none."""
        found = [torch.ones(sizes.width, dtype=torch.float64)]
        found.append(torch.zeros(sizes.width, dtype=torch.float64))
        if isinstance(made, nn.Module):
            with torch.no_grad():
                for value in made.parameters():
                    if value.numel() != sizes.width:
                        continue
                    first = 0 if bool((value == 1).all()) else 1
                    value.add_(drawn(sizes.width, seed=sizes.seed + 9 + first).view(value.shape))
                    found[first] = value.detach().flatten().clone()
        return found[0], found[1]

    def arguments(self, made: Any, inputs: dict[str, Any], sizes: Sizes) -> list[tuple]:
        """Return the arguments for the formula: one tuple for each usual eps if it is not known."""
        if self.kind not in (LAYER_NORM, RMS_NORM):
            return [tuple(inputs.values())]
        scale, shift = self.scales(made, sizes)
        own = getattr(made, "eps", getattr(made, "variance_epsilon", None))
        known = [float(own)] if isinstance(own, (int, float)) else [1e-5, 1e-6, 1e-8, 1e-12, 1e-3]
        return [(inputs["x"], scale, shift, eps) for eps in known]


def part_of(target: Any, name: str, text: str, line: int, kind: Kind) -> Part:
    """Return a definition that runs. Raises CannotRun."""
    part, sizes = Part(name, target, text, line, kind), Sizes(head_dim=6, heads=2)
    if kind in (ROTARY, SINUSOIDAL) and part.is_module and has_weights(part, sizes):
        raise CannotRun("positions with weights of their own have no known formula")
    try:
        part.run(part.build(sizes), part.inputs(sizes))
    except CannotRun:
        raise
    except Exception as error:
        if kind is CROSS_ENTROPY and runs(flat := replace(part, flat=True), sizes):
            return flat
        raise CannotRun(raised(error, target), line_raising(error, target)) from error
    return part


def has_weights(part: Part, sizes: Sizes) -> bool:
    """Return True if a module has parameters, or cannot be built."""
    try:
        return any(True for _ in part.build(sizes).parameters())
    except Exception:
        return True


def runs(part: Part, sizes: Sizes) -> bool:
    """Return True if a part runs."""
    try:
        part.run(part.build(sizes), part.inputs(sizes))
    except Exception:
        return False
    return True


def compared(
    part: Part, sizes: Sizes, forms: list[str] | None = None
) -> tuple[Tensor, str | None, Tensor]:
    """Return the part's result, the form of the formula that matches, and the result of that.

    If no form matches, the second is None and the third is the first form's result. forms: those
    that are tried, by default the kind's conventions.
    """
    made, inputs = part.build(sizes), part.inputs(sizes)
    wanted = part.arguments(made, inputs, sizes)
    copies = {n: v.clone() if isinstance(v, Tensor) else v for n, v in inputs.items()}
    with torch.no_grad():
        actual = part.run(made, copies).double()
    first = None
    for how in part.kind.right if forms is None else forms:
        for given in wanted:
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
