"""Find out by trial how to build and call a definition, whether it is causal, and its mask."""

import inspect
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product
from typing import Any

import torch

from .errors import CannotRun, line_raising, raised
from .roles import CALL, construction, parameters_of, role_of
from .subject import (
    FIRST,
    MEANINGS,
    SHAPES,
    SHAPES_OF_KEYS,
    Convention,
    Output,
    Sizes,
    Subject,
    dependence,
    moved,
    scale_of,
)

LAYOUTS = ("batch, tokens", "tokens, batch", "tokens")
LAYOUTS_OF_FUNCTIONS = (
    "batch, heads, tokens",
    "batch, tokens, heads",
    "batch, tokens",
    "tokens",
    "heads, tokens",
)
SECONDS = 4.0  # of the processor, for trials of a definition that does not run
CAUSAL_NAME = re.compile(r"causal|decoder|autoregress|masked_?(self|multi|att)|gpt", re.I)
TRIANGLE = re.compile(r"\b(tril|triu)(_indices)?\b|is_causal\s*=\s*(?!False)|causal_mask")
GUESSES = ("width", "heads", "dropout", "context", "d_out", "head_dim")


def prepared(
    target: Any,
    name: str,
    text: str,
    line: int,
    wishes: dict[str, str],
    is_right: Callable[[Subject], bool] = lambda subject: False,
) -> Subject:
    """Return a definition that runs: roles by name, the rest by trial. Raises CannotRun.

    is_right: returns True if the results in a layout are right. A function may run in several of
    them, so that one is taken, and otherwise the first that runs.
    """
    subject = Subject(name, target, text, line, wishes=wishes)
    subject.call = call_roles(target)
    if not subject.is_module and "q" not in subject.given:
        raise CannotRun(
            "a function is audited if it takes queries, keys and values; this one takes "
            + (", ".join(subject.call) or "nothing")
        )
    tried: list[tuple[Exception, Subject]] = []
    ran: list[Subject] = []
    until = time.process_time() + SECONDS
    for plan in plans(subject):
        if tried and time.process_time() > until:
            break
        try:
            attempt(plan)
        except Exception as error:  # any code may raise anything
            tried.append((error, plan))
            continue
        if subject.is_module:
            return with_layout(plan)
        if is_right(plan):
            return plan
        ran.append(plan)
    if ran:
        return with_layout(ran[0])
    raise why_not_run(tried, target)


def why_not_run(tried: list[tuple[Exception, Subject]], target: Any) -> CannotRun:
    """Return the error to raise for a definition if every call that was tried fails.

    Of several errors, the one on the last line counts: a call with wrong inputs fails earlier.
    """
    if not tried:
        return CannotRun("it takes no tensors that could be drawn")
    lines = [line_raising(error, target) for error, _ in tried]
    furthest, plan = tried[max(range(len(tried)), key=lines.__getitem__)]
    if inspect.signature(target).parameters and not parameters_of(target):
        return CannotRun(f"nothing is known about its `*` arguments; {raised(furthest, target)}")
    if needed := needed_without_value(plan):
        return CannotRun(f"a call needs `{needed}`, and an audit has no value for it")
    ways = f"{len(tried)} combinations of arguments and layouts were tried"
    if not all(lines):
        return CannotRun(f"{ways}: {raised(tried[lines.index(0)][0], target)}")
    said = f"{ways}, and each raises an error: {raised(furthest, target)}"
    return CannotRun(said, max(lines))


def needed_without_value(subject: Subject) -> str:
    """Return a parameter without a default for which a call passes None, or an empty text."""
    parameters = inspect.signature(subject.called).parameters
    return next(
        (
            name
            for name, role in subject.call.items()
            if role in ("mask", "padding", "cache")
            and parameters[name].default is inspect.Parameter.empty
        ),
        "",
    )


def call_roles(target: Any) -> dict[str, str]:
    """Return the role of each parameter of a function or of a class's `forward`."""
    is_class = inspect.isclass(target)
    found = parameters_of(target.forward if is_class else target)[1 if is_class else 0 :]
    roles = {one.name: role_of(one.name, CALL) for one in found}
    taken: set[str] = set()
    for one in found:
        role = roles[one.name]
        if role in taken and role in ("x", "q", "k", "v", "context", "mask", "cache"):
            roles[one.name] = role = "context" if role == "x" and "context" not in taken else ""
        taken.add(role)
    required = [one.name for one in found if one.default is inspect.Parameter.empty]
    tensors = {"q", "k", "v", "x", "context"}
    named = [name for name in required if roles[name] in tensors]
    if not {"q", "k", "v"} <= set(roles.values()) and len(required) >= 3 and not is_class:
        if [roles[name] for name in required[:3]] in ([""] * 3, ["x", "context", ""]):
            roles |= dict(zip(required[:3], "qkv", strict=True))
    elif not named and required:
        roles[required[0]] = "x"
    if "k" in roles.values() and "q" not in roles.values() and "x" in roles.values():
        roles = {name: "q" if role == "x" else role for name, role in roles.items()}
    if "q" in roles.values() and "k" not in roles.values():
        roles = {name: "x" if role == "q" else role for name, role in roles.items()}
        if "v" in roles.values() and "context" not in roles.values():
            roles = {name: "context" if role == "v" else role for name, role in roles.items()}
    return roles


def plans(subject: Subject) -> Iterator[Subject]:
    """Yield copies of a subject with settings to build and call it, the most common first."""
    if not subject.is_module:
        subject.splits_heads = subject.has("heads")
        layouts = ("batch, tokens",) if subject.splits_heads else LAYOUTS_OF_FUNCTIONS
        if subject.has("block"):
            layouts = ("tokens", *layouts)
        for layout, square, double in product(layouts, (False, True), (True, False)):
            yield replace(subject, layout=layout, square=square, double=double)
        return
    unknown: list[str] = []
    for _ in range(4):
        try:
            construction(subject.target, FIRST, False, dict.fromkeys(unknown, "width"))
        except KeyError as error:
            unknown.append(error.args[0])
        except Exception:
            break
    for roles in product(GUESSES, repeat=min(len(unknown), 3)):
        guesses = dict(zip(unknown, roles, strict=False))
        for equal, layout, double in product((False, True), LAYOUTS, (True, False)):
            if layout == "tokens, batch" and not equal and unknown:
                continue
            yield replace(subject, equal=equal, layout=layout, double=double, guesses=guesses)


def attempt(subject: Subject) -> Output:
    """Run a definition once."""
    sizes = subject.fitted(FIRST)
    with torch.no_grad():
        return subject.run(subject.build(sizes), subject.inputs(sizes), sizes)


def with_layout(subject: Subject) -> Subject:
    """Return the subject with the layout in which only tokens of one sequence are mixed.

    A module that takes (tokens, batch) runs with (batch, tokens) too, but mixes the wrong axis.
    """
    if subject.layout not in ("batch, tokens", "batch, heads, tokens"):
        return subject
    turned = {"batch, tokens": "tokens, batch", "batch, heads, tokens": "batch, tokens, heads"}
    other = replace(subject, layout=turned[subject.layout])
    try:
        if not mixes_others(subject) or mixes_others(other):
            return subject
        on_other_tokens = dependence(other, other.fitted(FIRST)).fill_diagonal_(False)
        return other if on_other_tokens.any() else subject
    except Exception:
        return subject


def mixes_others(subject: Subject) -> bool:
    """Return True if another batch entry, or another head of a function, changes a result."""
    sizes = subject.fitted(FIRST)
    made, inputs = subject.build(sizes), subject.inputs(sizes)
    with torch.no_grad():
        before = subject.run(made, inputs, sizes).value
        changed = {name: value.clone() for name, value in inputs.items()}
        for value in changed.values():
            # A norm would not show a constant that is added.
            if "heads" in subject.layout:
                value[..., : sizes.head_dim] = 1 - value[..., : sizes.head_dim]
            else:
                value[-1] = 1 - value[-1]
        after = subject.run(made, changed, sizes).value
    if "heads" in subject.layout:
        return moved(before[..., sizes.head_dim :], after[..., sizes.head_dim :])
    return moved(before[:-1], after[:-1])


def is_causal(subject: Subject) -> bool:
    """Return True if the name, the code or the results show that a definition should be causal."""
    if subject.given == "x, context" or subject.given == "q, k":
        return False
    if subject.has("causal") or (subject.is_module and subject.constructor_has("causal")):
        return works_causally(subject)
    if re.search(r"non_?causal|bidirectional", subject.name, re.I):
        return False
    if CAUSAL_NAME.search(subject.name):
        return works_causally(subject)
    makes_triangle = TRIANGLE.search(subject.text) and not subject.has("mask")
    buffers = subject.build(subject.fitted(FIRST)).buffers() if subject.is_module else ()
    if makes_triangle or any(map(is_triangle, buffers)):
        return works_causally(subject)
    if subject.given == "q, k, v" and subject.is_module:
        return False
    return behaves_causally(subject)


def works_causally(subject: Subject) -> bool:
    """Return True if the definition runs when it is called like a causal one.

    Next to a mask, `is_causal` can be a hint on that mask, which means nothing alone.
    """
    if subject.has("causal") and subject.has("mask") and subject.is_module:
        return behaves_causally(subject)
    sizes = subject.fitted(FIRST)
    subject.causal = True
    try:
        for training in (False, True):
            subject.run(subject.build(sizes), subject.inputs(sizes), sizes, training=training)
    except Exception:
        return False
    finally:
        subject.causal = False
    return True


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
    sizes = subject.fitted(FIRST)
    subject.causal = True
    try:
        for training in (False, True):
            table = dependence(subject, sizes, training=training)
            if not table.triu(1).any() and table.tril(-1).any():
                return True
    except Exception:
        return False
    finally:
        subject.causal = False
    return False


def find_mask(subject: Subject) -> None:
    """Set the parameter of a mask and its convention, found by trial.

    The convention stays None if none fits. The parameter stays "" if a mask has no effect either.
    """
    for name, role in subject.call.items():
        if role not in ("mask", "padding") or subject.mask is not None:
            continue
        subject.mask_parameter = name
        shapes = SHAPES_OF_KEYS if role == "padding" else (*SHAPES, *SHAPES_OF_KEYS)
        subject.mask = convention_of(subject, shapes)
        if subject.mask is None and not mask_matters(subject, shapes):
            subject.mask_parameter = ""


def convention_of(subject: Subject, shapes: tuple[str, ...]) -> Convention | None:
    """Set `subject.mask` to the first convention in which no masked key has an influence.

    Return it; None if there is none.
    """
    wished = subject.wishes.get("mask", "")
    sizes = subject.fitted(FIRST)
    for shape in shapes:
        for meaning in (wished,) if wished else MEANINGS:
            subject.mask = Convention(meaning, shape)
            try:
                visible = drawn_mask(subject, sizes)
                made, inputs = subject.build(sizes), subject.inputs(sizes)
                with torch.no_grad():
                    out = subject.run(made, inputs, sizes, visible).value
                if not out.isnan().any() and leaks(subject, sizes) is None:
                    return subject.mask
            except Exception:
                continue
    subject.mask = None
    return None


def mask_matters(subject: Subject, shapes: tuple[str, ...]) -> bool:
    """Return True if a mask of booleans is accepted and changes results."""
    sizes = subject.fitted(FIRST)
    made, inputs = subject.build(sizes), subject.inputs(sizes)
    for shape in shapes:
        subject.mask = Convention("true-hides", shape)
        try:
            with torch.no_grad():
                one = subject.run(made, inputs, sizes, drawn_mask(subject, sizes)).value
                other = subject.run(made, inputs, sizes).value
        except Exception:
            continue
        finally:
            subject.mask = None
        if one.isfinite().all() and moved(one, other):
            return True
    return False


def drawn_mask(subject: Subject, sizes: Sizes) -> torch.Tensor:
    """Return (batch, queries, keys) booleans that show at least one key to each query."""
    inputs = subject.inputs(sizes)
    n = next(iter(inputs.values())).shape[1]
    m = next((inputs[k].shape[1] for k in ("k", "context") if k in inputs), n)
    chance = torch.Generator().manual_seed(sizes.seed + 7)
    of_keys = subject.mask is not None and "queries" not in subject.mask.shape
    visible = torch.rand(sizes.batch, 1 if of_keys else n, m, generator=chance) < 0.5
    if subject.mask is not None and "batch" not in subject.mask.shape:
        visible = visible[:1]
    visible[..., 0] = True
    return visible.expand(sizes.batch, n, m).clone()


def leaks(subject: Subject, sizes: Sizes) -> tuple[int, int] | None:
    """Return (query, key) of a masked key that has an influence, or None."""
    visible = drawn_mask(subject, sizes)
    made, inputs = subject.build(sizes), subject.inputs(sizes)
    names: list[str] = [name for name in ("context", "k", "v") if name in inputs] or ["x"]
    with torch.no_grad():
        before = subject.run(made, inputs, sizes, visible).value
        for key in range(visible.shape[2]):
            changed = dict(inputs)
            for name in names:
                changed[name] = inputs[name].clone()
                changed[name][:, key] = 1 - inputs[name][:, key]
            after = subject.run(made, changed, sizes, visible).value
            hidden = ~visible[..., key]
            if names == ["x"]:
                hidden[:, key] = False  # it changes as a query
            difference = (before - after).abs().amax(-1)
            wrong = hidden & ~(difference <= 1e-6 * scale_of(before)) & ~after.isnan().any(-1)
            if wrong.any():
                return int(wrong.nonzero()[0, 1]), key
    return None
