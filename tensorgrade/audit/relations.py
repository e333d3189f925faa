"""Relations that hold for all correct attention code: a function and a sentence each."""

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace

import torch
from torch import Tensor

from .code import FAILURES, Call, CannotRun, Made, Mistake, Raised
from .conventions import DRAWS, Inputs, Sizes, changed_at, moved, scale_of
from .formulas import (
    EDITS,
    OTHER_ATTENTION,
    OTHER_FORMULAS,
    Formula,
    attention,
    layers_by_role,
    mistaken,
)
from .subject import Subject, dependence, effect_of_mask

KNOWN = {
    one.name: one
    for one in (
        Mistake("A weight is made for the width of the output where it gets the input, or the other way round.", "input_width_ignored", "Linear Parameter"),
        Mistake("A value is cut off from the weights that made it, so these never learn.", "detached", "detach no_grad inference_mode data item tensor"),
        Mistake("The mask has no effect in training, so a model learns from the tokens that it should predict.", "mask_only_in_evaluation", "is_causal training if p dropout.p masked_fill triu tril where softmax"),
        Mistake("Something from an earlier call is kept and used again: another text between two pieces of one changes its results.", "keeps_state", "mul_( add_( copy_( self= setdefault hasattr getattr __dict__ training"),
        Mistake("Next to a cache the causal mask counts from the first key, so that a new token sees only the oldest ones. Shift the mask by the number of cached keys.", "causal_mask_from_first_key", "is_causal triu tril mask masked_fill cat"),
        Mistake("Dropout, or its rate, has an effect in evaluation too.", "dropout_always_on", "dropout( dropout scaled_dot_product_attention"),
        Mistake("Dropout is left out, switched off, or its result is thrown away.", "dropout_left_out", "Identity dropout( dropout softmax scaled_dot_product_attention"),
        Mistake("Something else than dropout depends on the mode.", "other_in_training", "training is_causal dropout"),
        Mistake("Some weights are not stored: a tensor or layer is no part of the module. Use nn.Parameter, register_buffer or nn.ModuleList.", "not_registered", "rand Parameter"),
        Mistake("The results are right at other sizes or options. Something has a fixed size, or a special case is wrong.", "special_case", "min( [: if softmax scaled_dot_product_attention return"),
    )
}  # fmt: skip


CLOSE = 5e-4
Check = Callable[[Subject, Sizes], Mistake | None]
Run = tuple[Tensor, Made, Inputs, Sizes]  # the result of a run, and what it was made from


def result_of(subject: Subject, name: str) -> tuple[dict, Mistake | None]:
    """Test a relation; return the outcome, and the mistake if it fails.

    An error is a reason to skip it: the audit may have misread the code.
    """
    check = RELATIONS[name]
    told = {"name": name, "sentence": (check.__doc__ or "").partition("\n")[0]}
    try:
        for sizes in map(subject.fitted, DRAWS):
            if mistake := check(subject, sizes):
                return told | {"status": "fails", "why": mistake.says}, mistake
    except FAILURES as error:
        return told | {"status": "skipped", "why": str(error)}, None
    return told | {"status": "holds", "why": ""}, None


def why_not_plain(subject: Subject) -> str:
    """Return why a definition does not claim to follow the formula of attention; "" if it does."""
    if subject.tensors == "q, k":
        return "it returns weights only"
    own = subject.definition.name
    if not OTHER_ATTENTION.search(own):
        words = (re.sub(r"(?<=[a-z])(?=[A-Z])", "_", one) for one in subject.definition.names)
        own = next((one for one in words if OTHER_FORMULAS.search(one.lower())), "")
    if own:
        return f"its code has a formula of its own (`{own}`)"
    if subject.made.weights or subject.tensors != "q, k, v":
        layers = layers_by_role(subject.made)
        complete = any(need <= layers.keys() for need in ({"qkv"}, {*"qkv"}, {"q", "kv"}))
        if "" in layers or not complete:
            what = f"`{layers[''][0][0]}`" if "" in layers else "queries, keys or values"
            return f"no role was found for {what} among its weights"
    return ""


def shape(subject: Subject, sizes: Sizes) -> Mistake | None:
    """Check for one result for each token, in training and in evaluation."""
    inputs = subject.inputs(sizes)
    try:
        subject.values(sizes, Call(inputs), Call(inputs, training=True))
    except CannotRun as error:
        shapes = ", ".join(f"{name} {tuple(one.shape)}" for name, one in inputs.items())
        return Mistake(f"With {shapes}, {error}.", line=error.line)
    has_widths = subject.constructor_has("d_out") and subject.constructor_has("width")
    if subject.equal and has_widths and not why_not_plain(subject):
        try:
            subject.values(replace(sizes, equal=False))
        except Raised as error:
            return replace(KNOWN["input_width_ignored"], line=error.line)
    return None


def causality(subject: Subject, sizes: Sizes) -> Mistake | None:
    """Check that no token sees a later one, in evaluation, and while dropout is active."""
    if not subject.causal:
        raise CannotRun("it is not causal")
    for one, training in ((sizes, False), (replace(sizes, dropout=0.3), True)):
        future = dependence(subject, one, training).triu(1).nonzero()
        call = Call(subject.inputs(one), training=training)
        if len(future) and not moved(*subject.values(one, call, call)):  # they are not random
            seeing, seen = map(int, future[0])
            said = f"Changing token {seen} changes the result of token {seeing}."
            return KNOWN["mask_only_in_evaluation"] if training else Mistake(said)
    return None


def cache(subject: Subject, sizes: Sizes) -> Mistake | None:
    """Check that tokens passed in pieces, with a cache, give the same results as all at once."""
    if not subject.has("cache") or subject.layout != "batch, tokens" or subject.tensors != "x":
        raise CannotRun("it takes no cache, or one that is not understood")
    x = subject.inputs(sizes)["x"]
    # The last token after the text, after it again, and after a text of which only the first token
    # is the same.
    texts = x, changed_at({"x": x}, ["x"], (slice(None), slice(1, None)))["x"]
    begun = [Call({"x": one[:, :-1]}) for one in texts]
    last = [Call({"x": x[:, -1:]}, after=number) for number in (0, 0, 1)]
    *_, one, again, other = subject.values(sizes, *begun, *last)
    pieces = enumerate(x.split([1, sizes.tokens - 2, 1], dim=1))
    calls = [Call({"x": part}, after=number - 1 if number else None) for number, part in pieces]
    (whole,), parts = subject.values(sizes, Call({"x": x})), subject.values(sizes, *calls)
    if moved(whole, torch.cat(parts, 1)):
        plain = Mistake("If the tokens are passed in three pieces, the results differ.")
        return plain if moved(one, other) else KNOWN["causal_mask_from_first_key"]
    keeps = moved(whole[:, -1:], one) or moved(one, again)
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
        return Mistake(f"{said}hides, true shows, added to the scores, or 0 and 1.")
    said = "Changing keys that the mask hides changes results that should not depend on them."
    return Mistake(said) if effect_of_mask(subject, sizes)[1] else None


def formula(subject: Subject, sizes: Sizes) -> Mistake | None:
    """Check for equality with a right form of what the definition claims to calculate."""
    kind = subject.kind
    if not kind and (why := why_not_plain(subject)):
        raise CannotRun(why)
    right, edits = (kind.formula, kind.edits) if kind else (attention, EDITS)
    run = run_of(subject, sizes)
    if agrees(subject, right, run):
        return None
    runs = [run]
    with suppress(*FAILURES):
        runs += [run_of(subject, one) for one in map(subject.fitted, DRAWS[:3])]
        for mistake, form in mistaken(right, edits):
            if all(agrees(subject, form, one) for one in runs):
                return mistake
        if agrees(subject, right, runs[1]):
            return KNOWN["special_case"]
    if not kind and run[0].shape not in [one.shape for one in results(subject, attention, run)]:
        raise CannotRun("its widths do not fit the formula")
    return Mistake("The results differ from those of the formula.")


def run_of(subject: Subject, sizes: Sizes) -> Run:
    """Run a definition. Parts are in training for every second seed, since it changes nothing."""
    inputs = subject.inputs(sizes)
    training = subject.kind is not None and sizes.seed % 2 == 0
    made, (value,) = subject.run(sizes, Call(inputs, training=training))
    return value, made, inputs, sizes


def results(subject: Subject, form: Formula, run: Run) -> Iterator[Tensor]:
    """Yield the possible results of a run by a form of the formula."""
    _, made, inputs, sizes = run
    if subject.kind:
        yield from form([*made.weights.values()], **inputs)
    else:
        yield from form(made, inputs, sizes, subject.causal)


def agrees(subject: Subject, form: Formula, run: Run) -> bool:
    """Return True if one result of a form is that of a run, but for rounding.

    For a row without visible keys, any value agrees.
    """
    actual, near = run[0], CLOSE * max(scale_of(run[0]), 1e-2)
    for one in results(subject, form, run):
        if actual.shape == one.shape:
            fits = ((actual - one).abs() <= near) | (actual == one) | one.isnan()
            known = ~one.isnan() | actual.isnan()
            if known.float().mean() > 0.5 and fits.all():
                return True
    return False


def training(subject: Subject, sizes: Sizes) -> Mistake | None:
    """Check that dropout is active in training only, and that nothing else depends on the mode."""
    if not subject.definition.is_class:
        raise CannotRun("it is a function")
    still = Call(subject.inputs(sizes))
    live = replace(still, training=True)
    plain, trained, again, after = subject.values(sizes, still, live, replace(live, seed=50), still)
    if not plain.isfinite().all():
        raise CannotRun("its results are not finite")
    is_steady = not moved(trained, again) and not moved(plain, after)
    if is_steady and moved(plain, trained) and not (subject.causal and causality(subject, sizes)):
        return KNOWN["other_in_training"]
    if not subject.constructor_has("dropout"):
        return None
    half = replace(sizes, dropout=0.5)
    one, again, dropping = subject.values(half, still, replace(still, seed=50), live)
    if moved(one, again) or moved(one, plain):
        return KNOWN["dropout_always_on"]
    return None if moved(one, dropping) else KNOWN["dropout_left_out"]


def gradients(subject: Subject, sizes: Sizes) -> Mistake | None:
    """Check that gradients reach the weights and the input."""
    inputs, kind = subject.inputs(sizes), subject.kind
    if kind and "x" not in kind.takes:
        raise CannotRun("it takes no tensor that its results depend on")
    needed = [f"weight.{one[0][0]}" for role, one in layers_by_role(subject.made).items() if role]
    roles = ["x"] if kind else subject.tensors.split(", ")
    needed += [name for name, role in subject.call.items() if role in roles]
    for during in ("", " in evaluation"):
        try:
            made, _ = subject.run(sizes, Call(inputs, training=not during, gradients=True))
        except Raised as error:
            if not re.search("in-?place", str(error)):
                raise
            return Mistake(f"Autograd refuses: {error}.", line=error.line)
        if missing := [name for name in needed if name not in made.reached[0]]:
            if {*KNOWN["detached"].where.split()} & {*subject.definition.names}:
                return KNOWN["detached"]
            name = missing[0].removeprefix("weight.")
            return Mistake(f"No gradient reaches `{name}`{during}.")
    return None


def state_dict(subject: Subject, sizes: Sizes) -> Mistake | None:
    """Check that stored weights restore a module."""
    if not subject.definition.is_class:
        raise CannotRun("it is a function")
    call = Call(subject.inputs(sizes))
    _, (before,) = subject.run(sizes, call)
    other, (after,) = subject.run(sizes, call, restored=True)
    if not moved(before, after):
        return None
    found = KNOWN["not_registered"]
    plain = [f"self.{name}=" for name in other.attributes[:1]]
    return replace(found, where=" ".join([*plain, found.where]))


# By name: a check, which raises CannotRun if it does not apply. The last two are those of parts.
RELATIONS: dict[str, Check] = {
    "shape": shape,
    "causality": causality,
    "cache equals no cache": cache,
    "masked keys": masked_keys,
    "dropout only in training": training,
    "state_dict round trip": state_dict,
    "equality with the formula": formula,
    "gradients": gradients,
}
PARTS = [*RELATIONS][-2:]
