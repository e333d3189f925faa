"""Relations: a function each, with a name, a sentence, a source, and the sizes to try it on."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from typing import Any

import torch
from torch import Tensor

from .agreement import (
    DRAWS,
    Skip,
    gap_to_block,
    gap_to_formula,
    must_be_plain,
    named_form,
    named_mistake,
)
from .code import Raised
from .formula import MASK, Cause
from .mapping import mapping_of
from .parts import Part, convention_of, gap
from .roles import Sizes
from .subject import CannotRun, Output, Subject, changed_at, dependence, moved
from .trials import FAILURES, drawn_mask, leak

VASWANI = "Vaswani et al. 2017, section 3.2"
LARGE = Sizes(5, 102, 9, 18, kv_heads=3, tokens_of_context=104, seed=4)
SINGLE = replace(DRAWS[0], tokens=1, batch=1, seed=5)
NARROW = replace(DRAWS[0], heads=1, kv_heads=1, head_dim=1, seed=6, biases=True)
PART_DRAWS = (
    Sizes(batch=2, tokens=5, heads=2, head_dim=3, seed=1),
    Sizes(batch=3, tokens=7, heads=3, head_dim=4, seed=2),
    Sizes(batch=2, tokens=1, heads=2, head_dim=8, seed=3),
    Sizes(batch=2, tokens=130, heads=2, head_dim=20, seed=4),
)
# Known mistakes by name: words on the line that they may be on, and a sentence.
KNOWN = {
    "input_width_ignored": ("Linear Parameter", "A weight is made for the width of the output where it gets the input, or the other way round."),
    "input_changed_in_place": ("_( -= += *= /=", "The caller's tensor is changed in place."),
    "detached": ("detach no_grad inference_mode data item tensor", "A value is cut off from the weights that made it, so these never learn."),
    "mask_only_in_evaluation": ("is_causal training if p dropout.p masked_fill triu tril where softmax", "The mask has no effect in training, so a model learns from the tokens that it should predict."),
    "keeps_state": ("self= setdefault hasattr getattr __dict__ training", "Something from an earlier call is kept and used again."),
    "causal_mask_from_first_key": ("is_causal triu tril mask masked_fill cat", "Next to a cache the causal mask counts from the first key, so that a new token sees only the oldest ones. Shift the mask by the number of cached keys."),
    "dropout_seed_fixed": ("seed Generator dropout", "Dropout drops the same in each call."),
    "dropout_rate_ignored": ("Dropout( dropout(", "The rate that the constructor gets is not the one that dropout uses."),
    "dropout_always_on": ("dropout( dropout scaled_dot_product_attention", "Dropout is active in evaluation too."),
    "dropout_rescaled_always": ("1- dropout.p dropout", "The rate of dropout has an effect in evaluation too, where nothing is dropped."),
    "dropout_left_out": ("Identity dropout( dropout softmax scaled_dot_product_attention", "Dropout is left out, switched off, or its result is thrown away."),
    "other_in_training": ("training is_causal dropout", "Something else than dropout depends on the mode."),
    "seed_set_inside": ("seed", "A fixed seed inside gives all modules the same weights, and changes the caller's numbers."),
    "keeps_a_weight_elsewhere": ("lambda weight. Parameter", "A function or tensor made from weights is kept in the module, and copies keep the old one."),
    "type_lost": ("float to( zeros full ones", "A tensor is made, or converted, without the type of the input."),
    "result_of_another_shape": ("return", "The result has another shape than one row of numbers for each token."),
}  # fmt: skip


def known(name: str) -> Cause:
    """Return a known mistake."""
    where, sentence = KNOWN[name]
    return Cause(name, sentence, where)


@dataclass(frozen=True)
class Broken:
    """A failure at some sizes.

    says: what was seen, in a sentence. cause: the known mistake that shows it, or its name. where:
    words on the line that it may be on, if there is no cause. line: the one that raises an error.
    """

    says: str
    cause: Cause | str | None = None
    where: str = ""
    line: int = 0


@dataclass(frozen=True)
class Relation:
    """One property of correct code. `check` raises Skip if it does not apply.

    dropout: the rate at which it is tested. explain: looks for the known mistake of a failure.
    """

    name: str
    sentence: str
    source: str
    check: Callable[[Any, Sizes], Broken | None]
    draws: tuple[Sizes, ...] = DRAWS
    dropout: float = 0.0
    explain: Callable[[Any, Sizes], Cause | None] = lambda subject, sizes: None

    def fitted(self, subject: Subject | Part, sizes: Sizes) -> Sizes:
        """Return sizes that a definition can have, with the rate of dropout."""
        return replace(subject.fitted(sizes), dropout=self.dropout)

    def fails(self, subject: Subject | Part, sizes: Sizes) -> bool:
        """Return True if the relation is broken at these sizes; an error is no proof of that."""
        try:
            return self.check(subject, self.fitted(subject, sizes)) is not None
        except (Skip, *FAILURES):
            return False


@dataclass(frozen=True)
class Result:
    """The outcome of one relation: it holds, it is broken at some sizes, or it was skipped."""

    relation: Relation
    broken: Broken | None = None
    cause: Cause | None = None
    sizes: Sizes | None = None
    skipped: str = ""


def result_of(relation: Relation, subject: Subject | Part) -> Result:
    """Test a relation. A failure counts only if it occurs at fresh sizes too.

    An error is a reason to skip it, because the audit may have misread the code.
    """
    try:
        for sizes in relation.draws:
            fitted = relation.fitted(subject, sizes)
            broken = relation.check(subject, fitted)
            if broken and all(relation.fails(subject, fresh) for fresh in afresh(sizes)):
                cause = known(broken.cause) if isinstance(broken.cause, str) else broken.cause
                cause = cause or relation.explain(subject, fitted)
                return Result(relation, broken, cause, fitted)
    except (Skip, *FAILURES) as error:
        return Result(relation, skipped=str(error))
    return Result(relation)


def afresh(sizes: Sizes) -> list[Sizes]:
    """Return other sizes of the same kind, with other numbers."""
    more, longer = int(sizes.tokens > 1), int(sizes.batch > 1)  # one alone can be a special case
    keys, seed = sizes.tokens_of_context + 2, sizes.seed
    return [
        replace(sizes, seed=seed + 100, batch=sizes.batch + longer),
        replace(sizes, seed=seed + 200, tokens=sizes.tokens + more, tokens_of_context=keys),
    ]


def results_of(subject: Subject | Part) -> list[Result]:
    """Test the relations that are about a definition of this kind."""
    relations = PARTS if isinstance(subject, Part) else RELATIONS
    return [result_of(relation, subject) for relation in relations]


def is_plain(subject: Subject) -> bool:
    """Return True if the definition claims to follow the plain formula."""
    try:
        must_be_plain(subject)
        return True
    except Skip:
        return False


def shape(subject: Subject, sizes: Sizes) -> Broken | None:
    """Check for one result for each token, in training and in evaluation."""
    if sizes.head_dim == 1 and not is_plain(subject):
        return None
    value = torch.empty(0)
    for training in (True, False) if subject.is_module else (False,):
        try:
            value = subject.value(sizes, training=training)
        except CannotRun as error:
            return Broken(f"{error}.", "result_of_another_shape")
        except Raised as error:
            shapes = ", ".join(f"{n} {tuple(v.shape)}" for n, v in subject.inputs(sizes).items())
            during = " in training" if training else ""
            return Broken(f"With {shapes}, {error}{during}.", line=error.line)
    if not subject.constructor_has("d_out"):
        return None
    if subject.equal and subject.constructor_has("width") and is_plain(subject):
        try:
            value = replace(subject, equal=False).value(sizes)
        except Raised as error:
            said = f"The input must be as wide as the output: {error}."
            return Broken(said, "input_width_ignored", line=error.line)
    if value.shape[-1] in (sizes.width, sizes.heads * sizes.width):  # that of each head
        return None
    return Broken(f"The result is {value.shape[-1]} wide instead of {sizes.width}.", where="return")


def causality(subject: Subject, sizes: Sizes, training: bool = False) -> Broken | None:
    """Check that no token sees a later one."""
    if not subject.causal:
        raise Skip("it is not causal")
    future = dependence(subject, sizes, training).triu(1).nonzero()
    if not len(future) or is_random(subject, sizes, training):
        return None
    seeing, seen = map(int, future[0])
    during = " in training" if training else ""
    said = f"Changing token {seen} changes the result of token {seeing}{during}."
    return Broken(said, where=MASK)


def is_random(subject: Subject, sizes: Sizes, training: bool) -> bool:
    """Return True if two equal calls give different results, such as with its own generator."""
    made = subject.build(sizes)
    one, other = (subject.value(sizes, made=made, training=training) for _ in range(2))
    return moved(one, other)


def only_in_evaluation(subject: Subject, sizes: Sizes) -> Cause | None:
    """Return the mistake if no token sees a later one in evaluation, and all do in training."""
    if any(causality(subject, subject.fitted(one)) for one in DRAWS):
        return None
    rarely = replace(subject.fitted(DRAWS[0]), dropout=0.1)
    seen = dependence(subject, rarely, training=True).triu(1).any(0)[1:]
    return known("mask_only_in_evaluation") if seen.all() else None


def cache(subject: Subject, sizes: Sizes) -> Broken | None:
    """Check that tokens passed in pieces, with a cache, give the same results as all at once."""
    inputs = subject.inputs(sizes)
    if not subject.has("cache") or subject.layout != "batch, tokens":
        raise Skip("it takes no cache")
    if sizes.tokens < 3 or {*inputs} != {"x"}:
        raise Skip("its cache is not understood")
    made, x, n = subject.build(sizes), inputs["x"], sizes.tokens

    def run(x: Tensor, cache: str = "") -> Output:
        return subject.run(made, {"x": x}, sizes, cache=cache)

    def in_pieces(x: Tensor, chunks: list[int]) -> Tensor:
        parts = [run(x[:, : chunks[0]])]
        for piece in x[:, chunks[0] :].split(chunks[1:], dim=1):
            if not parts[-1].cache:
                raise Skip("it returns no cache")
            parts.append(run(piece, parts[-1].cache))
        return torch.cat([one.value for one in parts], dim=1)

    whole = run(x).value
    for chunks in ([1] * n, [2, n - 2], [n - 1, 1]):
        if moved(whole, in_pieces(x, chunks)):
            said = f"If the tokens are passed in pieces of {' + '.join(map(str, chunks))}, the "
            places = (slice(0), slice(1, -1), slice(0, 1))  # none, all but the first, the first
            plain, others, first = (
                in_pieces(changed_at({"x": x}, ["x"], place)["x"], [n - 1, 1])[:, -1:]
                for place in places
            )
            sees_the_first = moved(plain, first) and not moved(plain, others)
            cause = "causal_mask_from_first_key"
            where = KNOWN[cause][0]
            return Broken(f"{said}results differ.", cause if sees_the_first else None, where)
    kept = run(x[:, :-1]).cache
    run(1 - x[:, :-1])
    # Twice, because a call must not change its cache.
    if any(moved(whole[:, -1:], run(x[:, -1:], kept).value) for _ in range(2)):
        said = "Another text between two pieces changes the second one's result: the module keeps "
        return Broken(f"{said}state of its own.", "keeps_state")
    return None


def masked_keys(subject: Subject, sizes: Sizes) -> Broken | None:
    """Check that a key that is masked has no influence."""
    if not subject.mask_parameter:
        raise Skip("it takes no mask")
    if subject.mask is None:
        must_be_plain(subject)
        said = f"`{subject.mask_parameter}` changes the result, but in no convention does it hide "
        said += "a key: true hides, true shows, added to the scores, or 0 and 1."
        return Broken(said, where=MASK)
    if (found := leak(subject, sizes)) is None:
        return None
    said = f"Key {found[1]} is masked for query {found[0]}, but changing it changes that result."
    return Broken(said, where=MASK)


def formula(subject: Subject, sizes: Sizes) -> Broken | None:
    """Check for equality with torch's own attention under the inferred mapping of weights."""
    said = gap_to_formula(subject, sizes)
    where = "softmax scaled_dot_product_attention return"
    return Broken(said, where=where) if said else None


def block(subject: Subject, sizes: Sizes) -> Broken | None:
    """Check that a block adds the results of its two parts, with norms before or behind them."""
    said = gap_to_block(subject, sizes)
    return Broken(said, where="x = x + norm return") if said else None


def dropout_in_training(subject: Subject, sizes: Sizes) -> Broken | None:
    """Check that dropout is active in training only."""
    if not subject.constructor_has("dropout"):
        raise Skip("it is told no dropout")
    made, later = subject.build(sizes), replace(sizes, seed=sizes.seed + 50)
    inputs, rate = subject.inputs(sizes), sizes.dropout
    one, other = (subject.run(made, inputs, at).value for at in (sizes, later))
    plain = subject.value(replace(sizes, dropout=0.0))
    if not one.isfinite().all():
        raise Skip("its results are not finite")
    if moved(one, other):
        return Broken("In evaluation two calls give different results.", "dropout_always_on")
    if one.shape == plain.shape and moved(one, plain):
        said = f"In evaluation, results with dropout={rate} differ from those without dropout."
        return Broken(said, "dropout_rescaled_always")
    if sizes.tokens < 3:
        return None
    first = subject.value(sizes, made=made, training=True)
    copy = subject.build(later, made.state if made else {})
    again = subject.run(copy, inputs, later, training=True).value
    trained = subject.run(made, inputs, sizes, training=True)
    if not moved(one, trained.value):
        said = f"In training, with dropout={rate}, nothing is dropped."
        return Broken(said, "dropout_left_out")
    if not moved(first, subject.value(replace(sizes, dropout=rate / 2), training=True)):
        return Broken("The rate of dropout has no effect.", "dropout_rate_ignored")
    if not moved(first, again) or (trained.rewound and not moved(first, trained.value)):
        return Broken("In training two calls drop the same.", "dropout_seed_fixed")
    return None


def training_without_dropout(subject: Subject, sizes: Sizes) -> Broken | None:
    """Check that without dropout, training changes nothing."""
    made, inputs = subject.build(sizes), subject.inputs(sizes)
    if not made:
        raise Skip("it is a function")
    if subject.causal and causality(subject, replace(sizes, dropout=0.3), training=True):
        raise Skip("causality in training fails")
    visible = drawn_mask(subject, sizes) if subject.mask else None
    trained, again = (
        subject.run(made, inputs, replace(sizes, seed=seed), visible, training=True).value
        for seed in (sizes.seed, sizes.seed + 50)
    )
    after = subject.run(made, inputs, sizes, visible).value
    plain = subject.run(subject.build(sizes), inputs, sizes, visible).value
    if moved(trained, again):
        raise Skip("it is random in training")
    if moved(plain, after):
        raise Skip("it learns statistics in training")
    if plain.shape == trained.shape and moved(plain, trained):
        said = "With dropout=0, the results in training differ from those in evaluation."
        return Broken(said, "other_in_training")
    return None


def gradients(subject: Any, sizes: Sizes) -> Broken | None:
    """Check that gradients reach the weights and the input, and are the slopes of the result."""
    made, inputs = subject.build(sizes), subject.inputs(sizes)
    tensors = {n: v for n, v in inputs.items() if isinstance(v, Tensor) and v.is_floating_point()}
    weights = {n: w for n, w in (made.weights if made else {}).items() if w.is_floating_point()}
    leaves = {n: v.clone().requires_grad_() for n, v in (tensors | weights).items()}
    if not tensors:
        raise Skip("it takes no tensor")
    layers = mapping_of(made).layers.values() if made and sizes.tokens > 1 else ()
    needed = [*tensors, *(n for one in layers for n in (one.name, f"{one.name}.weight"))]
    for training in (True, False) if made else (True,):

        def result(*values: Tensor, training: bool = training) -> Tensor:
            named = dict(zip(leaves, values, strict=True))
            own = {n: v for n, v in named.items() if n in weights}
            given = inputs | {n: v for n, v in named.items() if n in tensors}
            return subject.run(made, given, sizes, training=training, weights=own).value

        during = "" if training else " in evaluation"
        try:
            value = result(*leaves.values())
            chance = torch.Generator().manual_seed(1)
            ways = torch.randn(value.shape, generator=chance, dtype=value.dtype)
            found = torch.autograd.grad(value, [*leaves.values()], ways, allow_unused=True)
        except Raised as error:
            if "inplace" not in error.text and "in-place" not in error.text:
                raise
            return Broken(f"Autograd refuses: {error.text}", where="+= *= _(")
        grads = dict(zip(leaves, found, strict=True))
        for name in filter(grads.__contains__, needed):
            if grads[name] is None or not grads[name].any():
                return cut_off(subject, f"No gradient reaches `{name}`{during}.")
        if value.dtype == torch.float64 and not slopes(result, [*leaves.values()]):
            return cut_off(subject, f"The gradients are not the slopes of the results{during}.")
    return None


def slopes(result: Callable[..., Tensor], leaves: list[Tensor]) -> bool:
    """Return True if gradients are the slopes of a result, even one made in single precision."""
    how: dict[str, Any] = {"eps": 1e-3, "atol": 1e-4, "rtol": 2e-2, "nondet_tol": inf}
    how |= {"fast_mode": True, "raise_exception": False, "check_undefined_grad": False}
    return torch.autograd.gradcheck(result, leaves, **how)


def cut_off(subject: Any, said: str) -> Broken:
    """Return a failure of gradients, with the known mistake if a name in the code suggests it."""
    where = KNOWN["detached"][0]
    cut = {*where.split()} & {*subject.definition.names}
    return Broken(said, "detached" if cut else None, where)


def state_dict(subject: Subject, sizes: Sizes) -> Broken | None:
    """Check that stored weights restore a module."""
    one, later = subject.build(sizes), replace(sizes, seed=sizes.seed + 17)
    other = subject.build(later, one.state) if one else None
    if not one or not other:
        raise Skip("it is a function")
    if not other.seeded:
        return Broken("Its constructor sets torch's seed.", "seed_set_inside")
    before = subject.value(sizes, made=one)
    if moved(before, subject.value(sizes, made=other)):
        said = "Some weights are missing in the state_dict: results differ after loading it."
        sentence = f"`{other.plain}` is {NOT_REGISTERED}"
        cause = Cause("not_registered", sentence, f"self.{other.plain}=")
        return Broken(said, cause if other.plain else None, "rand Parameter")
    try:
        copied = subject.build(later, one.state, copied=True)
    except Raised as error:
        if "deepcopy protocol" not in error.text:
            raise
        return Broken("copy.deepcopy raises an error.", "keeps_a_weight_elsewhere")
    if moved(before, subject.value(sizes, made=copied)):
        said = "A copy of it, by copy.deepcopy, does not use its own weights."
        return Broken(said, "keeps_a_weight_elsewhere")
    return None


NOT_REGISTERED = (
    "no part of the module, so it is not stored, trained or moved to a device. Use nn.Parameter, "
    "register_buffer or nn.ModuleList."
)


def dtype(subject: Subject, sizes: Sizes) -> Broken | None:
    """Check that the result has the type of the input."""
    found = subject.value(sizes).dtype
    said = f"The result is {found} instead of {subject.dtype}."
    return Broken(said, "type_lost") if found != subject.dtype else None


def inputs_unchanged(subject: Any, sizes: Sizes) -> Broken | None:
    """Check that a call does not change its inputs."""
    changed = subject.run(subject.build(sizes), subject.inputs(sizes), sizes).changed
    said = f"`{', '.join(changed)}` is changed in place."
    return Broken(said, "input_changed_in_place") if changed else None


def part_formula(part: Part, sizes: Sizes) -> Broken | None:
    """Check for equality with the formula, in one of its conventions."""
    if convention_of(part, sizes) is not None:
        return None
    away = min(gap(part, sizes, one) for one in part.kind.right.values())
    said = f"differ by up to {away:.2g} from" if away < inf else "have another shape than"
    return Broken(f"The results {said} those of the formula.", where="return")


def named_form_of_part(part: Part, sizes: Sizes) -> Cause | None:
    """Return the known mistake whose results match, at these sizes and at others."""
    wider = replace(sizes, tokens=sizes.tokens + 2, heads=3)
    every = [sizes, replace(sizes, seed=sizes.seed + 31), wider]
    for formula, cause in part.kind.wrong:
        if not any(gap(part, other, formula) for other in every):
            return cause
    return None


FORMULA = "equality with F.scaled_dot_product_attention"
RELATIONS = (
    Relation("shape", "There is one result for each token, at every size.", VASWANI, shape, (*DRAWS, SINGLE, LARGE, NARROW)),
    Relation("causality in evaluation", "A token's result does not depend on later tokens.", f"{VASWANI}.3", causality, (*DRAWS, LARGE)),
    Relation("causality in training", "A token's result does not depend on later tokens while dropout is active.", f"{VASWANI}.3", partial(causality, training=True), (*DRAWS, LARGE), 0.3, only_in_evaluation),
    Relation("cache equals no cache", "Tokens passed in pieces, with a cache, give the same results as all at once.", VASWANI, cache, (*DRAWS, LARGE)),
    Relation("masked keys", "A key that is masked has no influence on the result.", VASWANI, masked_keys),
    Relation(FORMULA, "With the same weights, torch's own attention gives the same results.", VASWANI, formula, (*DRAWS, LARGE, NARROW), explain=named_mistake),
    Relation("formula of the block", "x + attention(norm(x)), then x + feed_forward(norm(x)); or the norms behind the sums.", "Xiong et al. 2020, On Layer Normalization in the Transformer", block, explain=named_form),
    Relation("dropout only in training", "Dropout changes results in training, and never in evaluation.", "Srivastava et al. 2014", dropout_in_training, dropout=0.5),
    Relation("training without dropout", "With dropout=0, results in training are those of evaluation.", "torch: nn.Module.train", training_without_dropout, DRAWS[:2]),
    Relation("gradients", "Gradients reach the input and every weight of the projections.", "torch.autograd.gradcheck", gradients, DRAWS[:2]),
    Relation("state_dict round trip", "A module with another one's state_dict gives its results.", "torch: nn.Module.load_state_dict", state_dict, DRAWS[:1]),
    Relation("dtype kept", "Results have the floating-point type of the inputs and weights.", VASWANI, dtype, DRAWS[:1]),
    Relation("inputs unchanged", "A call does not change its inputs.", VASWANI, inputs_unchanged),
)  # fmt: skip
PARTS = (
    Relation("equality with the formula", "The results are those of the formula, in one of its conventions.", "each kind's own", part_formula, PART_DRAWS, explain=named_form_of_part),
    Relation("inputs unchanged", "A call does not change its inputs.", "torch", inputs_unchanged, PART_DRAWS[:2]),
    Relation("gradients", "Gradients reach the input and the weights, and are the slopes of the result.", "torch.autograd.gradcheck", gradients, PART_DRAWS[:3]),
)  # fmt: skip
