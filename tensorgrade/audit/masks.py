"""Masks of a definition: if it is causal, and the convention of a mask that is passed in."""

import re

import torch

from .subject import (
    FIRST,
    MEANINGS,
    SHAPES,
    SHAPES_OF_KEYS,
    Convention,
    Sizes,
    Subject,
    dependence,
    moved,
    scale_of,
)

CAUSAL_NAME = re.compile(r"causal|decoder|autoregress|masked_?(self|multi|att)|gpt", re.I)
TRIANGLE = re.compile(r"\b(tril|triu)(_indices)?\b|is_causal\s*=\s*(?!False)|causal_mask")


def is_causal(subject: Subject) -> bool:
    """Return True if the name, the code or the results say that it is meant to be causal."""
    if subject.given == "x, context" or subject.given == "q, k":
        return False
    if subject.has("causal") or (subject.is_module and subject.constructor_has("causal")):
        return works_causally(subject)
    if re.search(r"non_?causal|bidirectional", subject.name, re.I):
        return False
    if CAUSAL_NAME.search(subject.name) or has_triangle(subject):
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


def has_triangle(subject: Subject) -> bool:
    """Return True if a buffer is a triangle, or the code makes one and takes no mask."""
    if subject.is_module and any(map(is_triangle, subject.build(subject.fitted(FIRST)).buffers())):
        return True
    return bool(TRIANGLE.search(subject.text)) and not subject.has("mask")


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
    """Find the parameter of a mask and its convention, by trial."""
    for name, role in subject.call.items():
        if role not in ("mask", "padding") or subject.mask is not None:
            continue
        subject.mask_parameter = name
        shapes = SHAPES_OF_KEYS if role == "padding" else (*SHAPES, *SHAPES_OF_KEYS)
        subject.mask = convention_of(subject, shapes)
        if subject.mask is None and not mask_matters(subject, shapes):
            subject.mask_parameter = ""


def convention_of(subject: Subject, shapes: tuple[str, ...]) -> Convention | None:
    """Return the first convention in which masked keys have no influence, and others have."""
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
