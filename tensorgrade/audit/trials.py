"""Find out by trial how to make and call a definition, whether it is causal, and its mask."""

import re
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import product

import torch
from torch import Tensor

from .code import FAILURES, CannotRun, Code, Definition, Raised
from .parts import Kind
from .roles import CALL, Sizes, is_configuration, role_of
from .subject import (
    HELP,
    LAYOUTS,
    MEANINGS,
    NOTHING,
    SHAPES,
    Call,
    Subject,
    changed_at,
    dependence,
    keys_of,
    moved,
    scale_of,
    sizes_of,
)

# Layouts of functions, the most common first.
FUNCTIONS = ("batch, heads, tokens", "batch, tokens, heads", "batch, tokens", "tokens")
CAUSAL_NAME = re.compile(r"(?<!non)(?<!non_)causal|autoregress|masked_?(self|multi|att)", re.I)
DECODER_NAME = re.compile(r"decoder|gpt", re.I)
TRIANGLE = re.compile(r"\b(tril|triu)(_indices)?\b|is_causal\s*=\s*(?!False)|causal_mask")
TENSORS = ("x", "q", "k", "v", "context")


def subject_of(code: Code, definition: Definition, kind: Kind | None) -> Subject:
    """Return a definition that runs: roles by name, the rest by trial. Raises CannotRun.

    Code can run in several layouts. The one in which only tokens of one sequence, and of one head
    of a function, are mixed is taken, and otherwise the first that runs. A context that may be left
    out, and has to be or has no effect, is left out.
    """
    subject = Subject(code, definition, kind, call_roles(definition, kind, code.file.arguments))
    if not kind and not definition.is_class and not subject.has("k"):
        raise CannotRun(
            "a function is audited if it takes queries, keys and values; this one takes "
            + (", ".join(subject.call) or "nothing")
        )
    tried: list[Exception] = []
    ran: list[Subject] = []
    for plan in plans(subject):
        try:
            plan = that_runs(plan)
            ran.append(plan)
            unused = plan.tensors == "x, context" and not dependence(plan, plan.first).any()
            # Of one sequence, no other one can be seen.
            mixes = plan.layout == "tokens" and ran[1:]
            if kind or not (unused or mixes or mixes_others(plan)):
                return plan
        except FAILURES as error:
            tried.append(error)
    if not ran:
        raise why_not_run(tried)
    return ran[0]


def call_roles(definition: Definition, kind: Kind | None, given: Collection[str]) -> dict[str, str]:
    """Return the role of each parameter of a call that is not given, by its name and place."""
    roles = {name: role_of(name, CALL) for name in definition.takes if name not in given}
    required = [name for name in roles if not definition.takes[name]]
    if kind:
        inputs = ("x",) if definition.is_class else kind.takes
        return roles | dict(zip(required, inputs, strict=False))
    taken: set[str] = set()
    for name, role in roles.items():
        if role in taken and role in (*TENSORS, "cache"):
            roles[name] = role = "context" if role == "x" and "context" not in taken else ""
        taken.add(role)
    first = [roles[name] for name in required[:3]]
    if not definition.is_class and first in ([""] * 3, ["x", "context", ""]):
        roles |= dict(zip(required, "qkv", strict=False))
    elif required and not any(roles[name] in TENSORS for name in required):
        roles[required[0]] = "x"
    found = {*roles.values()}
    others: dict[str, str] = {}
    if "k" in found and "q" not in found and "x" in found:
        others = {"x": "q"}
    elif "q" in found and "k" not in found:
        others = {"q": "x"} | ({"v": "context"} if "context" not in found else {})
    return {name: others.get(role, role) for name, role in roles.items()}


def plans(subject: Subject) -> Iterator[Subject]:
    """Yield copies of a subject with settings to make and call it, the most common first."""
    if subject.kind:
        yield replace(subject, equal=True)
        return
    layouts = [*LAYOUTS] if subject.definition.is_class else [*FUNCTIONS]
    if subject.has("heads"):
        layouts = ["batch, tokens"]
    elif subject.has("block"):
        layouts = ["tokens", *layouts]
    takes = subject.definition.takes
    optional = [n for n, role in subject.call.items() if role == "context" and takes[n]]
    alone = replace(subject, call=subject.call | dict.fromkeys(optional, ""))
    for one in (subject, alone) if optional else (subject,):
        for equal, layout in product((False, True), layouts):
            yield replace(one, equal=equal, layout=layout)


def why_not_run(tried: list[Exception]) -> CannotRun:
    """Return the error to raise for a definition if every call that was tried fails.

    Of several errors, the one on the last line counts: a call with wrong inputs fails earlier.
    """
    errors = [error for error in tried if isinstance(error, Raised)]
    if not errors:
        return CannotRun(str(tried[0]))
    last = max(errors, key=lambda error: error.line)
    if str(last).startswith("KeyError: "):
        name = str(last).removeprefix("KeyError: ").strip("'")
        return CannotRun(f"making it needs `{name}`, for which there is no value; {HELP}")
    many = f"{len(tried)} combinations of arguments and layouts were tried, and none runs"
    said = f"{many if len(tried) > 1 else 'a call of it does not run'}: {last}"
    return CannotRun(said, last.line if all(error.line for error in errors) else 0)


def that_runs(subject: Subject) -> Subject:
    """Return the subject after a call of it, with the convention of a mask if it needs one."""
    try:
        subject.values(subject.first)
        return subject
    except FAILURES:
        masked = with_mask(subject)
        if masked.mask[1]:
            return masked
        raise


def mixes_others(subject: Subject) -> bool:
    """Return True if another batch entry, or another head of a function, changes a result."""
    sizes = subject.first
    inputs = subject.inputs(sizes)
    by_head = "heads" in subject.layout
    own = (slice(None), slice(None), slice(sizes.head_dim)) if by_head else (-1,)
    changed = Call(changed_at(inputs, [*inputs], own))
    before, after = subject.values(sizes, Call(inputs), changed)
    rest = (..., slice(sizes.head_dim, None)) if by_head else slice(-1)
    return moved(before[rest], after[rest])


def is_causal(subject: Subject) -> bool:
    """Return True if the name, the code or the results show that a definition should be causal.

    It must run when it is called like a causal one.
    """
    name, code = subject.definition.name, "\n".join(line for _, line in subject.definition.lines)
    if subject.tensors == "x, context":
        return False
    causal = replace(subject, causal=True)
    try:
        tables = [dependence(causal, causal.first, training) for training in (False, True)]
    except FAILURES:
        return False
    behaves = any(not one.triu(1).any() and one.tril(-1).any() for one in tables)
    has_mask, is_class = subject.has("mask"), subject.definition.is_class
    if subject.has("causal") or subject.constructor_has("causal"):
        # Next to a mask, `is_causal` can be a hint on that mask, which means nothing alone.
        by_others = subject.has("causal") or any(map(is_configuration, subject.definition.makes))
        return behaves or not (by_others and has_mask and is_class)
    # A mask of the caller's may make it causal.
    shown = not has_mask and (DECODER_NAME.search(name) or TRIANGLE.search(code))
    needs_mask = subject.tensors == "q, k, v" and is_class
    return bool(CAUSAL_NAME.search(name) or shown) or (behaves and not needs_mask)


def with_mask(subject: Subject) -> Subject:
    """Return the subject with the parameter of a mask and its convention, found by trial.

    The meaning stays "" if none fits, unless the caller gives it. The parameter stays "" if a mask
    has no effect either.
    """
    matters = subject
    names = [name for name, role in subject.call.items() if role == "mask" and not subject.mask[1]]
    wished = subject.code.file.mask
    for name, shape, meaning in product(names, SHAPES, [wished] if wished else MEANINGS):
        other = replace(subject, mask=(name, meaning, shape))
        with suppress(*FAILURES):
            has_effect, leaks = effect_of_mask(other, subject.first)
            if has_effect and not leaks:
                return other
            if has_effect:
                matters = other if wished else replace(subject, mask=(name, "", ""))
    return matters


def drawn_mask(subject: Subject, sizes: Sizes) -> Tensor:
    """Return (batch, queries, keys) booleans that hide some keys from all queries of a sequence."""
    b, n, m = sizes_of(subject.inputs(sizes))
    chance = torch.Generator().manual_seed(sizes.seed + 7)
    visible = torch.rand(b if "batch" in subject.mask[2] else 1, 1, m, generator=chance) < 0.5
    visible[..., 0] = visible[..., -1] = True
    visible[..., 1:2] = False  # which the last token sees, also in causal attention
    return visible.expand(b, n, m).clone()


def effect_of_mask(subject: Subject, sizes: Sizes) -> tuple[bool, bool]:
    """Return True if a mask changes results, and True if keys that it hides still change them.

    If queries are made from the same tokens, results of hidden tokens do not count.
    """
    visible, inputs = drawn_mask(subject, sizes), subject.inputs(sizes)
    changed = changed_at(inputs, keys_of(inputs), ~visible[:, 0])
    calls = Call(inputs), Call(inputs, visible), Call(changed, visible)
    plain, masked, after = subject.values(sizes, *calls)
    moves = (masked - after).abs().amax(-1) > NOTHING * scale_of(masked)
    moves &= ~after.isnan().any(-1)
    leaks = moves & visible[:, 0] if keys_of(inputs) == ["x"] else moves
    return bool(masked.isfinite().all()) and moved(masked, plain), bool(leaks.any())
