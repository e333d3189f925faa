"""A definition that is audited: how to make and call it, and what it returns."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import msgspec
import torch
from torch import Tensor

from .child import under
from .code import Called, CannotRun, Code, Definition, Made
from .parts import Kind
from .roles import CONSTRUCTOR, Sizes, is_configuration, role_of

NOTHING = 3e-5  # a smaller change, relative to the output, is rounding
FIRST = Sizes(batch=2, tokens=5, heads=4, head_dim=6, kv_heads=2)
HELP = "--arguments FILE can give one"
Inputs = dict[str, Any]  # by role, each (batch, tokens, width) for attention


@dataclass(frozen=True)
class Call:
    """One call of a definition.

    visible: (batch, queries, keys) of the mask that is passed in, if one is. seed: torch's.
    earlier: the numbers of an earlier call and of the part of its result that is passed as a cache.
    gradients: they are wanted.
    """

    inputs: Inputs
    visible: Tensor | None = None
    training: bool = False
    seed: int = 0
    earlier: tuple[int, int] | None = None
    gradients: bool = False


@dataclass(frozen=True)
class Output:
    """The result of a call as (batch, tokens, width).

    cache: the place of what else came back, if anything. reached: the roles of inputs, and weights
    as `weight.NAME`, that gradients reach.
    """

    value: Tensor
    cache: int | None
    reached: list[str]


# By layout: its dimensions, and how to get from (batch, tokens, width) to it and back.
LAYOUTS: dict[str, tuple[int, Callable[[Tensor, int], Tensor], Callable[[Tensor], Tensor]]] = {
    "batch, tokens": (3, lambda x, d: x, lambda x: x),
    "tokens, batch": (3, lambda x, d: x.transpose(0, 1), lambda x: x.transpose(0, 1)),
    "tokens": (2, lambda x, d: x[0], lambda x: x[None]),
    "batch, heads, tokens": (
        4,
        lambda x, d: x.unflatten(-1, (-1, d)).transpose(1, 2),
        lambda x: x.transpose(1, 2).flatten(2),
    ),
    "batch, tokens, heads": (4, lambda x, d: x.unflatten(-1, (-1, d)), lambda x: x.flatten(2)),
}
# By the meaning of a mask: how to get it from booleans that are True for visible keys.
MEANINGS: dict[str, Callable[[Tensor], Tensor]] = {
    "true-hides": lambda shown: ~shown,
    "true-shows": lambda shown: shown,
    "additive": lambda shown: torch.zeros(shown.shape).masked_fill(~shown, -torch.inf),
    "one-shows": lambda shown: shown.float(),
    "one-hides": lambda shown: (~shown).float(),
}
# By the shape of a mask: how to get it from (batch, queries, keys).
SHAPES: dict[str, Callable[[Tensor], Tensor]] = {
    "queries, keys": lambda mask: mask[0],
    "batch, queries, keys": lambda mask: mask,
    "batch, 1, queries, keys": lambda mask: mask[:, None],
    "batch, keys": lambda mask: mask[:, 0],
}


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

    def fitted(self, sizes: Sizes) -> Sizes:
        """Return sizes that this definition can have: one head if it knows no heads, and so on."""
        by_head, makes = "heads" in self.layout, self.definition.makes
        equal = self.equal or (by_head and self.definition.is_class)
        sizes = replace(sizes, equal=equal, batch=1 if self.layout == "tokens" else sizes.batch)
        configured = self.constructor_has("heads") or any(map(is_configuration, makes))
        if by_head or configured or self.has("heads"):
            return sizes
        wide = sizes.width if self.definition.is_class or self.kind else sizes.head_dim
        return replace(sizes, heads=1, head_dim=wide, kv_heads=1)

    @property
    def first(self) -> Sizes:
        """Return the sizes of trials."""
        return self.fitted(FIRST)

    @cached_property
    def made(self) -> Made:
        """Return a module with drawn weights, at the sizes of trials."""
        return self.run(self.first)[0]

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

    def run(
        self, sizes: Sizes, *calls: Call, state: dict[str, Tensor] | None = None
    ) -> tuple[Made, list[Output]]:
        """Make a module, or take a function, and call it in order.

        state: the weights of the module, drawn if there are none. Raises CannotRun or Stopped.
        """
        # Tokens of a context are not later ones.
        values = sizes.values | {"causal": self.tensors != "x, context"}
        if self.kind:  # the name of an axis is also one of a width
            values["width"] = self.inputs(sizes).get("dim", sizes.width)
        asked: dict[str, Any] = {"do": "run", "name": self.definition.name, "calls": []}
        asked |= {"values": values, "seed": sizes.seed}
        tensors = {f"state.{name}": one for name, one in (state or {}).items()}
        for number, call in enumerate(calls):
            passed = self.arguments(call, sizes)
            drawn = {name: one for name, one in passed.items() if isinstance(one, Tensor)}
            tensors |= {f"{number}.{name}": one for name, one in drawn.items()}
            how = {name: getattr(call, name) for name in ("training", "seed", "gradients")}
            how["plain"] = {name: one for name, one in passed.items() if name not in drawn}
            caches = [n for n, role in self.call.items() if role == "cache" and call.earlier]
            asked["calls"].append(how | {"earlier": dict.fromkeys(caches, call.earlier)})
        made, sent = self.code.ask(Made, asked, tensors)
        made = msgspec.structs.replace(made, state=under(sent, "state."))
        results = enumerate(zip(calls, made.calls, strict=True))
        return made, [self.output(*both, under(sent, f"{n}.")) for n, both in results]

    def values(self, sizes: Sizes, *calls: Call) -> list[Tensor]:
        """Return the results of calls of one module or function; of one call by default."""
        _, outputs = self.run(sizes, *(calls or [Call(self.inputs(sizes))]))
        return [one.value for one in outputs]

    def arguments(self, call: Call, sizes: Sizes) -> dict[str, Any]:
        """Return the arguments of a call by name, without an earlier cache. Raises CannotRun."""
        to, (b, n, m) = LAYOUTS[self.layout][1], sizes_of(call.inputs)
        known, (mask, meaning, shape) = {**self.code.file.arguments}, self.mask
        if meaning and (call.visible is not None or not self.definition.takes[mask]):
            every = torch.ones(b, n, m, dtype=torch.bool)
            shown = every if call.visible is None else call.visible
            known[mask] = MEANINGS[meaning](SHAPES[shape](shown))
        values: dict[str, Any] = {"heads": sizes.heads, "training": call.training}
        values |= {"causal": self.causal, "cache_wanted": True}
        values |= {name: to(one, sizes.head_dim) for name, one in call.inputs.items()}
        needed = {"start": 0, "block": 2, "dropout": sizes.dropout, "positions": torch.arange(n)}
        needed |= {"mask": None, "cache": None}
        for name, default in self.definition.takes.items():
            role = self.call.get(name, "")
            if name in known or (role == "cache" and call.earlier):
                continue
            if role in values:
                known[name] = values[role]
            elif role == "dropout" and not self.definition.is_class and default != "None":
                known[name] = sizes.dropout
            elif default and name != "position_embeddings":  # Llama needs it despite its default
                continue
            elif role == "angles":
                known[name] = angles(name, n, 2 * (sizes.head_dim // 2))
            elif role in needed:
                known[name] = needed[role]
            else:
                raise CannotRun(f"the call needs `{name}`, for which there is no value; {HELP}")
        return {name: one for name, one in known.items() if name in self.definition.takes}

    def output(self, call: Call, told: Called, sent: dict[str, Tensor]) -> Output:
        """Return the result of a call. Raises CannotRun.

        told, sent: what the process says about the call, and the parts of the result by place.
        """
        parts, reached = told
        reached = [self.call.get(name, name) for name in reached]
        tensors = {n: sent[f"{n}"] for n, kind in enumerate(parts) if kind == "tensor"}
        if self.kind:
            if [*tensors] != [0]:
                raise CannotRun("it returns no single tensor")
            return Output(tensors[0], None, reached)
        b, n, m = sizes_of(call.inputs)
        dimensions, _, back = LAYOUTS[self.layout]
        fits = [
            place
            for place, one in tensors.items()
            if one.dim() == dimensions and one.is_floating_point() and back(one).shape[:2] == (b, n)
        ]
        if not fits:
            shapes = ", ".join(str(tuple(one.shape)) for one in tensors.values())
            raise CannotRun(f"no result has {n} tokens (shapes: {shapes or 'none'})")
        weights = [place for place, one in tensors.items() if one.shape[-2:] == (n, m)]
        others = {n for n, kind in enumerate(parts) if kind} - {fits[0], *weights}
        return Output(back(tensors[fits[0]]), min(others, default=None), reached)


def angles(name: str, n: int, d: int) -> Tensor:
    """Return cosines, sines or both, by the name of their parameter, which turn nothing."""
    if re.search("cis|complex", name):
        return torch.ones(n, d // 2, dtype=torch.complex64)
    cos, sin = torch.ones(1, n, d), torch.zeros(1, n, d)
    return sin if "sin" in name else cos if "cos" in name else torch.stack((cos, sin))


def sizes_of(inputs: Inputs) -> tuple[int, int, int]:
    """Return the sizes of the batch, and the numbers of queries and of keys."""
    first: Tensor = inputs["x"] if "x" in inputs else inputs["q"]
    other: Tensor = inputs[keys_of(inputs)[0]]
    return first.shape[0], first.shape[1], other.shape[1]


def keys_of(inputs: Inputs) -> list[str]:
    """Return the roles of the inputs that keys and values are made from."""
    if "context" in inputs:
        return ["context"]
    return [name for name in inputs if name in "kv"] or ["x"]


def moved(before: Tensor, after: Tensor) -> bool:
    """Return True if two results differ by more than rounding."""
    near = (before - after).abs() <= NOTHING * scale_of(before)
    return not bool((near | (before == after) | before.isnan() & after.isnan()).all())


def scale_of(value: Tensor) -> float:
    """Return the size of a tensor's entries, to compare differences with."""
    finite = value[value.isfinite()]
    return max(float(finite.abs().mean()), 1e-3) if finite.numel() else 1e-3


def changed_at(inputs: Inputs, names: list[str], place: Any) -> Inputs:
    """Return a copy of inputs with other numbers at a place of those with these names."""
    changed = {name: value.clone() for name, value in inputs.items()}
    for name in names:
        changed[name][place] = 1 - inputs[name][place]  # a norm would hide an added constant
    return changed


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
