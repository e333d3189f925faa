"""Equality with the formula of attention, and the known mistake whose results match."""

import time
from dataclasses import replace
from functools import lru_cache
from math import inf
from typing import ClassVar
from weakref import WeakKeyDictionary

import torch

from ..mapping import expected, mapping_of, readings
from ..reference import Mistake, Recipe, attend, variants
from ..subject import Subject, scale_of
from .attention import drawn_mask, leaks, unknown_formula
from .base import DRAWS, LARGE, Broken, Relation, Sizes, Skip

CLOSE = 1e-4
SECONDS = 0.8  # of the processor, for pairs of mistakes

UNNAMED = ("softmax", "scaled_dot_product_attention", "return")


def follows_formula(subject: Subject) -> bool:
    """Return True if a function gives the right results, causal or not."""
    try:
        sizes = subject.batch_of(subject.fitted(DRAWS[0]))
        masks = ("none", "causal")
        return any(compared(subject, sizes, Recipe(mask=mask))[1] is None for mask in masks)
    except Exception:
        return False


class Formula(Relation):
    """Equality with torch's own attention under the inferred mapping of weights."""

    name = "equality with F.scaled_dot_product_attention"
    sentence = "With the same weights, torch's own attention gives the same results."
    draws: ClassVar[tuple[Sizes, ...]] = (*DRAWS, LARGE)

    def check(self, sizes: Sizes) -> Broken | None:
        unknown_formula(self.subject)
        actual, closest = compared(self.subject, sizes, self.right())
        if closest is None:
            return None
        matched = matching(self.subject, sizes, self.right()) if self.explain else ()
        gap = float((actual - closest).abs().max())
        return Broken(
            f"The results differ by up to {gap:.2g} from those of the same formula in torch.",
            mistakes=tuple(one.name for one in matched),
            sentences=tuple(one.sentence for one in matched),
            where=tuple(word for one in matched for word in one.where) or UNNAMED,
        )

    def right(self) -> Recipe:
        """Return the right recipe for the definition."""
        return Recipe(mask="causal" if self.subject.causal else "none")


class MaskedFormula(Formula):
    """The same equality while a mask is passed in."""

    name = "equality with a mask"
    sentence = "With the same mask, torch's own attention gives the same results."
    draws: ClassVar[tuple[Sizes, ...]] = DRAWS

    def check(self, sizes: Sizes) -> Broken | None:
        if not self.subject.mask:
            raise Skip("it takes no mask")
        unknown_formula(self.subject)
        visible = drawn_mask(self.subject, sizes)
        if self.subject.causal:
            visible[..., 0] = True
        actual, closest = compared(self.subject, sizes, self.right(), visible)
        if closest is None:
            return None
        gap = float((actual - closest).abs().max())
        return Broken(
            f"With a mask the results differ by up to {gap:.2g} from torch's.",
            where=("masked_fill", "where", "mask", "softmax"),
        )


class Masked(Relation):
    """A masked key has no influence."""

    name = "masked keys"
    sentence = "A key that is masked has no influence on the result."

    def check(self, sizes: Sizes) -> Broken | None:
        subject = self.subject
        if not subject.mask_parameter:
            raise Skip("it takes no mask")
        if subject.mask is None:
            unknown_formula(subject)
            return Broken(
                f"`{subject.mask_parameter}` changes the result, but in no convention does it hide "
                "a key: true hides, true shows, added to the scores, or 0 and 1.",
                where=("masked_fill", "where", "softmax", "mask"),
            )
        leak = leaks(subject, sizes)
        if leak is None:
            return None
        query, key = leak
        return Broken(
            f"Key {key} is masked for query {query}, but changing it changes that result.",
            where=("masked_fill", "where", "softmax", "mask"),
        )


def compared(
    subject: Subject, sizes: Sizes, recipe: Recipe, visible: torch.Tensor | None = None
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Return the actual results, and the closest expected ones if none agree."""
    with torch.no_grad():
        made, inputs = subject.build(sizes), subject.inputs(sizes)
        actual = subject.run(made, inputs, sizes, visible).value
        closest: torch.Tensor | None = None
        for found in possible(subject, made, inputs, sizes, recipe, visible):
            if agrees(actual, found):
                return actual, None
            if found.shape == actual.shape and (
                closest is None or (actual - found).norm() < (actual - closest).norm()
            ):
                closest = found
    if closest is None:
        raise Skip("its widths do not fit the formula")
    return actual, closest


def possible(subject, made, inputs, sizes, recipe, visible=None) -> list[torch.Tensor]:  # type: ignore[no-untyped-def]
    """Return the results by a recipe, one for each reading of the weights."""
    if not subject.is_module:
        q, k, v = (inputs[name] for name in "qkv")
        return [attend(q, k, v, sizes.heads, recipe, visible, kv_heads=sizes.kv_heads)]
    mapping, found = mapping_of(made), []
    for reading in readings(mapping):
        try:
            found.append(expected(mapping, reading, inputs, sizes, recipe, visible))
        except RuntimeError:
            continue
    return found


def agrees(actual: torch.Tensor, found: torch.Tensor) -> bool:
    """Return True if two results are equal but for rounding in single precision."""
    if actual.shape != found.shape:
        return False
    return bool(((actual - found).abs() <= CLOSE * max(scale_of(actual), 1e-2)).all())


def matching(subject: Subject, sizes: Sizes, right: Recipe) -> tuple[Mistake, ...]:
    """Return the known mistakes whose results match, at these sizes and at others."""
    until = time.process_time() + SECONDS
    with torch.no_grad():
        for recipe, mistakes in variants(right):
            if len(mistakes) == 2 and time.process_time() > until:
                break
            if fits(subject, sizes, recipe) and all(
                fits(subject, subject.batch_of(subject.fitted(other)), recipe) for other in DRAWS
            ):
                return mistakes
            if len(mistakes) == 2 and (scale := other_scale(subject, sizes, right)):
                return (scale,)
    return ()


def other_scale(subject: Subject, sizes: Sizes, right: Recipe) -> Mistake | None:
    """Find the factor of the scores by regression; return it if the results then agree."""
    if subject in SCALES:
        return SCALES[subject]
    made, inputs, actual = run_once(subject, sizes)

    def gap(power: float) -> float:
        recipe = replace(right, scale=f"x{2.0**power}")
        every = possible(subject, made, inputs, sizes, recipe)
        return min(
            (float((actual - one).norm()) for one in every if one.shape == actual.shape),
            default=inf,
        )

    best = min((step / 4 for step in range(-48, 33)), key=gap)
    low, high = best - 0.25, best + 0.25
    for _ in range(40):
        one, other = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, other) if gap(one) < gap(other) else (one, high)
    SCALES[subject] = None
    if gap(low) <= CLOSE * float(actual.norm()):
        head_dim = sizes.head_dim
        right_one = f"{head_dim**-0.5:.4g} = 1 / sqrt({head_dim})"
        said = f"The scores are multiplied by {2.0**low:.4g}, not by {right_one}."
        where = ("sqrt", "rsqrt", "scale", "scaling", "**", "/ ", "softmax")
        SCALES[subject] = Mistake("another_scale", said, (), where)
    return SCALES[subject]


SCALES: WeakKeyDictionary = WeakKeyDictionary()


def fits(subject: Subject, sizes: Sizes, recipe: Recipe) -> bool:
    """Return True if a recipe gives the definition's results."""
    try:
        made, inputs, actual = run_once(subject, sizes)
        return any(agrees(actual, one) for one in possible(subject, made, inputs, sizes, recipe))
    except Exception:
        return False


@lru_cache(maxsize=16)
def run_once(subject: Subject, sizes: Sizes):  # type: ignore[no-untyped-def]
    """Return the module, the inputs and the result at some sizes, for many comparisons."""
    made, inputs = subject.build(sizes), subject.inputs(sizes)
    return made, inputs, subject.run(made, inputs, sizes).value


RELATIONS: tuple[type[Relation], ...] = (Masked, Formula, MaskedFormula)
