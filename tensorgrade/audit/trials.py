"""Find out by trial how to make and call a definition, whether it is causal, and its mask."""

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import product
from typing import Any

import torch

from .code import Code, Definition, Parameter, Raised
from .kinds import CROSS_ENTROPY, ROTARY, SINUSOIDAL, Kind
from .roles import CALL, CONSTRUCTOR, Sizes, is_configuration, role_of
from .subject import (
    FIRST,
    HELP,
    MEANINGS,
    SHAPES,
    CannotRun,
    Subject,
    dependence,
    moved,
    scale_of,
    sizes_of,
)

FAILURES = (Raised, CannotRun, RuntimeError, IndexError)  # of a call with other arguments
ANGLES = ("tokens, width", "1, tokens, width", "tokens, half")
MOST_TRIES, MOST_LAYOUTS = 600, 8
CAUSAL_NAME = re.compile(r"causal|decoder|autoregress|masked_?(self|multi|att)|gpt", re.I)
BOTH_WAYS = re.compile(r"non_?causal|bidirectional", re.I)
TRIANGLE = re.compile(r"\b(tril|triu)(_indices)?\b|is_causal\s*=\s*(?!False)|causal_mask")
GUESSES = ("width", "heads", "dropout", "context", "d_out", "head_dim")
TENSORS, MASKS = ("x", "q", "k", "v", "context"), ("mask", "padding")


def subject_of(
    code: Code,
    definition: Definition,
    lines: dict[int, str],
    given: dict[str, Any],
    kind: Kind | None,
) -> Subject:
    """Return a definition of the file, with the roles of its parameters by their names."""
    (is_module, *both), _ = code.ask(
        tuple[bool, list[Parameter], list[Parameter]], "sign", name=definition.name
    )
    makes, takes = ([one for one in p if not one.kind.startswith("VAR_")] for p in both)
    free = [one for one in takes if one.name not in given]
    call = call_of_part(free, is_module, kind) if kind else call_roles(free, is_module)
    return Subject(
        code, definition, lines, definition.name, is_module, makes, takes, given, kind, call
    )


def call_of_part(takes: list[Parameter], is_module: bool, kind: Kind) -> dict[str, str]:
    """Return the role of each parameter of a call of a part: its inputs, in their order."""
    roles = ["x"] if is_module and kind is SINUSOIDAL else list(kind.inputs(FIRST))
    required = [one.name for one in takes if not one.default]
    call = {one.name: role_of(one.name, CALL) for one in takes}
    return call | dict(zip(required, roles, strict=False))


def call_roles(takes: list[Parameter], is_module: bool) -> dict[str, str]:
    """Return the role of each parameter of a call."""
    roles = {one.name: role_of(one.name, CALL) for one in takes}
    taken: set[str] = set()
    for name, role in roles.items():
        if role in taken and role in (*TENSORS, "mask", "cache"):
            roles[name] = role = "context" if role == "x" and "context" not in taken else ""
        taken.add(role)
    required = [one.name for one in takes if not one.default]
    named = [name for name in required if roles[name] in TENSORS]
    if not {"q", "k", "v"} <= {*roles.values()} and len(required) >= 3 and not is_module:
        if [roles[name] for name in required[:3]] in ([""] * 3, ["x", "context", ""]):
            roles |= dict(zip(required[:3], "qkv", strict=True))
    elif not named and required:
        roles[required[0]] = "x"
    found = {*roles.values()}
    others: dict[str, str] = {}
    if "k" in found and "q" not in found and "x" in found:
        others = {"x": "q"}
    elif "q" in found and "k" not in found:
        others = {"q": "x"} | ({"v": "context"} if "context" not in found else {})
    return {name: others.get(role, role) for name, role in roles.items()}


def prepared(subject: Subject) -> Subject:
    """Return a definition that runs: roles by name, the rest by trial. Raises CannotRun.

    Code can run in several layouts. The one in which only tokens of one sequence, and of one head
    of a function, are mixed is taken, and otherwise the first that runs.
    """
    if not subject.kind and not subject.is_module and "q" not in subject.tensors:
        raise CannotRun(
            "a function is audited if it takes queries, keys and values; this one takes "
            + (", ".join(subject.call) or "nothing")
        )
    tried: list[Exception] = []
    ran: list[Subject] = []
    for plan in plans(subject):
        try:
            plan = that_runs(replace(plan, knows_heads=finds_heads(plan)))
        except FAILURES as error:
            tried.append(error)
        else:
            ran.append(plan)
            # Of one sequence, no other one can be seen.
            if subject.kind or not (mixes_others(plan) or (plan.layout == "tokens" and ran[1:])):
                return plan
        if len(tried) == MOST_TRIES or len(ran) == MOST_LAYOUTS:
            break
    if not ran:
        raise why_not_run(tried, subject)
    return ran[0]


def plans(subject: Subject) -> Iterator[Subject]:
    """Yield copies of a subject with settings to make and call it, the most common first."""
    turned = any(not p.default and subject.call.get(p.name) == "angles" for p in subject.takes)
    unknown = without_role(subject) if subject.is_module else []
    ways = product(
        product(("width",) if subject.kind else GUESSES, repeat=min(len(unknown), 3)),
        (True,) if subject.kind else (False, True),
        layouts_of(subject),
        (True,) if subject.kind else (True, False),
        ANGLES if turned else ANGLES[:1],
    )
    for roles, equal, layout, double, angles in ways:
        yield replace(
            subject,
            guesses=dict(zip(unknown, roles, strict=False)),
            equal=equal,
            layout=layout,
            double=double,
            angles=angles,
        )


def layouts_of(subject: Subject) -> tuple[str, ...]:
    """Return the layouts to try, the most common first."""
    with_heads = ("batch, heads, tokens", "batch, tokens, heads")
    if subject.kind:
        return ("batch, tokens", "tokens") if subject.kind is CROSS_ENTROPY else ("",)
    if subject.is_module:
        images = ("batch, width, tokens, 1",) if subject.tensors == "x" else ()
        others = with_heads if "q" in subject.tensors else images
        return ("batch, tokens", "tokens, batch", "tokens", *others)
    if subject.has("heads"):
        return ("batch, tokens",)
    every = (*with_heads, "batch, tokens", "tokens", "heads, tokens")
    return ("tokens", *every) if subject.has("block") else every


def without_role(subject: Subject) -> list[str]:
    """Return the required parameters of a constructor whose names say nothing."""
    needed = [
        one.name for one in subject.makes if not one.default and one.name not in subject.given
    ]
    values = FIRST.values(True)
    return [n for n in needed if role_of(n, CONSTRUCTOR) not in values and not is_configuration(n)]


def finds_heads(subject: Subject) -> bool:
    """Return True if a function, a constructor, or that of a part, takes the number of heads."""
    if not subject.is_module or subject.constructor_has("heads"):
        return subject.is_module or subject.has("heads")
    made = subject.build(FIRST)
    return made is not None and FIRST.heads in made.heads


def why_not_run(tried: list[Exception], subject: Subject) -> CannotRun:
    """Return the error to raise for a definition if every call that was tried fails.

    Of several errors, the one on the last line counts: a call with wrong inputs fails earlier.
    """
    errors = [error for error in tried if isinstance(error, Raised)]
    if not errors:
        return CannotRun(str(tried[0]) if tried else "it takes no tensors that could be drawn")
    last = max(errors, key=lambda error: error.line)
    if last.text.startswith("KeyError: "):
        name = last.text.removeprefix("KeyError: ").strip("'")
        return CannotRun(f"making it needs `{name}`, for which there is no value; {HELP}")
    if subject.kind:
        return CannotRun(str(last), last.line)
    ways = f"{len(tried)} combinations of arguments and layouts were tried"
    if unknown := without_role(subject):
        ways += f" (there is no known value of `{unknown[0]}`; {HELP})"
    if all(error.line for error in errors):
        return CannotRun(f"{ways}, and each raises an error: {last}", last.line)
    return CannotRun(f"{ways}: {next(error for error in errors if not error.line)}")


def that_runs(subject: Subject) -> Subject:
    """Return the subject after a call of it, with a mask in each call if it needs one."""
    if subject.kind in (ROTARY, SINUSOIDAL) and (made := subject.build(FIRST)) and made.weights:
        raise CannotRun("positions with weights of their own have no known formula")
    try:
        subject.value(subject.fitted(FIRST))
        return subject
    except FAILURES:
        masks = [p.name for p in subject.takes if subject.call.get(p.name) in MASKS]
        if any(p.name in masks and not p.default for p in subject.takes):
            masked = with_mask(replace(subject, needs_mask=True), "")
            if masked.mask:
                return masked
        raise


def mixes_others(subject: Subject) -> bool:
    """Return True if another batch entry, or another head of a function, changes a result."""
    sizes = subject.fitted(FIRST)
    made, inputs = subject.build(sizes), subject.inputs(sizes)
    before = subject.run(made, inputs, sizes).value
    by_head = "heads" in subject.layout
    own = (slice(None), slice(None), slice(sizes.head_dim)) if by_head else (-1,)
    changed = {name: value.clone() for name, value in inputs.items()}
    for value in changed.values():
        value[own] = 1 - value[own]  # a norm would not show a constant that is added
    after = subject.run(made, changed, sizes).value
    rest = (..., slice(sizes.head_dim, None)) if by_head else slice(-1)
    return moved(before[rest], after[rest])


def is_causal(subject: Subject) -> bool:
    """Return True if the name, the code or the results show that a definition should be causal."""
    if subject.tensors in ("x, context", "q, k") or BOTH_WAYS.search(subject.name):
        return False
    if subject.has("causal") or subject.constructor_has("causal"):
        # Next to a mask, `is_causal` can be a hint on that mask, which means nothing alone.
        hint = subject.has("causal") and subject.has("mask") and subject.is_module
        return behaves_causally(subject) if hint else works_causally(subject)
    triangle = TRIANGLE.search("\n".join(subject.lines.values())) and not subject.has("mask")
    if triangle or CAUSAL_NAME.search(subject.name):
        return works_causally(subject)
    if subject.tensors == "q, k, v" and subject.is_module:
        return False
    return behaves_causally(subject)


def works_causally(subject: Subject) -> bool:
    """Return True if the definition runs when it is called like a causal one."""
    causal, sizes = replace(subject, causal=True), subject.fitted(FIRST)
    with suppress(*FAILURES):
        return all(causal.value(sizes, training=one).numel() for one in (False, True))
    return False


def behaves_causally(subject: Subject) -> bool:
    """Return True if no token sees a later one, in evaluation or in training."""
    causal, sizes = replace(subject, causal=True), subject.fitted(FIRST)
    with suppress(*FAILURES):
        for training in (False, True):
            table = dependence(causal, sizes, training=training)
            if not table.triu(1).any() and table.tril(-1).any():
                return True
    return False


def with_mask(subject: Subject, meaning: str) -> Subject:
    """Return the subject with the parameter of a mask and its convention, found by trial.

    The convention stays None if none fits. The parameter stays "" if a mask has no effect either.
    meaning: the meaning of the mask, if the caller gives it.
    """
    sizes, matters = subject.fitted(FIRST), subject
    names = [name for name, role in subject.call.items() if role in MASKS and not subject.mask]
    for name in names:
        shapes = [*SHAPES][3 if subject.call[name] == "padding" else 0 :]
        for shape, one in product(shapes, (meaning,) if meaning else MEANINGS):
            other = replace(subject, mask_parameter=name, mask=(one, shape))
            with suppress(*FAILURES):
                made, inputs = other.build(sizes), other.inputs(sizes)
                masked = other.run(made, inputs, sizes, drawn_mask(other, sizes)).value
                if masked.isfinite().all() and moved(masked, other.run(made, inputs, sizes).value):
                    if not leak(other, sizes):
                        return other
                    matters = replace(subject, mask_parameter=name)
    return subject if subject.needs_mask else matters


def drawn_mask(subject: Subject, sizes: Sizes) -> torch.Tensor:
    """Return (batch, queries, keys) booleans that hide some keys from all queries of a sequence."""
    b, n, m = sizes_of(subject.inputs(sizes))
    chance = torch.Generator().manual_seed(sizes.seed + 7)
    shape = subject.mask[1] if subject.mask else ""
    visible = torch.rand(b if "batch" in shape else 1, 1, m, generator=chance) < 0.5
    visible[..., 0] = visible[..., -1] = True
    visible[..., 1:2] = False  # which the last token sees, also in causal attention
    return visible.expand(b, n, m).clone()


def leak(subject: Subject, sizes: Sizes) -> bool:
    """Return True if a key that is masked has an influence."""
    visible = drawn_mask(subject, sizes)
    made, inputs = subject.build(sizes), subject.inputs(sizes)
    names = [name for name in ("context", "k", "v", "x") if name in inputs]
    names = names[:1] if "context" in names else [n for n in names if n != "x" or len(names) == 1]
    hidden = ~visible[:, 0]
    changed = inputs | {n: torch.where(hidden[..., None], 1 - inputs[n], inputs[n]) for n in names}
    before, after = (subject.run(made, one, sizes, visible).value for one in (inputs, changed))
    moves = ((before - after).abs().amax(-1) > 1e-6 * scale_of(before)) & ~after.isnan().any(-1)
    return bool((moves & visible[:, 0] if names == ["x"] else moves).any())
