"""Equality with the formula of attention, and the known mistake whose results match."""

from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from math import inf, isfinite
from typing import ClassVar

import torch

from ..mapping import Mapping, expected, mapping_of, readings
from ..reference import (
    MISTAKES,
    Cause,
    Recipe,
    attend,
)
from ..subject import Subject, scale_of
from ..trials import leaks
from .attention import unknown_formula
from .base import DRAWS, LARGE, NARROW, Broken, Relation, Sizes, Skip

CLOSE = 1e-4
UNNAMED = ("softmax", "scaled_dot_product_attention", "return")


def follows_formula(subject: Subject) -> bool:
    """Return True if a function gives the right results, causal or not."""
    try:
        sizes = subject.fitted(DRAWS[0])
        run = run_of(subject, sizes, subject.causal)
        return any(run.agrees(Recipe(mask=mask)) for mask in ("none", "causal"))
    except Exception:
        return False


class Formula(Relation):
    """Equality with torch's own attention under the inferred mapping of weights."""

    name = "equality with F.scaled_dot_product_attention"
    sentence = "With the same weights, torch's own attention gives the same results."
    draws: ClassVar[tuple[Sizes, ...]] = (*DRAWS, LARGE, NARROW)

    def check(self, sizes: Sizes) -> Broken | None:
        unknown_formula(self.subject)
        right = Recipe(mask="causal" if self.subject.causal else "none")
        run = run_of(self.subject, sizes, self.subject.causal)
        if run.agrees(right):
            return None
        of_this_width = [one for one in run.results(right) if one.shape == run.actual.shape]
        matched = matching(run, right) if self.explain else ()
        if not of_this_width and not matched:
            raise Skip("its widths do not fit the formula")
        return Broken(
            f"The results differ{gap_to(run.actual, of_this_width)}",
            causes=matched,
            where=UNNAMED,
        )


def gap_to(actual: torch.Tensor, expected_ones: list[torch.Tensor]) -> str:
    """Return in words how far results are from the closest expected ones."""
    gaps = [float((actual - one).abs().max()) for one in expected_ones]
    largest = min(filter(isfinite, gaps), default=inf)
    by = f" by up to {largest:.2g}" if isfinite(largest) else ""
    return f"{by} from those of the same formula in torch."


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


@dataclass(frozen=True)
class Run:
    """One run of a definition, to compare with many recipes."""

    subject: Subject
    sizes: Sizes
    inputs: dict[str, torch.Tensor]
    mapping: Mapping | None
    actual: torch.Tensor

    def results(self, recipe: Recipe) -> list[torch.Tensor]:
        """Return the results by a recipe, one for each reading of the weights."""
        sizes = self.sizes
        if self.mapping is None:
            q, k, v = (self.inputs[name] for name in "qkv")
            made = attend(q, k, v, sizes.heads, recipe, kv_heads=sizes.kv_heads)
            return [-made if recipe.output == "negative" else made]
        found = []
        for reading in readings(self.mapping):
            try:
                made = expected(self.mapping, reading, self.inputs, sizes, recipe)
            except (RuntimeError, IndexError):
                continue
            found.append(made)
        return found

    def agrees(self, recipe: Recipe) -> bool:
        """Return True if a recipe gives the definition's results."""
        return any(agrees(self.actual, one) for one in self.results(recipe))


@lru_cache(maxsize=16)
def run_of(subject: Subject, sizes: Sizes, causal: bool) -> Run:
    """Run a definition.

    causal: the current value of `subject.causal`, because results are cached by the arguments.
    """
    with torch.no_grad():
        made, inputs = subject.build(sizes), subject.inputs(sizes)
        actual = subject.run(made, inputs, sizes).value
        mapping = mapping_of(made) if subject.is_module else None
    return Run(subject, sizes, inputs, mapping, actual)


def agrees(actual: torch.Tensor, found: torch.Tensor) -> bool:
    """Return True if two results are equal but for rounding in single precision."""
    if actual.shape != found.shape:
        return False
    both_nan = actual.isnan() & found.isnan()
    known = ~found.isnan() | both_nan  # for a row without visible keys, any value agrees
    near = (actual - found).abs() <= CLOSE * max(scale_of(actual), 1e-2)
    enough = bool(known.double().mean() > 0.5)
    return enough and bool((near | (actual == found) | both_nan | ~known).all())


SPECIAL_CASE = Cause(
    "special_case",
    "The results are right at other sizes or options. Something has a fixed size, or a special "
    "case is wrong.",
    ("min(", "[:", " if ", "if ", *UNNAMED),
)


def matching(run: Run, right: Recipe) -> tuple[Cause, ...]:
    """Return the known mistake whose results match, at these sizes and at others."""
    subject = run.subject
    others = [subject.fitted(other) for other in DRAWS]
    with suppress(Exception):
        if run.sizes != others[0] and run_of(subject, others[0], subject.causal).agrees(right):
            return (SPECIAL_CASE,)  # a mistake of the formula shows at every size

    def matches(recipe: Recipe) -> bool:
        try:
            return run.agrees(recipe) and all(
                run_of(subject, other, subject.causal).agrees(recipe) for other in others
            )
        except Exception:  # the code or the recipe does not run at one of the sizes
            return False

    with torch.no_grad():
        for mistake in MISTAKES:
            if mistake.of(right) != right and matches(mistake.of(right)):
                return (mistake,)
    return ()


RELATIONS: tuple[type[Relation], ...] = (Masked, Formula)
