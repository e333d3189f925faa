"""Equality with the formula of attention, and the known mistake whose results match."""

from contextlib import suppress
from dataclasses import dataclass, replace
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
from ..trials import drawn_mask, leaks
from .attention import unknown_formula
from .base import DRAWS, LARGE, NARROW, Broken, Relation, Sizes, Skip

CLOSE = 1e-4
UNNAMED = ("softmax", "scaled_dot_product_attention", "return")


def follows_formula(subject: Subject) -> bool:
    """Return True if a function gives the right results, causal or not."""
    try:
        sizes = subject.fitted(DRAWS[0])
        run = run_of(subject, sizes, False, subject.causal)
        return any(run.agrees(Recipe(mask=mask)) for mask in ("none", "causal"))
    except Exception:
        return False


class Formula(Relation):
    """Equality with torch's own attention under the inferred mapping of weights."""

    name = "equality with F.scaled_dot_product_attention"
    sentence = "With the same weights, torch's own attention gives the same results."
    draws: ClassVar[tuple[Sizes, ...]] = (*DRAWS, LARGE, NARROW)
    masked = False
    said = "The results differ"

    def check(self, sizes: Sizes) -> Broken | None:
        unknown_formula(self.subject)
        right = Recipe(mask="causal" if self.subject.causal else "none")
        run = run_of(self.subject, sizes, self.masked, self.subject.causal)
        if run.agrees(right):
            return None
        of_this_width = [one for one in run.results(right) if one.shape == run.actual.shape]
        matched = matching(run, right) if self.explain else ()
        if not of_this_width and not matched:
            raise Skip("its widths do not fit the formula")
        return Broken(
            self.said + gap_to(run.actual, of_this_width),
            causes=matched,
            where=UNNAMED,
        )


class MaskedFormula(Formula):
    """The same equality while a mask is passed in."""

    name = "equality with a mask"
    sentence = "With the same mask, torch's own attention gives the same results."
    masked = True
    said = "With a mask the results differ"

    def check(self, sizes: Sizes) -> Broken | None:
        if not self.subject.mask:
            raise Skip("it takes no mask")
        return super().check(sizes)


class DropoutOfWeights(Relation):
    """Dropout acts on each weight independently, and rescales the others once."""

    name = "dropout of the weights"
    sentence = "Dropout acts on each weight, and the others are scaled by 1 / (1 - rate) once."
    source = "Srivastava et al. 2014, section 10; Vaswani et al. 2017, section 5.4"
    follows_from = ("dropout only in training",)
    draws: ClassVar[tuple[Sizes, ...]] = (*DRAWS, LARGE)

    def fitted(self, sizes: Sizes) -> Sizes:
        return replace(super().fitted(sizes), dropout=RATES[sizes.tokens % len(RATES)])

    def check(self, sizes: Sizes) -> Broken | None:
        subject = self.subject
        if not subject.is_module or not subject.constructor_has("dropout"):
            raise Skip("it is told no dropout")
        unknown_formula(subject)
        right = Recipe(mask="causal" if subject.causal else "none")
        if not run_of(subject, sizes, False, subject.causal).agrees(right):
            raise Skip("it has another formula in evaluation")
        trained = run_of(subject, sizes, False, subject.causal, True)
        for dropout, cause in {"kept": None, **DROPOUTS}.items():
            if trained.agrees(replace(right, dropout=dropout, rate=sizes.dropout)):
                said = "In training the results are those of another kind of dropout."
                return Broken(said, causes=(cause,)) if cause else None
        raise Skip("its random numbers are not understood")


RATES = (0.3, 0.62, 0.07, 0.4, 0.15)
DROPOUTS = {
    what: Cause(name, says, ("1 - ", "rand", "dropout(", "dropout"))
    for what, name, says in (
        ("", "dropout_left_out", "Nothing is dropped."),
        ("scores", "dropout_on_scores", "Scores are dropped, not weights."),
        ("values", "dropout_on_values", "Values are dropped, not weights."),
        ("not rescaled", "dropout_not_rescaled", "What stays is not scaled up."),
        ("twice", "dropout_rescaled_twice", "What stays is scaled by 1 / (1 - rate) twice."),
        ("renormalized", "dropout_renormalized", "What stays is divided by its sum."),
        ("heads share", "dropout_pattern_shared", "All heads drop the same weights."),
        ("sequences share", "dropout_pattern_shared", "All sequences drop the same weights."),
        ("queries share", "dropout_pattern_shared", "All queries of a head drop the same keys."),
        ("keys share", "dropout_pattern_shared", "A query drops all its weights or none."),
        ("rest", "dropout_rate_inverted", "The rate is the share that is kept, not dropped."),
    )
}  # fmt: skip


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
    visible: torch.Tensor | None
    actual: torch.Tensor

    def results(self, recipe: Recipe) -> list[torch.Tensor]:
        """Return the results by a recipe, one for each reading of the weights."""
        sizes = self.sizes
        torch.default_generator.manual_seed(sizes.seed + 2)  # for dropout, as in Subject.run
        if self.mapping is None:
            q, k, v = (self.inputs[name] for name in "qkv")
            made = attend(q, k, v, sizes.heads, recipe, self.visible, kv_heads=sizes.kv_heads)
            return [-made if recipe.output == "negative" else made]
        found = []
        for reading in readings(self.mapping):
            try:
                made = expected(self.mapping, reading, self.inputs, sizes, recipe, self.visible)
            except (RuntimeError, IndexError):
                continue
            found.append(made)
        return found

    def agrees(self, recipe: Recipe) -> bool:
        """Return True if a recipe gives the definition's results."""
        return any(agrees(self.actual, one) for one in self.results(recipe))


@lru_cache(maxsize=16)
def run_of(
    subject: Subject, sizes: Sizes, masked: bool, causal: bool, training: bool = False
) -> Run:
    """Run a definition, with a mask or without.

    causal: the current value of `subject.causal`, because results are cached by the arguments.
    """
    with torch.no_grad():
        made, inputs = subject.build(sizes), subject.inputs(sizes)
        visible = drawn_mask(subject, sizes) if masked else None
        actual = subject.run(made, inputs, sizes, visible, training).value
        mapping = mapping_of(made) if subject.is_module else None
    return Run(subject, sizes, inputs, mapping, visible, actual)


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
    subject, masked = run.subject, run.visible is not None
    others = [subject.fitted(other) for other in DRAWS]
    with suppress(Exception):
        if run.sizes != others[0] and run_of(subject, others[0], masked, subject.causal).agrees(
            right
        ):
            return (SPECIAL_CASE,)  # a mistake of the formula shows at every size

    def matches(recipe: Recipe) -> bool:
        try:
            return run.agrees(recipe) and all(
                run_of(subject, other, masked, subject.causal).agrees(recipe) for other in others
            )
        except Exception:  # the code or the recipe does not run at one of the sizes
            return False

    with torch.no_grad():
        for mistake in MISTAKES:
            if mistake.of(right) != right and matches(mistake.of(right)):
                return (mistake,)
    return ()


RELATIONS: tuple[type[Relation], ...] = (Masked, Formula, MaskedFormula, DropoutOfWeights)
