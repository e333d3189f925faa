"""Find out by trial how to make and call a definition, whether it is causal, and its mask."""

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import product
from typing import Any

import torch

from .code import Code, Definition, Made, Parameter, Raised
from .roles import CALL, Sizes, role_of
from .subject import (
    FIRST,
    HELP,
    MEANINGS,
    SHAPES,
    SHAPES_OF_KEYS,
    CannotRun,
    Convention,
    Subject,
    changed_at,
    dependence,
    moved,
    scale_of,
    sizes_of,
)

FAILURES = (Raised, CannotRun, RuntimeError, IndexError)  # of a call with other arguments
LAYOUTS = ("batch, tokens", "tokens, batch", "tokens")
LAYOUTS_WITH_HEADS = ("batch, heads, tokens", "batch, tokens, heads")
ANGLES = ("tokens, width", "1, tokens, width", "tokens, half")
MOST_TRIES = 600
CAUSAL_NAME = re.compile(r"causal|decoder|autoregress|masked_?(self|multi|att)|gpt", re.I)
TRIANGLE = re.compile(r"\b(tril|triu)(_indices)?\b|is_causal\s*=\s*(?!False)|causal_mask")
GUESSES = ("width", "heads", "dropout", "context", "d_out", "head_dim")
TENSORS, MASKS = ("x", "q", "k", "v", "context"), ("mask", "padding")


def subject_of(
    code: Code, definition: Definition, lines: dict[int, str], given: dict[str, Any]
) -> Subject:
    """Return a definition of the file, with the roles of its parameters by their names."""
    (is_module, *both), _ = code.ask(
        tuple[bool, list[Parameter], list[Parameter]], "sign", name=definition.name
    )
    makes, takes = ([one for one in p if not one.kind.startswith("VAR_")] for p in both)
    call = call_roles([one for one in takes if one.name not in given], is_module)
    return Subject(code, definition, lines, definition.name, is_module, makes, takes, given, call)


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


def prepared(subject: Subject, is_right: Callable[[Subject], bool]) -> Subject:
    """Return a definition that runs: roles by name, the rest by trial. Raises CannotRun.

    is_right: returns True if the results in a layout are right. A function may run in several of
    them, so that one is taken, and otherwise the first that runs.
    """
    if not subject.is_module and "q" not in subject.tensors:
        raise CannotRun(
            "a function is audited if it takes queries, keys and values; this one takes "
            + (", ".join(subject.call) or "nothing")
        )
    tried: list[Exception] = []
    ran: list[Subject] = []
    for plan in plans(subject):
        try:
            knows_heads = plan.knows_heads or finds_heads(plan)
            plan = that_runs(replace(plan, knows_heads=knows_heads))
        except FAILURES as error:
            tried.append(error)
            if len(tried) == MOST_TRIES:
                break
            continue
        if subject.is_module or is_right(plan):
            return with_layout(plan) if subject.is_module else plan
        ran.append(plan)
    if ran:
        return with_layout(ran[0])
    raise why_not_run(tried, subject)


def plans(subject: Subject) -> Iterator[Subject]:
    """Yield copies of a subject with settings to make and call it, the most common first."""
    turned = any(not p.default and subject.call.get(p.name) == "angles" for p in subject.takes)
    unknown = without_role(subject) if subject.is_module else []
    splits = not subject.is_module and subject.has("heads")
    ways = product((False, True), layouts_of(subject), (True, False), ANGLES[: 3 if turned else 1])
    every = [
        replace(
            subject, equal=equal, layout=layout, double=double, angles=angles, knows_heads=splits
        )
        for equal, layout, double, angles in ways
    ]
    for roles in product(GUESSES, repeat=min(len(unknown), 3)):
        guesses = dict(zip(unknown, roles, strict=False))
        for plan in every:
            if plan.equal or plan.layout != "tokens, batch" or not unknown:
                yield replace(plan, guesses=guesses)


def layouts_of(subject: Subject) -> tuple[str, ...]:
    """Return the layouts to try, the most common first."""
    if subject.is_module:
        images = ("batch, width, tokens, 1",) if subject.tensors == "x" else ()
        return (*LAYOUTS, *(LAYOUTS_WITH_HEADS if "q" in subject.tensors else images))
    if subject.has("heads"):
        return ("batch, tokens",)
    every = (*LAYOUTS_WITH_HEADS, "batch, tokens", "tokens", "heads, tokens")
    return ("tokens", *every) if subject.has("block") else every


def without_role(subject: Subject) -> list[str]:
    """Return the parameters of a constructor for which there is no value."""
    unknown: list[str] = []
    for _ in range(4):
        try:
            replace(subject, guesses=dict.fromkeys(unknown, "width")).build(FIRST)
        except Raised as error:
            if not error.text.startswith("KeyError: '"):
                break
            unknown.append(error.text.removeprefix("KeyError: ").strip("'"))
    names = [one.name for one in subject.makes]
    return [name for name in unknown if name in names]


def finds_heads(subject: Subject) -> bool:
    """Return True if a constructor, or that of a part, takes the number of heads."""
    if not subject.is_module or subject.constructor_has("heads"):
        return subject.is_module
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
    ways = f"{len(tried)} combinations of arguments and layouts were tried"
    if unknown := without_role(subject) if subject.is_module else []:
        ways += f" (there is no known value of `{unknown[0]}`; {HELP})"
    if all(error.line for error in errors):
        return CannotRun(f"{ways}, and each raises an error: {last}", last.line)
    return CannotRun(f"{ways}: {next(error for error in errors if not error.line)}")


def that_runs(subject: Subject) -> Subject:
    """Return the subject after a call of it, with a mask in each call if it needs one."""
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


def with_layout(subject: Subject) -> Subject:
    """Return the subject with the layout in which only tokens of one sequence are mixed.

    A module that takes (tokens, batch) runs with (batch, tokens) too, but mixes the wrong axis.
    """
    turned = {"batch, tokens": "tokens, batch", "batch, heads, tokens": "batch, tokens, heads"}
    if subject.layout not in turned:
        return subject
    other = replace(subject, layout=turned[subject.layout])
    with suppress(*FAILURES):
        if mixes_others(subject) and not mixes_others(other):
            on_others = dependence(other, other.fitted(FIRST)).fill_diagonal_(False)
            return other if on_others.any() else subject
    return subject


def mixes_others(subject: Subject) -> bool:
    """Return True if another batch entry, or another head of a function, changes a result."""
    sizes = subject.fitted(FIRST)
    made, inputs = subject.build(sizes), subject.inputs(sizes)
    before = subject.run(made, inputs, sizes).value
    changed = {name: value.clone() for name, value in inputs.items()}
    own = (slice(None), slice(None), slice(sizes.head_dim)) if "heads" in subject.layout else (-1,)
    for value in changed.values():
        value[own] = 1 - value[own]  # a norm would not show a constant that is added
    after = subject.run(made, changed, sizes).value
    if "heads" in subject.layout:
        return moved(before[..., sizes.head_dim :], after[..., sizes.head_dim :])
    return moved(before[:-1], after[:-1])


def is_causal(subject: Subject) -> bool:
    """Return True if the name, the code or the results show that a definition should be causal."""
    if subject.tensors in ("x, context", "q, k"):
        return False
    if subject.has("causal") or subject.constructor_has("causal"):
        return works_causally(subject)
    if re.search(r"non_?causal|bidirectional", subject.name, re.I):
        return False
    if CAUSAL_NAME.search(subject.name):
        return works_causally(subject)
    made = subject.build(subject.fitted(FIRST))
    makes_triangle = TRIANGLE.search("\n".join(subject.lines.values())) and not subject.has("mask")
    if makes_triangle or any(map(is_triangle, buffers_of(made))):
        return works_causally(subject)
    if subject.tensors == "q, k, v" and subject.is_module:
        return False
    return behaves_causally(subject)


def buffers_of(made: Made | None) -> list[torch.Tensor]:
    """Return the values of a module's state that are no parameters."""
    names = {*made.state} - {*made.parameters} if made else ()
    return [made.state[name] for name in names] if made else []


def works_causally(subject: Subject) -> bool:
    """Return True if the definition runs when it is called like a causal one.

    Next to a mask, `is_causal` can be a hint on that mask, which means nothing alone.
    """
    if subject.has("causal") and subject.has("mask") and subject.is_module:
        return behaves_causally(subject)
    causal, sizes = replace(subject, causal=True), subject.fitted(FIRST)
    with suppress(*FAILURES):
        return all(causal.value(sizes, training=one).numel() for one in (False, True))
    return False


def is_triangle(buffer: torch.Tensor) -> bool:
    """Return True if a buffer is one square matrix that is filled on one side only."""
    size = buffer.shape[-1] if buffer.dim() >= 2 else 0
    if size < 3 or buffer.shape[-2] != size or buffer.numel() != size * size:
        return False
    square = buffer.reshape(size, size).double().nan_to_num(neginf=-1.0) != 0
    if torch.equal(square, square.mT):
        return False
    return torch.equal(square, square.tril()) or torch.equal(square, square.triu())


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
    names = [name for name, role in subject.call.items() if role in MASKS and not subject.mask]
    for name in names:
        shapes = SHAPES_OF_KEYS if subject.call[name] == "padding" else (*SHAPES, *SHAPES_OF_KEYS)
        for shape, one in product(shapes, (meaning,) if meaning else MEANINGS):
            other = replace(subject, mask_parameter=name, mask=Convention(one, shape))
            with suppress(*FAILURES):
                if hides_keys(other):
                    return other
        if not subject.needs_mask and mask_matters(subject, name, shapes):
            return replace(subject, mask_parameter=name)
    return subject


def hides_keys(subject: Subject) -> bool:
    """Return True if a mask in the subject's convention is taken, and no masked key matters."""
    sizes = subject.fitted(FIRST)
    visible = drawn_mask(subject, sizes)
    out = subject.run(subject.build(sizes), subject.inputs(sizes), sizes, visible).value
    return not out.isnan().any() and leak(subject, sizes) is None


def mask_matters(subject: Subject, name: str, shapes: tuple[str, ...]) -> bool:
    """Return True if a mask of booleans is accepted and changes results."""
    for shape in shapes:
        other = replace(subject, mask_parameter=name, mask=Convention("true-hides", shape))
        sizes = other.fitted(FIRST)
        made, inputs = other.build(sizes), other.inputs(sizes)
        with suppress(*FAILURES):
            one = other.run(made, inputs, sizes, drawn_mask(other, sizes)).value
            if one.isfinite().all() and moved(one, other.run(made, inputs, sizes).value):
                return True
    return False


def drawn_mask(subject: Subject, sizes: Sizes) -> torch.Tensor:
    """Return (batch, queries, keys) booleans that show at least one key to each query."""
    _, n, m = sizes_of(subject.inputs(sizes))
    shape = subject.mask.shape if subject.mask else ""
    chance = torch.Generator().manual_seed(sizes.seed + 7)
    rows = n if not shape or "queries" in shape else 1
    visible = torch.rand(sizes.batch, rows, m, generator=chance) < 0.5
    if shape and "batch" not in shape:
        visible = visible[:1]
    visible[..., 0] = True
    return visible.expand(sizes.batch, n, m).clone()


def leak(subject: Subject, sizes: Sizes) -> tuple[int, int] | None:
    """Return (query, key) of a masked key that has an influence, or None."""
    visible = drawn_mask(subject, sizes)
    made, inputs = subject.build(sizes), subject.inputs(sizes)
    names: list[str] = [name for name in ("context", "k", "v") if name in inputs] or ["x"]
    before = subject.run(made, inputs, sizes, visible).value
    for key in range(visible.shape[2]):
        after = subject.run(made, changed_at(inputs, names, key), sizes, visible).value
        hidden = ~visible[..., key]
        if names == ["x"]:
            hidden[:, key] = False  # it changes as a query
        difference = (before - after).abs().amax(-1)
        wrong = hidden & ~(difference <= 1e-6 * scale_of(before)) & ~after.isnan().any(-1)
        if wrong.any():
            return int(wrong.nonzero()[0, 1]), key
    return None
