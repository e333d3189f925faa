"""Relations: a function each, with a name, a sentence, a source, and the sizes to try it on."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from .claims import agrees, forms_of, run_of, why_not_plain
from .code import FAILURES, CannotRun, Raised
from .formula import Mistake, layers_by_role
from .roles import Sizes
from .subject import Call, Subject, changed_at, dependence, moved
from .trials import drawn_mask, hidden_changed, leaks

VASWANI = "Vaswani et al. 2017, section 3.2"
DRAWS = (
    Sizes(batch=2, tokens=5, heads=4, head_dim=6, kv_heads=2, tokens_of_context=7, seed=1),
    Sizes(3, 6, 2, 4, kv_heads=1, tokens_of_context=4, seed=2, biases=True),
    Sizes(1, 9, 6, 2, kv_heads=3, tokens_of_context=31, seed=3, biases=True),
)
LARGE = Sizes(5, 102, 9, 18, kv_heads=3, tokens_of_context=104, seed=4)
SINGLE = replace(DRAWS[0], tokens=1, seed=5)
NARROW = replace(DRAWS[0], heads=1, kv_heads=1, head_dim=1, seed=6, biases=True)
STEP = 3e-4  # for slopes
KNOWN = {
    one.name: one
    for one in (
        Mistake("input_width_ignored", "Linear Parameter", "A weight is made for the width of the output where it gets the input, or the other way round."),
        Mistake("input_changed_in_place", "_( -= += *= /=", "The caller's tensor is changed in place."),
        Mistake("detached", "detach no_grad inference_mode data item tensor", "A value is cut off from the weights that made it, so these never learn."),
        Mistake("mask_only_in_evaluation", "is_causal training if p dropout.p masked_fill triu tril where softmax", "The mask has no effect in training, so a model learns from the tokens that it should predict."),
        Mistake("keeps_state", "self= setdefault hasattr getattr __dict__ training", "Something from an earlier call is kept and used again: another text between two pieces of one changes its results."),
        Mistake("causal_mask_from_first_key", "is_causal triu tril mask masked_fill cat", "Next to a cache the causal mask counts from the first key, so that a new token sees only the oldest ones. Shift the mask by the number of cached keys."),
        Mistake("dropout_seed_fixed", "seed Generator dropout", "Dropout drops the same in each call."),
        Mistake("dropout_rate_ignored", "Dropout( dropout(", "The rate that the constructor gets is not the one that dropout uses."),
        Mistake("dropout_always_on", "dropout( dropout scaled_dot_product_attention", "Dropout is active in evaluation too."),
        Mistake("dropout_rescaled_always", "1- dropout.p dropout", "The rate of dropout has an effect in evaluation too, where nothing is dropped."),
        Mistake("dropout_left_out", "Identity dropout( dropout softmax scaled_dot_product_attention", "Dropout is left out, switched off, or its result is thrown away."),
        Mistake("other_in_training", "training is_causal dropout", "Something else than dropout depends on the mode."),
        Mistake("not_registered", "rand Parameter", "Some weights are not stored: a tensor or layer is no part of the module. Use nn.Parameter, register_buffer or nn.ModuleList."),
        Mistake("type_lost", "float to( zeros full ones", "A tensor is made, or converted, without the type of the input."),
        Mistake("special_case", "min( [: if softmax scaled_dot_product_attention return", "The results are right at other sizes or options. Something has a fixed size, or a special case is wrong."),
    )
}  # fmt: skip


Check = Callable[[Subject, Sizes], Mistake | None]


@dataclass(frozen=True)
class Relation:
    """One property of correct code, which the docstring of `check` describes.

    check: raises CannotRun if it does not apply. draws: the sizes to try. of_parts: it is about
    parts of attention too.
    """

    name: str
    source: str
    check: Check
    draws: tuple[Sizes, ...] = DRAWS
    of_parts: bool = False


def results_of(subject: Subject) -> list[tuple[dict, Mistake | None]]:
    """Test the relations about a definition of this kind; return each outcome, and its mistake."""
    return [result_of(one, subject) for one in RELATIONS if one.of_parts or not subject.kind]


def result_of(relation: Relation, subject: Subject) -> tuple[dict, Mistake | None]:
    """Test a relation. A failure counts only if it occurs at other sizes of the same kind too.

    An error is a reason to skip it, because the audit may have misread the code.
    """
    check, sentence = relation.check, (relation.check.__doc__ or "").partition("\n")[0]
    told = {"name": relation.name, "sentence": sentence, "source": relation.source}
    try:
        for drawn in (*DRAWS, SINGLE, LARGE) if subject.kind else relation.draws:
            sizes = subject.fitted(drawn)
            mistake = check(subject, sizes)
            if mistake and all(check(subject, subject.fitted(one)) for one in afresh(drawn)):
                inputs = subject.inputs(sizes).items()
                shapes = (f"{n} {tuple(getattr(one, 'shape', [one]))}" for n, one in inputs)
                example = ", ".join([*shapes, f"heads {sizes.heads}"])
                return told | {"status": "fails", "why": mistake.says, "example": example}, mistake
    except FAILURES as error:
        return told | {"status": "skipped", "why": str(error)}, None
    return told | {"status": "holds", "why": ""}, None


def afresh(sizes: Sizes) -> list[Sizes]:
    """Return other sizes of the same kind, with other numbers."""
    more, longer = int(sizes.tokens > 1), int(sizes.batch > 1)  # one alone can be a special case
    keys, seed = sizes.tokens_of_context + 2, sizes.seed
    return [
        replace(sizes, seed=seed + 100, batch=sizes.batch + longer),
        replace(sizes, seed=seed + 200, tokens=sizes.tokens + more, tokens_of_context=keys),
    ]


def shape(subject: Subject, sizes: Sizes) -> Mistake | None:
    """Check for one result for each token, in training and in evaluation."""
    inputs, value = subject.inputs(sizes), torch.empty(0)
    for training in (True, False) if subject.is_module else (False,):
        try:
            (value,) = subject.values(sizes, Call(inputs, training=training))
        except CannotRun as error:
            shapes = ", ".join(f"{n} {tuple(v.shape)}" for n, v in inputs.items())
            return Mistake("", "", f"With {shapes}, {error}.", error.line)
    if not subject.constructor_has("d_out"):
        return None
    if subject.equal and subject.constructor_has("width") and not why_not_plain(subject):
        try:
            (value,) = replace(subject, equal=False).values(sizes)
        except Raised as error:
            return replace(KNOWN["input_width_ignored"], line=error.line)
    if value.shape[-1] in (sizes.width, sizes.heads * sizes.width):  # that of each head
        return None
    return Mistake("", "", f"The result is {value.shape[-1]} wide instead of {sizes.width}.")


def causality(subject: Subject, sizes: Sizes) -> Mistake | None:
    """Check that in evaluation no token sees a later one."""
    return future_seen(subject, sizes, training=False)


def causality_in_training(subject: Subject, sizes: Sizes) -> Mistake | None:
    """Check that no token sees a later one while dropout is active."""
    seen = future_seen(subject, replace(sizes, dropout=0.3), training=True)
    if not seen or any(causality(subject, subject.fitted(one)) for one in DRAWS):
        return seen
    return KNOWN["mask_only_in_evaluation"]


def future_seen(subject: Subject, sizes: Sizes, training: bool) -> Mistake | None:
    """Check that no token sees a later one."""
    if not subject.causal:
        raise CannotRun("it is not causal")
    future = dependence(subject, sizes, training).triu(1).nonzero()
    call = Call(subject.inputs(sizes), training=training)
    if not len(future) or moved(*subject.values(sizes, call, call)):  # or it is random
        return None
    seeing, seen = map(int, future[0])
    during = f" in training, with dropout={sizes.dropout}" if training else ""
    return Mistake("", "", f"Changing token {seen} changes the result of token {seeing}{during}.")


def cache(subject: Subject, sizes: Sizes) -> Mistake | None:
    """Check that tokens passed in pieces, with a cache, give the same results as all at once."""
    if not subject.has("cache") or subject.layout != "batch, tokens" or subject.tensors != "x":
        raise CannotRun("it takes no cache, or one that is not understood")
    x, n = subject.inputs(sizes)["x"], sizes.tokens
    _, (whole,) = subject.run(sizes, Call({"x": x}, cache="new"))
    if whole.cache is None:
        raise CannotRun("it returns no cache")
    # The last token after the text, after it again, and after a text of which only the first token
    # is the same.
    others = changed_at({"x": x}, ["x"], slice(1, None))["x"]
    begun = [Call({"x": one[:, :-1]}, cache="new") for one in (x, others)]
    last, last_of_others = (Call({"x": x[:, -1:]}, cache=f"{n}.{whole.cache}") for n in (0, 1))
    *_, one, again, other = subject.values(sizes, *begun, last, last, last_of_others)
    for lengths in ([1] * n, [2, n - 2], [n - 1, 1]):
        kept = ["new", *(f"{number}.{whole.cache}" for number in range(len(lengths) - 1))]
        pieces = zip(x.split(lengths, dim=1), kept, strict=True)
        values = subject.values(sizes, *(Call({"x": piece}, cache=one) for piece, one in pieces))
        if moved(whole.value, torch.cat(values, 1)):
            said = f"If the tokens are passed in pieces of {' + '.join(map(str, lengths))}, the "
            plain = Mistake("", "", f"{said}results differ.")
            return plain if moved(one, other) else KNOWN["causal_mask_from_first_key"]
    keeps = moved(whole.value[:, -1:], one) or moved(one, again)
    return KNOWN["keeps_state"] if keeps else None


def masked_keys(subject: Subject, sizes: Sizes) -> Mistake | None:
    """Check that a key that is masked has no influence."""
    parameter, meaning, _ = subject.mask
    if not parameter:
        raise CannotRun("it takes no mask")
    if not meaning and (why := why_not_plain(subject)):
        raise CannotRun(why)
    if not meaning:
        said = f"`{parameter}` changes the result, but in no convention does it hide a key: true "
        return Mistake("", "", f"{said}hides, true shows, added to the scores, or 0 and 1.")
    inputs, visible = subject.inputs(sizes), drawn_mask(subject, sizes)
    changed = hidden_changed(inputs, visible)
    both = subject.values(sizes, Call(inputs, visible), Call(changed, visible))
    if not leaks(inputs, visible, *both):
        return None
    said = "Changing keys that the mask hides changes results that should not depend on them."
    return Mistake("", "", said)


def formula(subject: Subject, sizes: Sizes) -> Mistake | None:
    """Check for equality with a right form of what the definition claims to calculate."""
    forms = forms_of(subject)
    right, run = [form for mistake, form in forms if not mistake], run_of(subject, sizes)
    if any(agrees(form, run) for form in right):
        return None
    runs = [run]
    with suppress(*FAILURES):
        runs += [run_of(subject, one) for one in map(subject.fitted, DRAWS)]
        for mistake, form in forms:
            if mistake and all(agrees(form, one) for one in runs):
                return mistake
        if any(agrees(form, runs[1]) for form in right):
            return KNOWN["special_case"]
    shapes = [one.shape for form in right for one in form(run)]
    if run.actual.shape not in shapes and not subject.kind:
        raise CannotRun("its widths do not fit the formula")
    return Mistake("", "", "The results differ from those of the formula.")


def dropout_in_training(subject: Subject, sizes: Sizes) -> Mistake | None:
    """Check that dropout is active in training only."""
    if not subject.constructor_has("dropout"):
        raise CannotRun("it is told no dropout")
    still = Call(subject.inputs(sizes))
    live = replace(still, training=True)
    half, quarter = (replace(sizes, dropout=rate) for rate in (0.5, 0.25))
    made, outputs = subject.run(half, still, replace(still, seed=50), live)
    one, again, dropping = (output.value for output in outputs)
    if not one.isfinite().all():
        raise CannotRun("its results are not finite")
    if moved(one, again):
        return KNOWN["dropout_always_on"]
    if moved(one, *subject.values(sizes, still)):
        return KNOWN["dropout_rescaled_always"]
    if not moved(one, dropping):
        return KNOWN["dropout_left_out"]
    (first,) = subject.values(half, live)
    if not moved(first, *subject.values(quarter, live)):
        return KNOWN["dropout_rate_ignored"]
    later, state = replace(half, seed=sizes.seed + 50), made.state if made else {}
    _, (other,) = subject.run(later, replace(live, seed=50), state=state)
    return None if moved(first, other.value) else KNOWN["dropout_seed_fixed"]


def training_without_dropout(subject: Subject, sizes: Sizes) -> Mistake | None:
    """Check that without dropout, training changes nothing."""
    if not subject.is_module:
        raise CannotRun("it is a function")
    if subject.causal and future_seen(subject, replace(sizes, dropout=0.3), training=True):
        raise CannotRun("causality in training fails")
    visible = drawn_mask(subject, sizes) if subject.mask[1] else None
    still = Call(subject.inputs(sizes), visible)
    live = replace(still, training=True)
    calls = still, live, replace(live, seed=50), still
    plain, trained, again, after = subject.values(sizes, *calls)
    if moved(trained, again) or moved(plain, after):
        raise CannotRun("it is random, or learns statistics, in training")
    return KNOWN["other_in_training"] if moved(plain, trained) else None


def gradients(subject: Subject, sizes: Sizes) -> Mistake | None:
    """Check that gradients reach the weights and the input, and are the slopes of the result."""
    inputs = subject.inputs(sizes)
    needed = [n for n, v in inputs.items() if isinstance(v, Tensor) and v.is_floating_point()]
    if not needed:
        raise CannotRun("it takes no tensor")
    if subject.made and sizes.tokens > 1:
        layers = [one.name for one in layers_by_role(subject.made)[0].values()]
        weights = [n for n in subject.made.weights if n.removesuffix(".weight") in layers]
        needed += [f"weight.{name}" for name in weights]
    for training in (True, False) if subject.is_module else (True,):
        call, during = Call(inputs, training=training), "" if training else " in evaluation"
        try:
            reached, exact = slopes(subject, sizes, call)
        except Raised as error:
            if "inplace" not in str(error) and "in-place" not in str(error):
                raise
            return Mistake("", "", f"Autograd refuses: {error}")
        missing = [name.removeprefix("weight.") for name in needed if name not in reached]
        if missing or not exact:
            said = "The gradients are not the slopes of the results"
            said = f"No gradient reaches `{missing[0]}`" if missing else said
            known = KNOWN["detached"]
            cut = {*known.where.split()} & {*subject.definition.names}
            return known if cut else Mistake("", "", f"{said}{during}.")
    return None


def slopes(subject: Subject, sizes: Sizes, call: Call) -> tuple[list[str], bool]:
    """Return what gradients reach, and True if they are the slope of the result.

    Inputs and weights take a small step in one drawn direction of length 1, and one back.
    `torch.autograd.gradcheck` has no tolerance that fits code that calculates in single precision.
    """
    call = replace(call, slopes=True)
    made, (output,) = subject.run(sizes, call)
    reached = [name for name, one in output.gradients.items() if one.any()]
    if output.value.dtype != torch.float64 or not reached:
        return reached, True
    chance = torch.Generator().manual_seed(1)
    steps = {n: torch.randn(g.shape, generator=chance) for n, g in output.gradients.items()}
    length = torch.cat([one.flatten() for one in steps.values()]).norm()
    ends = []
    for step in (STEP / length, -STEP / length):
        weights = made.state.items() if made else ()
        state = {n: v + step * steps.get(f"weight.{n}", 0.0) for n, v in weights}
        inputs = {n: v + step * steps[n] if n in steps else v for n, v in call.inputs.items()}
        _, (moved_on,) = subject.run(sizes, replace(call, inputs=inputs), state=state)
        ends.append(float(moved_on.total))
    slope = (ends[0] - ends[1]) / (2 * STEP)
    expected = float(sum((steps[n] * one).sum() for n, one in output.gradients.items()) / length)
    return reached, abs(slope - expected) <= 1e-4 * max(map(abs, ends)) + 5e-3 * abs(slope)


def state_dict(subject: Subject, sizes: Sizes) -> Mistake | None:
    """Check that stored weights restore a module."""
    call = Call(subject.inputs(sizes))
    one, (before,) = subject.run(sizes, call)
    if not one:
        raise CannotRun("it is a function")
    later = replace(sizes, seed=sizes.seed + 17)
    other, (after,) = subject.run(later, call, state=one.state)
    if not moved(before.value, after.value):
        return None
    found, plain = KNOWN["not_registered"], other.plain if other else ""
    return replace(found, where=f"self.{plain}= {found.where}") if plain else found


def dtype(subject: Subject, sizes: Sizes) -> Mistake | None:
    """Check that the result has the type of the input."""
    (found,) = subject.values(sizes)
    return KNOWN["type_lost"] if found.dtype != subject.dtype else None


def inputs_unchanged(subject: Subject, sizes: Sizes) -> Mistake | None:
    """Check that a call does not change its inputs."""
    _, (output,) = subject.run(sizes, Call(subject.inputs(sizes)))
    return KNOWN["input_changed_in_place"] if output.changed else None


RELATIONS = (
    Relation("shape", VASWANI, shape, (*DRAWS, SINGLE, LARGE)),
    Relation("causality in evaluation", f"{VASWANI}.3", causality, (*DRAWS, LARGE)),
    Relation("causality in training", f"{VASWANI}.3", causality_in_training, (*DRAWS, LARGE)),
    Relation("cache equals no cache", VASWANI, cache),
    Relation("masked keys", VASWANI, masked_keys),
    Relation("equality with the formula", VASWANI, formula, (*DRAWS, LARGE, NARROW), True),
    Relation("dropout only in training", "Srivastava et al. 2014", dropout_in_training),
    Relation("training without dropout", "torch: nn.Module.train", training_without_dropout, DRAWS[:2]),
    Relation("gradients", "torch.autograd", gradients, DRAWS[:2], True),
    Relation("state_dict round trip", "torch: nn.Module.load_state_dict", state_dict, DRAWS[:1]),
    Relation("dtype kept", VASWANI, dtype, DRAWS[:1]),
    Relation("inputs unchanged", VASWANI, inputs_unchanged, of_parts=True),
)  # fmt: skip
