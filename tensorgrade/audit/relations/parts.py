"""Relations on parts: equality with a formula in some convention, inputs, and gradients."""

from dataclasses import replace
from typing import ClassVar

import torch
from torch import nn

from ..parts import Part, compared
from ..roles import Sizes
from ..slopes import gradients, wrong_slope
from .base import DETACHED, IN_PLACE, Broken, Relation, Skip

PART_DRAWS = (
    Sizes(batch=2, tokens=5, heads=2, head_dim=3, seed=1),
    Sizes(batch=3, tokens=7, heads=3, head_dim=4, seed=2),
    Sizes(batch=2, tokens=1, heads=2, head_dim=8, seed=3),
    Sizes(batch=2, tokens=130, heads=2, head_dim=20, seed=4),
)


class PartFormula(Relation):
    """Equality with the formula, in one of its conventions."""

    name = "equality with the formula"
    sentence = "The results are those of the formula, in one of its conventions."
    source = "each kind's own"
    draws: ClassVar[tuple[Sizes, ...]] = PART_DRAWS
    subject: Part  # type: ignore[assignment]

    def check(self, sizes: Sizes) -> Broken | None:
        actual, form, closest = compared(self.subject, sizes)
        if form is not None:
            return None
        if actual.shape != closest.shape:
            said = f"The result has shape {tuple(actual.shape)} instead of {tuple(closest.shape)}."
        else:
            gap = float((actual - closest).abs().max())
            said = f"The results differ by up to {gap:.2g} from those of the formula."
        every = [sizes, replace(sizes, seed=sizes.seed + 31)]
        every.append(replace(sizes, tokens=sizes.tokens + 2, heads=3))
        for how, cause in self.subject.kind.wrong.items() if self.explain else ():
            if all(compared(self.subject, other, [how])[1] is not None for other in every):
                return Broken(said, sizes, (cause,))
        return Broken(said, sizes, where=("return",))


class PartInputs(Relation):
    """The inputs are not changed in place."""

    name = "inputs unchanged"
    sentence = "A call does not change its inputs."
    source = "torch"
    draws: ClassVar[tuple[Sizes, ...]] = PART_DRAWS[:2]
    subject: Part  # type: ignore[assignment]

    def check(self, sizes: Sizes) -> Broken | None:
        part = self.subject
        made, inputs = part.build(sizes), part.inputs(sizes)
        before = {n: v.clone() for n, v in inputs.items() if isinstance(v, torch.Tensor)}
        with torch.no_grad():
            part.run(made, inputs)
        for name, value in before.items():
            if not torch.equal(value, inputs[name]):
                return Broken(f"`{name}` is changed in place.", sizes, (IN_PLACE,))
        return None


class PartGradients(Relation):
    """Gradients are the slopes of the result."""

    name = "gradients"
    sentence = "Gradients reach the input and the weights, and are the slopes of the result."
    source = "torch.autograd"
    draws: ClassVar[tuple[Sizes, ...]] = PART_DRAWS[:3]
    subject: Part  # type: ignore[assignment]

    def check(self, sizes: Sizes) -> Broken | None:
        part = self.subject
        made, inputs = part.build(sizes), part.inputs(sizes)
        name = next(iter(inputs))
        if not isinstance(inputs[name], torch.Tensor):
            raise Skip("it takes no tensor")
        leaf = inputs[name].requires_grad_()
        weights = dict(made.named_parameters()) if isinstance(made, nn.Module) else {}

        def run() -> torch.Tensor:
            return part.run(made, {**inputs, name: leaf * 1})

        value = run()
        if not value.requires_grad:
            return Broken(f"No gradient reaches `{name}`.", sizes, (DETACHED,))
        leaves = {name: leaf} | weights
        said = wrong_slope(run, leaves, gradients(value, leaves))
        return (
            Broken(f"{said}.", sizes, (DETACHED,)) if said and value.dtype == leaf.dtype else None
        )


RELATIONS: tuple[type[Relation], ...] = (
    PartFormula, PartInputs, PartGradients,
)  # fmt: skip
