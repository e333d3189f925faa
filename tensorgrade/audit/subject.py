"""A definition that is audited: how to make and call it, found out by its names and by trial."""

import re
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any

import msgspec
import torch
from torch import Tensor

from .child import under
from .code import FAILURES, Call, CannotRun, Code, Definition, Made, Raised
from .conventions import (
    CALL,
    CONSTRUCTOR,
    DRAWS,
    LAYOUTS,
    MEANINGS,
    NO_VALUE,
    NOTHING,
    SHAPES,
    Inputs,
    Sizes,
    angles,
    changed_at,
    is_configuration,
    keys_of,
    moved,
    role_of,
    scale_of,
    sizes_of,
)
from .formulas import Kind

# Layouts of functions, the most common first.
FUNCTIONS = ("batch, heads, tokens", "batch, tokens, heads", "batch, tokens", "tokens")
CAUSAL_NAME = re.compile(r"(?<!non)(?<!non_)causal|autoregress|masked_?(self|multi|att)", re.I)
DECODER_NAME = re.compile(r"decoder|gpt", re.I)
TRIANGLE = re.compile(r"\b(tril|triu)(_indices)?\b|is_causal\s*=\s*(?!False)|causal_mask")
TENSORS = ("x", "q", "k", "v", "context")


@dataclass(frozen=True)
class Subject:
    """A definition to audit, and the way to make and call it.

    kind: that of a part of attention, such as a softmax; None for attention. call: the role of each
    parameter of the call. equal: see `Sizes`. mask: the parameter, the meaning and the shape of one
    that is passed in; no meaning is known if it hides nothing.
    """

    code: Code
    definition: Definition
    kind: Kind | None
    call: dict[str, str]
    layout: str = "batch, tokens"
    equal: bool = False
    causal: bool = False
    mask: tuple[str, str, str] = ("", "", "")

    @property
    def tensors(self) -> str:
        """Return the tensors that a call takes: `x`, `x, context`, `q, k, v` or `q, k`."""
        if self.has("q") and self.has("k"):
            return "q, k, v" if self.has("v") else "q, k"
        return "x, context" if self.has("context") else "x"

    def has(self, role: str) -> bool:
        """Return True if a parameter of the call has this role."""
        return role in self.call.values()

    def constructor_has(self, role: str) -> bool:
        """Return True if a parameter of the constructor has this role."""
        return role in [role_of(name, CONSTRUCTOR) for name in self.definition.makes]

    def fitted(self, sizes: Sizes = DRAWS[0]) -> Sizes:
        """Return sizes that this definition can have: one head if it knows no heads, and so on.

        sizes: those of trials by default.
        """
        by_head, makes = "heads" in self.layout, self.definition.makes
        equal = self.equal or (by_head and self.definition.is_class)
        sizes = replace(sizes, equal=equal, batch=1 if self.layout == "tokens" else sizes.batch)
        configured = self.constructor_has("heads") or any(map(is_configuration, makes))
        if by_head or configured or self.has("heads"):
            return sizes
        return replace(sizes, heads=1, head_dim=sizes.width, kv_heads=1)

    @cached_property
    def made(self) -> Made:
        """Return a module with drawn weights, at the sizes of trials."""
        return self.run(self.fitted())[0]

    def inputs(self, sizes: Sizes) -> Inputs:
        """Return drawn inputs."""
        if self.kind:
            # A module has an axis of its own.
            return self.kind.inputs(sizes, {*self.call.values(), *self.definition.makes})
        chance = torch.Generator().manual_seed(sizes.seed + 1)
        n, m = sizes.tokens, sizes.tokens_of_context
        wide = sizes.values["width"] if self.definition.is_class else sizes.width
        keys = n if self.causal or (sizes.equal and not self.definition.is_class) else m
        shapes = {"x": (n, wide), "q": (n, wide), "k": (keys, wide), "v": (keys, wide)}
        shapes["context"] = (m, sizes.values["d_context"])
        names = self.tensors.split(", ")
        return {name: torch.randn(sizes.batch, *shapes[name], generator=chance) for name in names}

    def run(self, sizes: Sizes, *calls: Call, restored: bool = False) -> tuple[Made, list[Tensor]]:
        """Make a module, or take a function, and call it in order. Raises CannotRun or Stopped.

        The results are (batch, tokens, width). restored: another module gets its state, and is
        called.
        """
        # Tokens of a context are not later ones.
        values = sizes.values | {"causal": self.tensors != "x, context"}
        if self.kind:  # the name of an axis is also one of a width
            values["width"] = self.inputs(sizes).get("dim", sizes.width)
        asked: dict[str, Any] = {"do": "run", "name": self.definition.name, "calls": []}
        asked |= {"values": values, "seed": sizes.seed, "restored": restored}
        tensors: dict[str, Tensor] = {}
        for number, call in enumerate(calls):
            passed = self.arguments(call, sizes)
            drawn = {name: one for name, one in passed.items() if isinstance(one, Tensor)}
            tensors |= {f"{number}.{name}": one for name, one in drawn.items()}
            how = {n: getattr(call, n) for n in ("training", "seed", "gradients", "after")}
            how["plain"] = {name: one for name, one in passed.items() if name not in drawn}
            how["caches"] = [name for name, role in self.call.items() if role == "cache"]
            asked["calls"].append(how)
        made, sent = self.code.ask(Made, asked, tensors)
        made = msgspec.structs.replace(made, weights=under(sent, "weight."))
        results = [self.result(one, under(sent, f"{n}.")) for n, one in enumerate(calls)]
        return made, results

    def values(self, sizes: Sizes, *calls: Call) -> list[Tensor]:
        """Return the results of calls of one module or function; of one call by default."""
        return self.run(sizes, *(calls or [Call(self.inputs(sizes))]))[1]

    def arguments(self, call: Call, sizes: Sizes) -> dict[str, Any]:
        """Return the arguments of a call by name, without an earlier cache. Raises CannotRun."""
        to, (b, n, m), takes = LAYOUTS[self.layout][1], sizes_of(call.inputs), self.definition.takes
        known, (mask, meaning, shape) = {**self.code.file.arguments}, self.mask
        if meaning and (call.visible is not None or not takes[mask]):
            every = torch.ones(b, n, m, dtype=torch.bool)
            shown = every if call.visible is None else call.visible
            known[mask] = MEANINGS[meaning](SHAPES[shape](shown))
        passed: dict[str, Any] = {"heads": sizes.heads, "training": call.training}
        passed |= {"causal": self.causal, "cache_wanted": True}
        passed |= {name: to(one, sizes.head_dim) for name, one in call.inputs.items()}
        if not self.definition.is_class:
            passed["dropout"] = sizes.dropout
        for name, default in takes.items():
            role = self.call.get(name, "")
            if name in known or (role == "cache" and call.after is not None):
                continue
            if role in passed and (role, default) != ("dropout", "None"):  # a module that drops
                known[name] = passed[role]
            elif not default or name == "position_embeddings":  # Llama needs it despite its default
                needed = {"start": 0, "block": 2, "dropout": 0.0, "positions": torch.arange(n)}
                needed |= {"mask": None, "cache": None}
                needed |= {"angles": angles(name, n, 2 * (sizes.head_dim // 2))}
                if role not in needed:
                    raise CannotRun(f"the call needs `{name}`, {NO_VALUE}")
                known[name] = needed[role]
        return {name: one for name, one in known.items() if name in takes}

    def result(self, call: Call, sent: dict[str, Tensor]) -> Tensor:
        """Return the result of a call among the tensors that it returns. Raises CannotRun."""
        every = [sent[place] for place in sorted(sent, key=int)]
        if self.kind:
            if [*sent] != ["0"]:
                raise CannotRun("it returns no single tensor")
            return every[0]
        b, n, _ = sizes_of(call.inputs)
        dimensions, _, back = LAYOUTS[self.layout]
        for one in filter(torch.is_floating_point, every):
            if one.dim() == dimensions and back(one).shape[:2] == (b, n):
                return back(one)
        shapes = ", ".join(str(tuple(one.shape)) for one in every)
        raise CannotRun(f"no result has {n} tokens (shapes: {shapes or 'none'})")


def dependence(subject: Subject, sizes: Sizes, training: bool = False) -> Tensor:
    """Return a (tokens, keys) table: True if a result depends on that key's token.

    Of many keys, some are tried, from the last one on.
    """
    inputs = subject.inputs(sizes)
    _, n, m = sizes_of(inputs)
    places = range(m - 1, -1, -max(m // 8, 1))
    changed = [changed_at(inputs, keys_of(inputs), (slice(None), place)) for place in places]
    calls = (Call(one, training=training) for one in (inputs, *changed))
    before, *after = subject.values(sizes, *calls)
    table = torch.zeros(n, m, dtype=torch.bool)
    for place, one in zip(places, after, strict=True):
        difference = (before - one).abs().amax(dim=(0, 2))
        table[:, place] = ~(difference <= NOTHING * scale_of(before))
    return table


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
            unused = plan.tensors == "x, context" and not dependence(plan, plan.fitted()).any()
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
    line = last.line if all(error.line for error in errors) else 0
    return CannotRun(f"no combination of arguments and layouts runs: {last}", line)


def that_runs(subject: Subject) -> Subject:
    """Return the subject after a call of it, with the convention of a mask if it needs one."""
    try:
        subject.values(subject.fitted())
        return subject
    except FAILURES:
        masked = with_mask(subject)
        if masked.mask[1]:
            return masked
        raise


def mixes_others(subject: Subject) -> bool:
    """Return True if another batch entry, or another head of a function, changes a result."""
    sizes = subject.fitted()
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
        tables = [dependence(causal, causal.fitted(), training) for training in (False, True)]
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
            has_effect, leaks = effect_of_mask(other, subject.fitted())
            if has_effect and not leaks:
                return other
            if has_effect:
                matters = other if wished else replace(subject, mask=(name, "", ""))
    return matters


def effect_of_mask(subject: Subject, sizes: Sizes) -> tuple[bool, bool]:
    """Return True if a mask changes results, and True if keys that it hides still change them.

    It hides the same keys from all queries. If queries are made from the same tokens, results of
    hidden tokens do not count.
    """
    inputs, chance = subject.inputs(sizes), torch.Generator().manual_seed(sizes.seed + 7)
    b, n, m = sizes_of(inputs)
    visible = torch.rand(b if "batch" in subject.mask[2] else 1, 1, m, generator=chance) < 0.5
    visible[..., 0] = visible[..., -1] = True
    visible[..., 1:2] = False  # which the last token sees, also in causal attention
    visible = visible.expand(b, n, m).clone()
    changed = changed_at(inputs, keys_of(inputs), ~visible[:, 0])
    calls = Call(inputs), Call(inputs, visible), Call(changed, visible)
    plain, masked, after = subject.values(sizes, *calls)
    moves = (masked - after).abs().amax(-1) > NOTHING * scale_of(masked)
    leaks = moves & visible[:, 0] if keys_of(inputs) == ["x"] else moves
    return bool(masked.isfinite().all()) and moved(masked, plain), bool(leaks.any())
