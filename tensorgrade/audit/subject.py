"""A definition that is audited: how to make and call it, and what it returns."""

import re
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

import msgspec
import torch
from torch import Tensor

from ..runner.values import Packer
from .child import under
from .code import CannotRun, Code, Definition, Made, Ran
from .kinds import SINUSOIDAL, SOFTMAX, Kind
from .roles import CONSTRUCTOR, Sizes, role_of

NOTHING = 1e-6  # a smaller change, relative to the output, is rounding
FIRST = Sizes(batch=2, tokens=5, heads=4, head_dim=6, kv_heads=2)
MANY = 60  # tokens
HELP = "--arguments FILE can give one"


@dataclass(frozen=True)
class Call:
    """One call of a definition.

    inputs: by role, each (batch, tokens, width) for attention. visible: (batch, queries, keys) of
    the mask that is passed in, if one is. seed: torch's. cache: "new" to ask for one, or the place
    of one among earlier results. slopes: gradients are wanted.
    """

    inputs: dict[str, Any]
    visible: Tensor | None = None
    training: bool = False
    seed: int = 0
    cache: str = ""
    slopes: bool = False


@dataclass(frozen=True)
class Output:
    """The result of a call as (batch, tokens, width).

    cache: the place of what else came back, if anything. changed: the roles of inputs that the call
    changed. If slopes were wanted, total is the sum of the results with drawn factors, and
    gradients are those of the total by role or `weight.name`.
    """

    value: Tensor
    cache: int | None
    changed: list[str]
    total: Tensor
    gradients: dict[str, Tensor]


def heads_first(x: Tensor, head_dim: int) -> Tensor:
    """Return (batch, heads, tokens, head_dim) of (batch, tokens, width)."""
    return x.unflatten(-1, (-1, head_dim)).transpose(1, 2)


def heads_last(x: Tensor) -> Tensor:
    """Return (batch, tokens, width) of (batch, heads, tokens, head_dim)."""
    return x.transpose(1, 2).flatten(2)


# By layout: its dimensions, and how to get from (batch, tokens, width) to it and back.
LAYOUTS: dict[str, tuple[int, Callable[[Tensor, int], Tensor], Callable[[Tensor], Tensor]]] = {
    "batch, tokens": (3, lambda x, d: x, lambda x: x),
    "tokens, batch": (3, lambda x, d: x.transpose(0, 1), lambda x: x.transpose(0, 1)),
    "tokens": (2, lambda x, d: x[0], lambda x: x[None]),
    "batch, heads, tokens": (4, heads_first, heads_last),
    "batch, tokens, heads": (4, lambda x, d: x.unflatten(-1, (-1, d)), lambda x: x.flatten(2)),
    "batch, width, tokens, 1": (4, lambda x, d: x.mT[..., None], lambda x: x.flatten(2).mT),
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
    "batch, 1, 1, keys": lambda mask: mask[:, None, :1],
    "batch, 1, keys": lambda mask: mask[:, :1],
}


@dataclass(frozen=True)
class Subject:
    """A definition to audit, and the way to make and call it.

    lines: its code by number. given: arguments by name, from the caller. kind: that of a part of
    attention, such as a softmax; None for attention. call: the role of each parameter of the call.
    equal: inputs of a module must be as wide as outputs, and a function needs as many keys as
    queries. double: it runs in double precision. knows_heads: it takes the number of heads. mask:
    the parameter, the meaning and the shape of one that is passed in; no meaning is known if it
    hides nothing.
    """

    code: Code
    definition: Definition
    lines: dict[int, str]
    given: dict[str, Any]
    kind: Kind | None
    call: dict[str, str]
    layout: str = "batch, tokens"
    equal: bool = False
    double: bool = True
    knows_heads: bool = False
    causal: bool = False
    mask: tuple[str, str, str] = ("", "", "")

    @property
    def is_module(self) -> bool:
        """Return True if it is a class."""
        return self.definition.is_class

    @property
    def tensors(self) -> str:
        """Return the tensors that a call takes: `x`, `x, context`, `q, k, v` or `q, k`."""
        roles = {*self.call.values()}
        if {"q", "k"} <= roles:
            return "q, k, v" if "v" in roles else "q, k"
        return "x, context" if "context" in roles else "x"

    @property
    def dtype(self) -> torch.dtype:
        """Return the type of inputs and weights."""
        return torch.float64 if self.double else torch.float32

    def has(self, role: str) -> bool:
        """Return True if a parameter of the call has this role."""
        return role in self.call.values()

    def constructor_has(self, role: str) -> bool:
        """Return True if a parameter of the constructor has this role."""
        return role in [role_of(name, CONSTRUCTOR) for name in self.definition.makes]

    def fitted(self, sizes: Sizes) -> Sizes:
        """Return sizes that this definition can have: one head if it knows no heads, and so on."""
        if self.layout == "tokens":
            sizes = replace(sizes, batch=1)
        if self.knows_heads or "heads" in self.layout:
            return sizes
        wide = sizes.width if self.is_module or self.kind else sizes.head_dim
        return replace(sizes, heads=1, head_dim=wide, kv_heads=1)

    @property
    def first(self) -> Sizes:
        """Return the sizes of trials."""
        return self.fitted(FIRST)

    @cached_property
    def made(self) -> Made | None:
        """Return a module with drawn weights, at the sizes of trials; None for a function."""
        return self.run(self.first)[0]

    def inputs(self, sizes: Sizes) -> dict[str, Any]:
        """Return drawn inputs by role, each (batch, tokens, width) for attention."""
        if self.kind:
            found = self.kind.inputs(sizes)
            usual = {"dim": -1, "positions": torch.arange(sizes.tokens)}
            taken = {*self.call.values(), *self.definition.makes}  # a module has an axis of its own
            return {n: usual.get(n, one) if n not in taken else one for n, one in found.items()}
        chance = torch.Generator().manual_seed(sizes.seed + 1)
        n, m = sizes.tokens, sizes.tokens_of_context
        by_role = sizes.values(self.equal or "heads" in self.layout)
        wide = by_role["width"] if self.is_module else sizes.width
        keys = n if self.causal or (self.equal and not self.is_module) else m
        counts = {"x": n, "q": n, "context": m, "k": keys, "v": keys}
        shapes = {
            name: (sizes.batch, counts[name], by_role["d_context"] if name == "context" else wide)
            for name in self.tensors.split(", ")
        }
        return {
            name: torch.randn(shape, generator=chance, dtype=torch.float64).to(self.dtype)
            for name, shape in shapes.items()
        }

    def run(
        self, sizes: Sizes, *calls: Call, state: dict[str, Tensor] | None = None
    ) -> tuple[Made | None, list[Output]]:
        """Make a module, or take a function, and call it in order.

        state: the weights of the module, drawn if there are none. Raises CannotRun or Stopped.
        """
        given = {"dim": self.inputs(sizes)["dim"]} if self.kind is SOFTMAX else {}
        asked: dict[str, Any] = {"name": self.definition.name, "given": given | self.given}
        asked |= {"calls": [], "sizes": asdict(sizes), "equal": self.equal, "double": self.double}
        asked["causal"] = self.tensors != "x, context"  # other tokens are not later ones
        tensors = {f"state.{name}": one for name, one in (state or {}).items()}
        for number, call in enumerate(calls):
            trees, drawn = packed(self.arguments(call, sizes))
            tensors |= {f"{number}.{name}": one for name, one in drawn.items()}
            how = {n: getattr(call, n) for n in ("training", "seed", "slopes")}
            asked["calls"].append({"arguments": trees, **how})
        ran, sent = self.code.ask(Ran, "run", asked, tensors)
        made = ran.made and msgspec.structs.replace(ran.made, state=under(sent, "state."))
        results = enumerate(zip(calls, ran.calls, strict=True))
        return made, [self.output(*both, under(sent, f"{n}.")) for n, both in results]

    def values(self, sizes: Sizes, *calls: Call) -> list[Tensor]:
        """Return the results of calls of one module or function; of one call by default."""
        _, outputs = self.run(sizes, *(calls or [Call(self.inputs(sizes))]))
        return [one.value for one in outputs]

    def arguments(self, call: Call, sizes: Sizes) -> dict[str, Any]:
        """Return the arguments of a call by name. Raises CannotRun."""
        inputs, (_, to, _) = call.inputs, LAYOUTS[self.layout]
        values: dict[str, Any] = {"heads": sizes.heads, "training": call.training}
        values |= {"causal": self.causal, "cache_wanted": bool(call.cache)}
        values |= {} if self.is_module else {"dropout": sizes.dropout}
        values |= {} if call.cache in ("", "new") else {"cache": Earlier(call.cache)}
        values |= inputs if self.kind else {n: to(x, sizes.head_dim) for n, x in inputs.items()}
        if self.kind is SINUSOIDAL:
            count = inputs["count"]  # of both axes, since either can be that of tokens
            values["x"] = torch.zeros(count, count, inputs["width"], dtype=torch.float64)
        found: dict[str, Any] = {}
        for name, default in self.definition.takes.items():
            role = self.call.get(name, "")
            if name in self.given:
                found[name] = self.given[name]
            elif role in values and not (role == "dropout" and default == "None"):
                found[name] = values[role]
            elif (
                not default or name == "position_embeddings"
            ):  # which Llama needs despite its default
                found[name] = self.required(name, role, call, sizes)
        name, meaning, _ = self.mask
        if meaning and (call.visible is not None or not self.definition.takes[name]):
            found[name] = self.own_mask(call)
        return found

    def own_mask(self, call: Call) -> Tensor:
        """Return the mask of a call in its convention; one that shows all if it has none."""
        _, meaning, shape = self.mask
        shown = torch.ones(sizes_of(call.inputs), dtype=torch.bool)
        mask = MEANINGS[meaning](SHAPES[shape](shown if call.visible is None else call.visible))
        return mask.to(self.dtype) if mask.is_floating_point() else mask

    def required(self, name: str, role: str, call: Call, sizes: Sizes) -> Any:
        """Return the value of a parameter without a default. Raises CannotRun."""
        known: dict[str, Any] = {"start": 0, "block": 2, "dropout": sizes.dropout}
        known |= dict.fromkeys(("mask", "padding", "cache"))
        if role == "positions" and not self.kind:
            return torch.arange(sizes_of(call.inputs)[1])
        if role == "angles" and not self.kind:  # cosines, sines or both, which turn nothing
            n, d = sizes_of(call.inputs)[1], 2 * (sizes.head_dim // 2)
            cos = torch.ones(1, n, d, dtype=self.dtype)
            if re.search("cis|complex", name):
                return cos[0, :, ::2].to(torch.complex64)
            return 0 * cos if "sin" in name else cos if "cos" in name else (cos, 0 * cos)
        if role not in known:
            raise CannotRun(f"the call needs `{name}`, for which there is no value; {HELP}")
        return known[role]

    def output(
        self, call: Call, told: tuple[list[str], list[str]], sent: dict[str, Tensor]
    ) -> Output:
        """Return the result of a call. Raises CannotRun.

        told, sent: what the process says about the call, and its tensors.
        """
        kinds, named = told
        changed = [role for n in named if (role := self.call.get(n, "")) in call.inputs]
        tensors = {p: sent[f"part.{p}"] for p, k in enumerate(kinds) if k == "tensor"}
        slopes = {self.call.get(n, n): one for n, one in under(sent, "gradient.").items()}
        gradients = {n: v for n, v in slopes.items() if n in call.inputs or n.startswith("weight.")}
        rest = changed, sent.get("total", torch.zeros(())), gradients
        if self.kind:
            if [*tensors] != [0]:
                raise CannotRun("it returns no single tensor")
            value = tensors[0]
            value = one_sequence(value) if self.kind is SINUSOIDAL and value.dim() == 3 else value
            return Output(value, None, *rest)
        b, n, m = sizes_of(call.inputs)
        dimensions, _, back = LAYOUTS[self.layout]
        gradients |= {n: back(one) for n, one in gradients.items() if n in call.inputs}
        fits = [
            place
            for place, one in tensors.items()
            if one.dim() == dimensions and one.is_floating_point() and back(one).shape[:2] == (b, n)
        ]
        if not fits:
            shapes = ", ".join(str(tuple(one.shape)) for one in tensors.values())
            raise CannotRun(f"no result has {n} tokens (shapes: {shapes or 'none'})")
        weights = [p for p, one in tensors.items() if one.shape[-2:] == (n, m)]
        others = {p for p, kind in enumerate(kinds) if kind != "nothing"} - {fits[0], *weights}
        return Output(back(tensors[fits[0]]), min(others, default=None), *rest)


def one_sequence(out: Tensor) -> Tensor:
    """Return (tokens, width) of positions that were added along the first or the second axis."""
    is_first = torch.equal(out[0], out[0, :1].expand_as(out[0]))
    return out[:, 0] if is_first else out[0]


def sizes_of(inputs: dict[str, Tensor]) -> tuple[int, int, int]:
    """Return the sizes of the batch, and the numbers of queries and of keys."""
    first = inputs["x"] if "x" in inputs else inputs["q"]
    other = inputs.get("context", inputs.get("k", first))
    return first.shape[0], first.shape[1], other.shape[1]


@dataclass
class Earlier:
    """An argument that is a part of an earlier result of the same request, as `call.part`."""

    place: str


def packed(arguments: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Return arguments as trees, and the tensors in them by name."""
    tensors: dict[str, Tensor] = {}

    def tensor(place: str, value: Tensor) -> dict:
        tensors[place] = value
        return {"tensor": place}

    def earlier(value: Any) -> dict | None:
        return {"object": value.place} if isinstance(value, Earlier) else None

    packer = Packer(tensor, earlier)
    return {name: packer.pack(value, name) for name, value in arguments.items()}, tensors


def moved(before: Tensor, after: Tensor) -> bool:
    """Return True if two results differ by more than rounding."""
    near = (before - after).abs() <= NOTHING * scale_of(before)
    return not bool((near | (before == after) | before.isnan() & after.isnan()).all())


def scale_of(value: Tensor) -> float:
    """Return the size of a tensor's entries, to compare differences with."""
    finite = value[value.isfinite()]
    return max(float(finite.abs().mean()), 1e-3) if finite.numel() else 1e-3


def changed_at(inputs: dict[str, Tensor], names: list[str], place: Any) -> dict[str, Tensor]:
    """Return a copy of inputs with other numbers for the tokens at a place."""
    changed = {name: value.clone() for name, value in inputs.items()}
    for name in names:
        changed[name][:, place] = 1 - inputs[name][:, place]
    return changed


def dependence(subject: Subject, sizes: Sizes, training: bool = False) -> Tensor:
    """Return a (tokens, keys) table: True if a result depends on that key's token.

    Of many tokens, only the last is tried, and only if the results are finite.
    """
    inputs = subject.inputs(sizes)
    keys = next(n for n in ("context", "k", "x") if n in inputs)
    both = [n for n in (keys, "v") if n in inputs]
    _, n, m = sizes_of(inputs)
    places = range(m) if m < MANY else [m - 1]
    every = [inputs, *(changed_at(inputs, both, place) for place in places)]
    before, *after = subject.values(sizes, *(Call(one, training=training) for one in every))
    table = torch.zeros(n, m, dtype=torch.bool)
    for place, one in zip(places, after, strict=True):
        difference = (before - one).abs().amax(dim=(0, 2))
        table[:, place] = ~(difference <= NOTHING * scale_of(before))
    return table & bool(m < MANY or before.isfinite().all())
