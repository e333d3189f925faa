"""What a definition is taken for: causal or not, the convention of its mask, its kind in words."""

import re

import torch

from .relations.attention import drawn_mask, leaks
from .subject import (
    FIRST,
    MEANINGS,
    SHAPES,
    SHAPES_OF_KEYS,
    Convention,
    Subject,
    dependence,
    moved,
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
    sizes = subject.batch_of(subject.fitted(FIRST))
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
    if not subject.is_module:
        return bool(TRIANGLE.search(subject.text)) and not subject.has("mask")
    made = subject.build(subject.fitted(FIRST))
    for value in made.buffers():
        square = (
            value.reshape(value.shape[-2:])
            if value.dim() >= 2 and value.numel() == value.shape[-1] * value.shape[-2]
            else None
        )
        if square is None or square.shape[0] != square.shape[1] or square.shape[0] < 3:
            continue
        filled = square.double().nan_to_num(neginf=-1.0) != 0
        if not torch.equal(filled, filled.mT) and (
            torch.equal(filled, filled.tril()) or torch.equal(filled, filled.triu())
        ):
            return True
    return bool(TRIANGLE.search(subject.text)) and not subject.has("mask")


def behaves_causally(subject: Subject) -> bool:
    """Return True if no token sees a later one, in evaluation or in training."""
    sizes = subject.batch_of(subject.fitted(FIRST))
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
    sizes = subject.batch_of(subject.fitted(FIRST))
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
    sizes = subject.batch_of(subject.fitted(FIRST))
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


def kind_of(subject: Subject) -> str:
    """Return in words what a definition was taken for."""
    heads = subject.fitted(FIRST).heads > 1
    words = ["causal"] * subject.causal
    if subject.is_module and subject.constructor_has("kv_heads"):
        words.append("grouped-query")
    elif heads:
        words.append("multi-head")
    source = {"x": "self-attention", "x, context": "cross-attention", "q, k": "attention weights"}
    words.append(source.get(subject.given, "attention on q, k, v"))
    if subject.is_module and has_feed_forward(subject):
        return f"{'causal ' * subject.causal}block"
    return " ".join(words)


def has_feed_forward(subject: Subject) -> bool:
    """Return True if a module has a feed-forward network, and so is a whole block."""
    names = [name for name, _ in subject.build(subject.fitted(FIRST)).named_children()]
    return any(re.fullmatch(r"ff|ffn|mlp|ffwd|feed_?forward|linear1", name, re.I) for name in names)


def roles_of(subject: Subject) -> dict[str, str]:
    """Return what was found out, by topic."""
    told = {"input": f"{subject.given} as ({subject.layout}, width)"}
    if subject.mask:
        told["mask"] = f"`{subject.mask_parameter}`, {subject.mask.meaning}, ({subject.mask.shape})"
    if subject.guesses:
        told["tried"] = ", ".join(f"`{n}` as {r}" for n, r in subject.guesses.items())
    return told
