"""Relations: a function each, with a name, a sentence, a source, and the sizes to try it on."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor

from .claims import Claim, Skip, attention, block, must_be_plain, part, run_of
from .code import Made, Raised
from .formula import MASK, Cause
from .mapping import mapping_of
from .roles import Sizes
from .subject import CannotRun, Output, Subject, changed_at, dependence, moved
from .trials import FAILURES, drawn_mask, leak

VASWANI = "Vaswani et al. 2017, section 3.2"
DRAWS = (
    Sizes(batch=2, tokens=5, heads=4, head_dim=6, kv_heads=2, tokens_of_context=7, seed=1),
    Sizes(3, 6, 2, 4, kv_heads=1, tokens_of_context=4, seed=2, biases=True),
    Sizes(1, 9, 6, 2, kv_heads=3, tokens_of_context=31, seed=3, biases=True),
)
LARGE = Sizes(5, 102, 9, 18, kv_heads=3, tokens_of_context=104, seed=4)
SINGLE = replace(DRAWS[0], tokens=1, batch=1, seed=5)
NARROW = replace(DRAWS[0], heads=1, kv_heads=1, head_dim=1, seed=6, biases=True)
PART_DRAWS = (
    Sizes(batch=2, tokens=5, heads=2, head_dim=3, seed=1),
    Sizes(batch=3, tokens=7, heads=3, head_dim=4, seed=2),
    Sizes(batch=2, tokens=1, heads=2, head_dim=8, seed=3),
    Sizes(batch=2, tokens=130, heads=2, head_dim=20, seed=4),
)
STEP = 3e-4  # for slopes
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
    "not_registered": ("rand Parameter", "`{0}` is no part of the module, so it is not stored, trained or moved to a device. Use nn.Parameter, register_buffer or nn.ModuleList."),
    "keeps_a_weight_elsewhere": ("lambda weight. Parameter", "A function or tensor made from weights is kept in the module, and copies keep the old one."),
    "type_lost": ("float to( zeros full ones", "A tensor is made, or converted, without the type of the input."),
    "result_of_another_shape": ("return", "The result has another shape than one row of numbers for each token."),
    "special_case": ("min( [: if softmax scaled_dot_product_attention return", "The results are right at other sizes or options. Something has a fixed size, or a special case is wrong."),
}  # fmt: skip


@dataclass(frozen=True)
class Broken:
    """A failure at some sizes.

    says: what was seen, in a sentence. cause: the known mistake that shows it. where: words on the
    line that it may be on, if there is no cause. line: the one that raises an error.
    """

    says: str
    cause: Cause | None = None
    where: str = ""
    line: int = 0


def known(says: str, name: str, line: int = 0) -> Broken:
    """Return a failure that shows a known mistake."""
    where, sentence = KNOWN[name]
    return Broken(says, Cause(name, sentence, where), where, line)


@dataclass(frozen=True)
class Relation:
    """One property of correct code. `check` raises Skip if it does not apply.

    dropout: the rate at which it is tested. explain: looks for the known mistake of a failure.
    """

    name: str
    sentence: str
    source: str
    check: Callable[[Subject, Sizes], Broken | None]
    draws: tuple[Sizes, ...] = DRAWS
    dropout: float = 0.0
    explain: Callable[[Subject, Sizes], Cause | None] = lambda subject, sizes: None

    def fitted(self, subject: Subject, sizes: Sizes) -> Sizes:
        """Return sizes that a definition can have, with the rate of dropout."""
        return replace(subject.fitted(sizes), dropout=self.dropout)

    def checked(self, subject: Subject, sizes: Sizes) -> Broken | None:
        """Check sizes that a definition can have. Raises Skip, or an error of the code."""
        return self.check(subject, self.fitted(subject, sizes))


@dataclass(frozen=True)
class Result:
    """The outcome of one relation: it holds, it is broken at some sizes, or it was skipped."""

    relation: Relation
    broken: Broken | None = None
    cause: Cause | None = None
    sizes: Sizes | None = None
    skipped: str = ""


def result_of(relation: Relation, subject: Subject) -> Result:
    """Test a relation. A failure counts only if it occurs at fresh sizes too.

    An error is a reason to skip it, because the audit may have misread the code.
    """
    try:
        for sizes in relation.draws:
            broken = relation.checked(subject, sizes)
            if broken and all(relation.checked(subject, fresh) for fresh in afresh(sizes)):
                fitted = relation.fitted(subject, sizes)
                cause = broken.cause or relation.explain(subject, fitted)
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


def results_of(subject: Subject) -> list[Result]:
    """Test the relations that are about a definition of this kind."""
    return [result_of(relation, subject) for relation in (PARTS if subject.kind else RELATIONS)]


def is_plain(subject: Subject) -> bool:
    """Return True if the definition claims to follow the plain formula."""
    try:
        must_be_plain(subject)
        return True
    except Skip:
        return False


def shape(subject: Subject, sizes: Sizes) -> Broken | None:
    """Check for one result for each token, in training and in evaluation."""
    value = torch.empty(0)
    for training in (True, False) if subject.is_module else (False,):
        try:
            value = subject.value(sizes, training=training)
        except CannotRun as error:
            return known(f"{error}.", "result_of_another_shape")
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
            return known(said, "input_width_ignored", error.line)
    if value.shape[-1] in (sizes.width, sizes.heads * sizes.width):  # that of each head
        return None
    return Broken(f"The result is {value.shape[-1]} wide instead of {sizes.width}.", where="return")


def causality(subject: Subject, sizes: Sizes, training: bool = False) -> Broken | None:
    """Check that no token sees a later one."""
    if not subject.causal:
        raise Skip("it is not causal")
    future = dependence(subject, sizes, training).triu(1).nonzero()
    made = subject.build(sizes)
    one, other = (subject.value(sizes, made, training) for _ in range(2))
    if not len(future) or moved(one, other):  # dropout may have a generator of its own
        return None
    seeing, seen = map(int, future[0])
    during = " in training" if training else ""
    said = f"Changing token {seen} changes the result of token {seeing}{during}."
    return Broken(said, where=MASK)


def only_in_evaluation(subject: Subject, sizes: Sizes) -> Cause | None:
    """Return the mistake if no token sees a later one in evaluation, and all do in training."""
    if any(causality(subject, subject.fitted(one)) for one in DRAWS):
        return None
    rarely = replace(subject.fitted(DRAWS[0]), dropout=0.1)
    seen = dependence(subject, rarely, training=True).triu(1).any(0)[1:]
    return known("", "mask_only_in_evaluation").cause if seen.all() else None


def cache(subject: Subject, sizes: Sizes) -> Broken | None:
    """Check that tokens passed in pieces, with a cache, give the same results as all at once."""
    made, inputs, n = subject.build(sizes), subject.inputs(sizes), sizes.tokens
    if not subject.has("cache") or subject.layout != "batch, tokens" or {*inputs} != {"x"}:
        raise Skip("it takes no cache, or one that is not understood")

    def run(x: Tensor, cache: str = "") -> Output:
        return subject.run(made, {"x": x}, sizes, cache=cache)

    def in_pieces(x: Tensor, chunks: list[int]) -> Tensor:
        parts = [run(x[:, : chunks[0]])]
        for piece in x[:, chunks[0] :].split(chunks[1:], dim=1):
            if not parts[-1].cache:
                raise Skip("it returns no cache")
            parts.append(run(piece, parts[-1].cache))
        return torch.cat([one.value for one in parts], dim=1)

    x, whole = inputs["x"], run(inputs["x"]).value
    for chunks in ([1] * n, [2, n - 2], [n - 1, 1]):
        if moved(whole, in_pieces(x, chunks)):
            said = f"If the tokens are passed in pieces of {' + '.join(map(str, chunks))}, the "
            places = (slice(0), slice(1, -1), slice(0, 1))  # none, all but the first, the first
            plain, others, first = (
                in_pieces(changed_at({"x": x}, ["x"], place)["x"], [n - 1, 1])[:, -1:]
                for place in places
            )
            found = known(f"{said}results differ.", "causal_mask_from_first_key")
            from_first = moved(plain, first) and not moved(plain, others)
            return found if from_first else replace(found, cause=None)
    kept = run(x[:, :-1]).cache
    run(1 - x[:, :-1])
    # Twice, because a call must not change its cache.
    if any(moved(whole[:, -1:], run(x[:, -1:], kept).value) for _ in range(2)):
        said = "Another text between two pieces changes the second one's result: the module keeps "
        return known(f"{said}state of its own.", "keeps_state")
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
    if not leak(subject, sizes):
        return None
    said = "Changing keys that the mask hides changes results that should not depend on them."
    return Broken(said, where=MASK)


def formula(subject: Subject, sizes: Sizes, claim: Callable[[Subject], Claim]) -> Broken | None:
    """Check for equality with one of the right forms of a claim."""
    right, _ = claim(subject)
    run = run_of(subject, sizes)
    if any(map(run.agrees, right.values())):
        return None
    every = (one for form in right.values() for one in form(run))
    gaps = [(run.actual - one).abs().max() for one in every if one.shape == run.actual.shape]
    if not gaps and not subject.kind and not mistake(subject, sizes, claim):
        raise Skip("its widths do not fit the formula")
    largest = min((gap for gap in map(float, gaps) if gap < torch.inf), default=None)
    by = "" if largest is None else f" by up to {largest:.2g}"
    said = f"The results differ{by} from those of the formula."
    return Broken(said, where="softmax scaled_dot_product_attention x = x + norm return")


def mistake(subject: Subject, sizes: Sizes, claim: Callable[[Subject], Claim]) -> Cause | None:
    """Return the known mistake whose results match, at these sizes and at others."""
    right, wrong = claim(subject)
    draws = PART_DRAWS[:3] if subject.kind else DRAWS
    try:
        runs = [run_of(subject, one) for one in (sizes, *map(subject.fitted, draws))]
    except FAILURES:
        return None
    for form, cause in wrong:
        if all(run.agrees(form) for run in runs):
            return cause
    is_special = any(map(runs[1].agrees, right.values()))
    return known("", "special_case").cause if is_special else None


def dropout_in_training(subject: Subject, sizes: Sizes) -> Broken | None:
    """Check that dropout is active in training only."""
    if not subject.constructor_has("dropout"):
        raise Skip("it is told no dropout")
    later, rate = replace(sizes, seed=sizes.seed + 50), sizes.dropout
    made, inputs = subject.build(sizes), subject.inputs(sizes)
    without, rarely = (subject.build(replace(sizes, dropout=r)) for r in (0.0, rate / 2))

    def out(made: Made | None, at: Sizes = sizes, training: bool = False) -> Tensor:
        return subject.run(made, inputs, at, training=training).value

    one, plain = out(made), out(without)
    if not one.isfinite().all():
        raise Skip("its results are not finite")
    if moved(one, out(made, later)):
        said = "In evaluation two calls give different results."
        return known(said, "dropout_always_on")
    if moved(one, plain):
        said = f"In evaluation, results with dropout={rate} differ from those without dropout."
        return known(said, "dropout_rescaled_always")
    if not moved(one, out(made, training=True)):
        said = f"In training, with dropout={rate}, nothing is dropped."
        return known(said, "dropout_left_out")
    first = out(subject.build(sizes), training=True)
    if not moved(first, out(rarely, training=True)):
        return known("The rate of dropout has no effect.", "dropout_rate_ignored")
    if not moved(first, out(subject.build(later, made.state if made else {}), later, True)):
        return known("In training two calls drop the same.", "dropout_seed_fixed")
    return None


def training_without_dropout(subject: Subject, sizes: Sizes) -> Broken | None:
    """Check that without dropout, training changes nothing."""
    made, inputs = subject.build(sizes), subject.inputs(sizes)
    if not made:
        raise Skip("it is a function")
    if subject.causal and causality(subject, replace(sizes, dropout=0.3), training=True):
        raise Skip("causality in training fails")
    visible = drawn_mask(subject, sizes) if subject.mask else None
    modes = ((False, 0), (True, 0), (True, 50), (False, 0))
    plain, trained, again, after = (
        subject.run(made, inputs, replace(sizes, seed=sizes.seed + seed), visible, mode).value
        for mode, seed in modes
    )
    if moved(trained, again) or moved(plain, after):
        raise Skip("it is random, or learns statistics, in training")
    said = "With dropout=0, the results in training differ from those in evaluation."
    return known(said, "other_in_training") if moved(plain, trained) else None


def gradients(subject: Subject, sizes: Sizes) -> Broken | None:
    """Check that gradients reach the weights and the input, and are the slopes of the result."""
    made, inputs = subject.build(sizes), subject.inputs(sizes)
    needed = [n for n, v in inputs.items() if isinstance(v, Tensor) and v.is_floating_point()]
    if not needed:
        raise Skip("it takes no tensor")
    if made and sizes.tokens > 1:
        names = [one.name for one in mapping_of(made).by_role.values()]
        own = [name for name in (*names, *(f"{n}.weight" for n in names)) if name in made.weights]
        needed += [f"weight.{name}" for name in own]
    for training in (True, False) if made else (True,):
        out = subject.run(made, inputs, sizes, training=training)
        during = "" if training else " in evaluation"
        try:
            way, found = subject.gradients(made, inputs, sizes, training, out)
        except Raised as error:
            if "inplace" not in error.text and "in-place" not in error.text:
                raise
            return Broken(f"Autograd refuses: {error.text}", where="+= *= _(")
        cut = [name for name in needed if name not in found or not found[name].any()]
        if cut:
            name = cut[0].removeprefix("weight.")
            return cut_off(subject, f"No gradient reaches `{name}`{during}.")
        is_exact = out.raw.dtype == torch.float64
        if is_exact and not slopes(subject, made, sizes, training, way, found):
            return cut_off(subject, f"The gradients are not the slopes of the results{during}.")
    return None


def slopes(
    subject: Subject,
    made: Made | None,
    sizes: Sizes,
    training: bool,
    way: Tensor,
    found: dict[str, Tensor],
) -> bool:
    """Return True if gradients are the slope of a result, also one made in single precision.

    Inputs and weights take a small step in one drawn direction of length 1, and one back.
    """
    chance, inputs = torch.Generator().manual_seed(2), subject.inputs(sizes)
    drawn = {n: torch.randn(g.shape, generator=chance, dtype=g.dtype) for n, g in found.items()}
    length = torch.cat([one.flatten() for one in drawn.values()]).norm()
    steps = {name: one / length for name, one in drawn.items()}
    ends = []
    for step in (STEP, -STEP):
        state = made.state if made else {}
        state = {n: v + step * steps.get(f"weight.{n}", 0.0) for n, v in state.items()}
        moved_on = {n: v + step * steps[n] if n in steps else v for n, v in inputs.items()}
        out = subject.run(subject.build(sizes, state), moved_on, sizes, training=training)
        ends.append(float((out.raw * way).sum()))
    slope = (ends[0] - ends[1]) / (2 * STEP)
    expected = float(sum((steps[n] * g).sum() for n, g in found.items()))
    return abs(slope - expected) <= 1e-4 * max(map(abs, ends)) + 5e-3 * abs(slope)


def cut_off(subject: Subject, said: str) -> Broken:
    """Return a failure of gradients, with the known mistake if a name in the code suggests it."""
    found = known(said, "detached")
    cut = {*found.where.split()} & {*subject.definition.names}
    return found if cut else replace(found, cause=None)


def state_dict(subject: Subject, sizes: Sizes) -> Broken | None:
    """Check that stored weights restore a module."""
    one, later = subject.build(sizes), replace(sizes, seed=sizes.seed + 17)
    other = subject.build(later, one.state) if one else None
    if not one or not other:
        raise Skip("it is a function")
    if not other.seeded:
        return known("Its constructor sets torch's seed.", "seed_set_inside")
    before = subject.value(sizes, one)
    if moved(before, subject.value(sizes, other)):
        said = "Some weights are missing in the state_dict: results differ after loading it."
        found = known(said, "not_registered")
        sentence = KNOWN["not_registered"][1].format(other.plain)
        cause = Cause("not_registered", sentence, f"self.{other.plain}=")
        return replace(found, cause=cause if other.plain else None)
    try:
        copied = subject.build(later, one.state, copied=True)
    except Raised as error:
        if "deepcopy protocol" not in error.text:
            raise
        return known("copy.deepcopy raises an error.", "keeps_a_weight_elsewhere")
    if moved(before, subject.value(sizes, copied)):
        said = "A copy of it, by copy.deepcopy, does not use its own weights."
        return known(said, "keeps_a_weight_elsewhere")
    return None


def dtype(subject: Subject, sizes: Sizes) -> Broken | None:
    """Check that the result has the type of the input."""
    found = subject.value(sizes).dtype
    said = f"The result is {found} instead of {subject.dtype}."
    return known(said, "type_lost") if found != subject.dtype else None


def inputs_unchanged(subject: Subject, sizes: Sizes) -> Broken | None:
    """Check that a call does not change its inputs."""
    changed = subject.run(subject.build(sizes), subject.inputs(sizes), sizes).changed
    said = f"`{', '.join(changed)}` is changed in place."
    return known(said, "input_changed_in_place") if changed else None


def formula_of(claim: Callable[[Subject], Claim]) -> dict[str, Any]:
    """Return the check of a claim, and the search for its mistake."""
    return {"check": partial(formula, claim=claim), "explain": partial(mistake, claim=claim)}


FORMULA = "equality with F.scaled_dot_product_attention"
RELATIONS = (
    Relation("shape", "There is one result for each token, at every size.", VASWANI, shape, (*DRAWS, SINGLE, LARGE)),
    Relation("causality in evaluation", "A token's result does not depend on later tokens.", f"{VASWANI}.3", causality, (*DRAWS, LARGE)),
    Relation("causality in training", "A token's result does not depend on later tokens while dropout is active.", f"{VASWANI}.3", partial(causality, training=True), (*DRAWS, LARGE), 0.3, only_in_evaluation),
    Relation("cache equals no cache", "Tokens passed in pieces, with a cache, give the same results as all at once.", VASWANI, cache),
    Relation("masked keys", "A key that is masked has no influence on the result.", VASWANI, masked_keys),
    Relation(FORMULA, "With the same weights, torch's own attention gives the same results.", VASWANI, draws=(*DRAWS, LARGE, NARROW), **formula_of(attention)),
    Relation("formula of the block", "x + attention(norm(x)), then x + feed_forward(norm(x)); or the norms behind the sums.", "Xiong et al. 2020, On Layer Normalization in the Transformer", **formula_of(block)),
    Relation("dropout only in training", "Dropout changes results in training, and never in evaluation.", "Srivastava et al. 2014", dropout_in_training, dropout=0.5),
    Relation("training without dropout", "With dropout=0, results in training are those of evaluation.", "torch: nn.Module.train", training_without_dropout, DRAWS[:2]),
    Relation("gradients", "Gradients reach the input and every weight of the projections, and are the slopes of the result.", "torch.autograd", gradients, DRAWS[:2]),
    Relation("state_dict round trip", "A module with another one's state_dict gives its results.", "torch: nn.Module.load_state_dict", state_dict, DRAWS[:1]),
    Relation("dtype kept", "Results have the floating-point type of the inputs and weights.", VASWANI, dtype, DRAWS[:1]),
    Relation("inputs unchanged", "A call does not change its inputs.", VASWANI, inputs_unchanged),
)  # fmt: skip
PARTS = (
    Relation("equality with the formula", "The results are those of the formula, in one of its conventions.", "each kind's own", draws=PART_DRAWS, **formula_of(part)),
    Relation("inputs unchanged", "A call does not change its inputs.", "torch", inputs_unchanged, PART_DRAWS[:2]),
    Relation("gradients", "Gradients reach the input and the weights, and are the slopes of the result.", "torch.autograd", gradients, PART_DRAWS[:3]),
)  # fmt: skip
