"""Relations on the shape of results, and on which token's result depends on which token."""

from dataclasses import replace
from typing import ClassVar

import torch
from torch import Tensor, nn

from ..errors import CannotRun, known_errors, line_raising, raised
from ..mapping import mapping_of
from ..other_formulas import knows_positions, own_formula
from ..reference import Cause
from ..subject import Output, Subject, dependence, moved
from .base import (
    DRAWS,
    LARGE,
    NARROW,
    SINGLE,
    Broken,
    Relation,
    Sizes,
    Skip,
)


class Shape(Relation):
    """One result for each token, at all sizes."""

    name = "shape"
    sentence = "There is one result for each token, at every size."
    draws: ClassVar[tuple[Sizes, ...]] = (*DRAWS, SINGLE, LARGE, NARROW)

    def check(self, sizes: Sizes) -> Broken | None:
        subject = self.subject
        if sizes.head_dim == 1 and not is_plain(subject):
            return None
        inputs = subject.inputs(sizes)
        for training in (True, False) if subject.is_module else (False,):
            try:
                value = subject.run(subject.build(sizes), inputs, sizes, training=training).value
            except CannotRun as error:
                causes = tuple(replace(one, where=("return",)) for one in known_errors(str(error)))
                return Broken(f"{error}.", causes=causes)
            except Exception as error:
                shapes = ", ".join(f"{n} {tuple(v.shape)}" for n, v in inputs.items())
                during = " in training" if training else ""
                said = f"With {shapes}, {raised(error, subject.target)}{during}."
                return Broken(said, line=line_raising(error, subject.target))
        if subject.equal and subject.constructor_has("width") and subject.constructor_has("d_out"):
            return self.of_other_width(sizes)
        return self.of_another_width(value, sizes)

    def of_other_width(self, sizes: Sizes) -> Broken | None:
        """Return a failure if a constructor takes both widths, and only equal ones work."""
        subject = replace(self.subject, equal=False)
        if not is_plain(self.subject):
            return None
        try:
            value = subject.run(subject.build(sizes), subject.inputs(sizes), sizes).value
        except RuntimeError as error:
            said = f"The input must be as wide as the output: {raised(error, subject.target)}."
            return Broken(said, causes=(WIDTHS_EQUAL,))
        return self.of_another_width(value, sizes)

    def of_another_width(self, value: Tensor, sizes: Sizes) -> Broken | None:
        """Return a failure if a result is not as wide as the constructor's arguments say."""
        wide = (sizes.width, sizes.heads * sizes.width)  # the width may be that of each head
        if not self.subject.constructor_has("d_out") or value.shape[-1] in wide:
            return None
        said = f"The result is {value.shape[-1]} wide instead of {sizes.width}."
        return Broken(said, where=("return",))


WIDTHS_EQUAL = Cause(
    "input_width_ignored",
    "A weight is made for the width of the output where it gets the input, or the other way round.",
    ("Linear", "Parameter"),
)


class Causality(Relation):
    """No token sees a later one."""

    name = "causality in evaluation"
    sentence = "A token's result does not depend on later tokens."
    source = "Vaswani et al. 2017, section 3.2.3"
    draws: ClassVar[tuple[Sizes, ...]] = (*DRAWS, LARGE)
    training = False

    def check(self, sizes: Sizes) -> Broken | None:
        if not self.subject.causal:
            raise Skip("it is not causal")
        if sizes.tokens > 20:
            return self.at_the_end(sizes)
        table = dependence(self.subject, sizes, training=self.training)
        future = table.triu(1).nonzero()
        if not len(future) or self.is_random(sizes):
            return None
        seeing, seen = map(int, future[0])
        return self.broken(seeing, seen)

    def broken(self, seeing: int, seen: int) -> Broken:
        """Return the failure in words."""
        during = " in training" if self.training else ""
        return Broken(
            f"Changing token {seen} changes the result of token {seeing}{during}.",
            where=(
                "masked_fill",
                "triu",
                "tril",
                "where",
                "softmax",
                "scaled_dot_product_attention",
            ),
        )

    def is_random(self, sizes: Sizes) -> bool:
        """Return True if two equal calls give different results, such as with its own generator."""
        subject = self.subject
        made, inputs = subject.build(sizes), subject.inputs(sizes)
        with torch.no_grad():
            one, other = (
                subject.run(made, inputs, sizes, training=self.training).value for _ in range(2)
            )
        return moved(one, other)

    def at_the_end(self, sizes: Sizes) -> Broken | None:
        """Check long inputs with a single change, of the last token."""
        subject = self.subject
        made, inputs = subject.build(sizes), subject.inputs(sizes)
        changed = {name: value.clone() for name, value in inputs.items()}
        for value in changed.values():
            value[:, -1] = 1 - value[:, -1]
        with torch.no_grad():
            before, after = (
                subject.run(made, one, sizes, training=self.training).value[:, :-1]
                for one in (inputs, changed)
            )
        if not moved(before, after):
            return None
        if not before.isfinite().all() or self.is_random(sizes):
            return None
        first = int(((before - after).abs().amax((0, 2)) > 1e-9).nonzero()[0])
        return self.broken(first, sizes.tokens - 1)


class CausalityInTraining(Causality):
    """No token sees a later one while dropout is active."""

    name = "causality in training"
    sentence = "A token's result does not depend on later tokens while dropout is active."
    training = True

    def fitted(self, sizes: Sizes) -> Sizes:
        return replace(super().fitted(sizes), dropout=0.3)

    def broken(self, seeing: int, seen: int) -> Broken:
        told = super().broken(seeing, seen)
        if not self.explain or not mask_only_in_evaluation(self.subject):
            return told
        return replace(told, causes=(MASK_ONLY_IN_EVALUATION,))


MASK_ONLY_IN_EVALUATION = Cause(
    "mask_only_in_evaluation",
    "The mask has no effect in training, so a model learns from the tokens that it should predict.",
    (
        "training",
        "if p",
        "dropout.p",
        "masked_fill",
        "triu",
        "tril",
        "where",
        "softmax",
        "is_causal",
    ),
)


def mask_only_in_evaluation(subject: Subject) -> bool:
    """Return True if no token sees a later one in evaluation, and all are seen in training."""
    in_evaluation = Causality(subject)
    if any(in_evaluation.check(in_evaluation.fitted(sizes)) for sizes in DRAWS):
        return False
    sizes = replace(in_evaluation.fitted(DRAWS[0]), dropout=0.1)
    with torch.no_grad():
        made, inputs = subject.build(sizes), subject.inputs(sizes)
        if not subject.run(made, inputs, sizes, training=True).value.isfinite().all():
            return False
    return bool(dependence(subject, sizes, training=True).triu(1).any(0)[1:].all())


def unknown_formula(subject: Subject) -> None:
    """Raise Skip if the definition does not claim to follow the plain formula."""
    if subject.given == "q, k":
        raise Skip("it returns weights only")
    if own := own_formula(subject):
        raise Skip(f"its code has a formula of its own (`{own}`)")
    if knows_positions(subject):
        raise Skip("it knows positions")
    if subject.is_module:
        sizes = subject.fitted(DRAWS[0])
        mapping = mapping_of(subject.build(sizes))
        if not mapping.complete:
            why = f"`{mapping.extra[0]}`" if mapping.extra else "queries, keys or values"
            raise Skip(f"no role was found for {why} among its weights")


def is_plain(subject: Subject) -> bool:
    """Return True if the definition claims to follow the plain formula."""
    try:
        unknown_formula(subject)
    except Skip:
        return False
    return True


class Cache(Relation):
    """With a cache the same results come out as without."""

    name = "cache equals no cache"
    sentence = "Tokens passed in pieces, with a cache, give the same results as all at once."
    draws: ClassVar[tuple[Sizes, ...]] = (*DRAWS, LARGE)

    def check(self, sizes: Sizes) -> Broken | None:
        subject = self.subject
        if not subject.has("cache") or subject.layout != "batch, tokens":
            raise Skip("it takes no cache")
        if sizes.tokens < 3 or set(subject.inputs(sizes)) != {"x"}:
            raise Skip("its cache is not understood")
        made, inputs = subject.build(sizes), subject.inputs(sizes)
        with torch.no_grad():
            whole = subject.run(made, inputs, sizes, wants_cache=True).value
            for chunks in ([1] * sizes.tokens, [2, sizes.tokens - 2], [sizes.tokens - 1, 1]):
                parts, cache = [], None
                for piece in inputs["x"].split(chunks, dim=1):
                    out = subject.run(made, {"x": piece}, sizes, cache=cache, wants_cache=True)
                    cache = out.cache
                    if cache is None:
                        raise Skip("it returns no cache")
                    parts.append(out.value)
                if moved(whole, torch.cat(parts, dim=1)):
                    pieces = " + ".join(map(str, chunks))
                    said = f"If the tokens are passed in pieces of {pieces}, the results differ."
                    causes = (
                        (MASK_FROM_FIRST_KEY,)
                        if self.sees_the_first(made, inputs["x"], sizes)
                        else ()
                    )
                    return Broken(said, causes=causes, where=MASK_FROM_FIRST_KEY.where)
            return self.taking_turns(made, inputs["x"], sizes, whole)

    def sees_the_first(self, made: nn.Module, x: Tensor, sizes: Sizes) -> bool:
        """Return True if a single new token sees the first key, and no other cached one."""
        found = []
        for places in (slice(0), slice(1, -1), slice(0, 1)):
            changed = x.clone()
            changed[:, places] = 1 - x[:, places]
            cache = None
            for piece in changed.split([x.shape[1] - 1, 1], dim=1):
                out = self.subject.run(made, {"x": piece}, sizes, cache=cache, wants_cache=True)
                cache = out.cache
            found.append(out.value)
        return moved(found[0], found[2]) and not moved(found[0], found[1])

    def taking_turns(
        self, made: nn.Module, x: Tensor, sizes: Sizes, whole: Tensor
    ) -> Broken | None:
        """Return a failure if another input between two pieces changes the second one's result."""

        def run(piece: Tensor, cache: object = None) -> Output:
            return self.subject.run(made, {"x": piece}, sizes, cache=cache, wants_cache=True)

        cache = run(x[:, :-1]).cache
        run(1 - x[:, :-1])
        twice = [run(x[:, -1:], cache).value for _ in range(2)]  # a call must not change its cache
        if not any(moved(whole[:, -1:], value) for value in twice):
            return None
        return Broken(
            "Another text between two pieces changes the second one's result: the module keeps "
            "state of its own.",
            causes=(KEEPS_STATE,),
        )


KEEPS_STATE = Cause(
    "keeps_state",
    "Something from an earlier call is kept and used again.",
    ("self=", "setdefault", "hasattr", "getattr", "__dict__", "training"),
)
MASK_FROM_FIRST_KEY = Cause(
    "causal_mask_from_first_key",
    "Next to a cache the causal mask counts from the first key, so that a new token sees only the "
    "oldest ones. Shift the mask by the number of cached keys.",
    ("is_causal", "triu", "tril", "mask", "masked_fill", "cat"),
)

RELATIONS: tuple[type[Relation], ...] = (
    Shape, Causality, CausalityInTraining, Cache,
)  # fmt: skip
