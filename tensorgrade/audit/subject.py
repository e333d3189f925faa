"""A definition that does attention, and how to make, call and understand it."""

import re
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from ..runner.values import Packer
from .code import Called, Code, Definition, Made, Parameter
from .roles import CONSTRUCTOR, Sizes, role_of

NOTHING = 1e-6  # a smaller change, relative to the output, is rounding
FIRST = Sizes(batch=2, tokens=5, heads=4, head_dim=6, kv_heads=2, tokens_of_context=7)
MANY = 60  # tokens
# The number of dimensions of a result, by the layout of the inputs.
DIMENSIONS = {
    "batch, tokens": 3,
    "tokens, batch": 3,
    "tokens": 2,
    "batch, heads, tokens": 4,
    "batch, tokens, heads": 4,
    "heads, tokens": 3,
    "batch, width, tokens, 1": 4,
}
ONE_SEQUENCE = ("tokens", "heads, tokens")
MEANINGS = ("true-hides", "true-shows", "additive", "one-shows", "one-hides")
SHAPES = ("queries, keys", "batch, queries, keys", "batch, 1, queries, keys")
SHAPES_OF_KEYS = ("batch, keys", "batch, 1, 1, keys", "batch, 1, keys")


@dataclass(frozen=True)
class Convention:
    """A way to pass a mask: the meaning of its entries and its shape."""

    meaning: str
    shape: str

    def of(self, visible: Tensor) -> Tensor:
        """Return the mask for (batch, queries, keys) booleans, True for visible."""
        shaped = {
            "batch, queries, keys": visible,
            "batch, 1, queries, keys": visible[:, None],
            "queries, keys": visible[0],
            "batch, keys": visible[:, 0],
            "batch, 1, 1, keys": visible[:, None, :1],
            "batch, 1, keys": visible[:, :1],
        }[self.shape]
        if self.meaning == "additive":
            zeros = torch.zeros(shaped.shape, dtype=torch.float64)
            return zeros.masked_fill(~shaped, -torch.inf)
        shaped = ~shaped if self.meaning.endswith("hides") else shaped
        return shaped.double() if self.meaning.startswith("one") else shaped


HELP = "--arguments FILE can give one"


class CannotRun(Exception):
    """The definition could not be run; the text says what was tried.

    line: the line that raises an error for every input that was tried, 0 if there is none.
    """

    def __init__(self, said: str, line: int = 0):
        super().__init__(said)
        self.line = line


@dataclass
class Output:
    """A result as (batch, tokens, width).

    cache: the handle of what else came back. rewound: the random numbers are still at their start.
    changed: the inputs that the call changed.
    """

    value: Tensor
    cache: str = ""
    rewound: bool = False
    changed: list[str] = field(default_factory=list)


@dataclass(frozen=True, eq=False)  # compared and hashed by identity
class Subject:
    """A definition that does attention, and the way to make and call it.

    lines: its code by number. given: arguments by name, from the caller. equal: inputs of a module
    must be as wide as outputs, and a function needs as many keys as queries. double: it runs in
    double precision. guesses: roles of constructor parameters, by trial. call: the role of each
    parameter of the call. knows_heads: it takes the number of heads. needs_mask: it has no call
    without one. angles: the shape of cosines and sines.
    """

    code: Code
    definition: Definition
    lines: dict[int, str]
    name: str
    is_module: bool
    makes: list[Parameter]
    takes: list[Parameter]
    given: dict[str, Any] = field(default_factory=dict)
    call: dict[str, str] = field(default_factory=dict)
    guesses: dict[str, str] = field(default_factory=dict)
    layout: str = "batch, tokens"
    equal: bool = False
    double: bool = True
    knows_heads: bool = False
    causal: bool = False
    mask: Convention | None = None
    mask_parameter: str = ""
    needs_mask: bool = False
    angles: str = "tokens, width"

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
        return role in [self.constructor_role(one.name) for one in self.makes]

    def constructor_role(self, name: str) -> str:
        """Return the role of a parameter of the constructor, or an empty text."""
        return self.guesses.get(name) or role_of(name, CONSTRUCTOR)

    def fitted(self, sizes: Sizes) -> Sizes:
        """Return sizes that this definition can have: one head if it knows no heads, and so on."""
        if self.layout in ONE_SEQUENCE:
            sizes = replace(sizes, batch=1)
        if self.knows_heads or "heads" in self.layout:
            return sizes
        wide = sizes.heads * sizes.head_dim if self.is_module else sizes.head_dim
        return replace(sizes, heads=1, head_dim=wide, kv_heads=1)

    def build(
        self, sizes: Sizes, state: dict[str, Tensor] | None = None, copied: bool = False
    ) -> Made | None:
        """Return a module with drawn weights, or with those of a state; None for a function.

        copied: it is a deep copy of what the constructor returns.
        """
        if not self.is_module:
            return None
        how = {"equal": self.equal, "guesses": self.guesses, "given": self.given}
        how |= {"double": self.double, "copied": copied}
        return self.code.make(self.name, sizes, state or {}, **how)

    def inputs(self, sizes: Sizes) -> dict[str, Tensor]:
        """Return drawn inputs, each (batch, tokens, width)."""
        chance = torch.Generator().manual_seed(sizes.seed + 1)
        b, n, m = sizes.batch, sizes.tokens, sizes.tokens_of_context
        wide = sizes.value("width", self.equal) if self.is_module else sizes.width
        if self.is_module and "heads" in self.layout:
            wide = sizes.width
        wide_context = sizes.value("d_context", self.equal) if self.is_module else wide
        keys = n if self.causal or (self.equal and not self.is_module) else m
        kv = sizes.kv_heads * sizes.head_dim if self.has("kv_heads") else wide
        shapes = {
            "x": {"x": (b, n, wide)},
            "x, context": {"x": (b, n, wide), "context": (b, m, wide_context)},
            "q, k, v": {"q": (b, n, wide), "k": (b, keys, kv), "v": (b, keys, kv)},
            "q, k": {"q": (b, n, wide), "k": (b, keys, kv)},
        }[self.tensors]
        found = {
            name: torch.randn(shape, generator=chance, dtype=torch.float64).to(self.dtype)
            for name, shape in shapes.items()
        }
        for value in found.values() if sizes.twins else ():
            value[:, 2] = value[:, 0]
        return found

    def run(
        self,
        made: Made | None,
        inputs: dict[str, Tensor],
        sizes: Sizes,
        visible: Tensor | None = None,
        training: bool = False,
        cache: str | None = None,
        weights: dict[str, Tensor] | None = None,
    ) -> Output:
        """Call the definition, always with the same seed, and return its result in one layout.

        visible: (batch, queries, keys) of the mask that is passed in, if one is. cache: the handle
        of one that is passed in; empty to ask for one. weights: they replace the module's own.
        Raises Raised, or Stopped.
        """
        values: dict[str, Any] = {n: self.laid_out(v, sizes) for n, v in inputs.items()}
        values |= {"heads": sizes.heads, "training": training, "causal": self.causal}
        if not self.is_module:
            values["dropout"] = sizes.dropout
        if cache is not None:
            values["cache_wanted"] = True
        if cache:
            values["cache"] = {"object": cache}
        if self.needs_mask and visible is None:
            visible = torch.ones(sizes_of(inputs), dtype=torch.bool)
        arguments = self.arguments(values, inputs, sizes, visible)
        seed = sizes.seed + 2
        keep = cache is not None
        called, sent, names = self.ask(made, arguments, seed, training, weights, keep)
        value, place = self.understood(called.parts, sent, inputs)
        kept = f"{called.handle}.{place}" if keep and place is not None else ""
        changed = [role for name in names if (role := self.call.get(name, "")) in inputs]
        return Output(value, kept, called.rewound, changed)

    def value(self, sizes: Sizes, made: Made | None = None, training: bool = False) -> Tensor:
        """Return the result of one call, of a new module unless one is passed in."""
        made = made or self.build(sizes)
        return self.run(made, self.inputs(sizes), sizes, training=training).value

    def ask(
        self,
        made: Made | None,
        arguments: dict[str, Any],
        seed: int = 0,
        training: bool = False,
        weights: dict[str, Tensor] | None = None,
        keep: bool = False,
        path: str = "",
    ) -> tuple[Called, dict[str, Tensor], list[str]]:
        """Call a function, a module or the part of one at a path.

        Return what is told of the result, its tensors, and the arguments that the call changed.
        """
        trees, tensors = packed(arguments)
        floating = {name: one for name, one in tensors.items() if one.is_floating_point()}
        asked: dict[str, Any] = {
            "name": self.name,
            "of": made.handle if made else "",
            "path": path,
            "arguments": trees,
            "leaves": [*floating],
            "by_place": bool(path) or any(p.kind == "POSITIONAL_ONLY" for p in self.takes),
            "seed": seed,
            "training": training,
            "keep": keep,
        }
        tensors |= {f"weight.{name}": value for name, value in (weights or {}).items()}
        called, sent = self.code.call(asked, tensors)
        after = {name: sent.get(f"input.{name}", one) for name, one in floating.items()}
        return called, sent, [n for n, one in floating.items() if not torch.equal(one, after[n])]

    def arguments(
        self,
        values: dict[str, Any],
        inputs: dict[str, Tensor],
        sizes: Sizes,
        visible: Tensor | None,
    ) -> dict[str, Any]:
        """Return the arguments of a call by name. values: by role. Raises Raised."""
        # What a parameter without a default gets, if nothing else is given for its role.
        required: dict[str, Any] = {
            "positions": torch.arange(sizes_of(inputs)[1]),
            "start": 0,
            "block": 2,
            "kv_heads": sizes.kv_heads,
            "dropout": sizes.dropout,
            **dict.fromkeys(("mask", "padding", "cache")),
        }
        found: dict[str, Any] = {}
        for one in self.takes:
            role = self.call.get(one.name, "")
            if one.name in self.given:
                found[one.name] = Packer(lambda place, t: None).pack(self.given[one.name], "")
            elif one.name == self.mask_parameter and self.mask and visible is not None:
                mask = self.mask.of(visible)
                found[one.name] = mask.to(self.dtype) if mask.is_floating_point() else mask
            elif role in values and not (role == "dropout" and one.default == "None"):
                found[one.name] = values[role]
            elif not one.default and role == "angles":
                found[one.name] = self.turn(one.name, inputs, sizes)
            elif not one.default and role in required:
                found[one.name] = required[role]
            elif not one.default:
                raise CannotRun(f"the call needs `{one.name}`, for which there is no value; {HELP}")
        return found

    def turn(self, name: str, inputs: dict[str, Tensor], sizes: Sizes) -> Any:
        """Return cosines, sines or both for an argument of that name; they turn nothing."""
        n, half = sizes_of(inputs)[1], sizes.head_dim // 2
        if re.search("cis|complex", name):
            return torch.ones(n, half, dtype=torch.complex64)
        shape = {
            "tokens, width": (n, 2 * half),
            "1, tokens, width": (1, n, 2 * half),
            "tokens, half": (n, half),
        }[self.angles]
        cos, sin = torch.ones(shape, dtype=self.dtype), torch.zeros(shape, dtype=self.dtype)
        return sin if "sin" in name else cos if "cos" in name else (cos, sin)

    def laid_out(self, value: Tensor, sizes: Sizes) -> Tensor:
        """Return (batch, tokens, width) in the layout that the definition takes."""
        if "heads" in self.layout:
            value = value.unflatten(-1, (-1, sizes.head_dim))
            if self.layout == "batch, tokens, heads":
                return value
            value = value.transpose(1, 2)
        elif self.layout == "tokens, batch":
            return value.transpose(0, 1)
        elif self.layout == "batch, width, tokens, 1":
            return value.mT[..., None]
        return value[0] if self.layout in ONE_SEQUENCE else value

    def understood(
        self, kinds: list[str], sent: dict[str, Tensor], inputs: dict[str, Tensor]
    ) -> tuple[Tensor, int | None]:
        """Return the result among the returned parts, and the number of the part with a cache.

        Raises CannotRun.
        """
        b, n, keys = sizes_of(inputs)
        value = cache = None
        for place, kind in enumerate(kinds):
            part = sent.get(f"part.{place}")
            if part is None:
                cache = place if kind == "object" else cache
                continue
            shaped = self.shaped(part, b, n)
            if value is None and shaped is not None:
                value = shaped
            elif cache is None and not (part.dim() >= 2 and part.shape[-2:] == (n, keys)):
                cache = place
        if value is None:
            shapes = ", ".join(str(tuple(p.shape)) for k, p in sent.items() if k.startswith("part"))
            raise CannotRun(f"no result has {n} tokens (shapes: {shapes or 'none'})")
        return value, cache

    def shaped(self, part: Tensor, b: int, n: int) -> Tensor | None:
        """Return a tensor as (batch, tokens, width) if its shape allows that."""
        if part.dim() != DIMENSIONS[self.layout] or not part.is_floating_point():
            return None
        if self.layout in ONE_SEQUENCE:
            part = part[None]
        if self.layout == "tokens, batch":
            part = part.transpose(0, 1)
        if self.layout == "batch, width, tokens, 1":
            part = part.flatten(2).mT
        if "heads" in self.layout:
            part = part if self.layout == "batch, tokens, heads" else part.transpose(1, 2)
            part = part.flatten(2)
        return part if part.shape[:2] == (b, n) else None


def sizes_of(inputs: dict[str, Tensor]) -> tuple[int, int, int]:
    """Return the sizes of the batch, and the numbers of queries and of keys."""
    first = inputs["x"] if "x" in inputs else inputs["q"]
    other = inputs.get("context", inputs.get("k", first))
    return first.shape[0], first.shape[1], other.shape[1]


def packed(arguments: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Return arguments as trees, and the tensors in them by name."""
    trees, tensors = dict(arguments), dict[str, Tensor]()
    for name, value in arguments.items():
        for place, part in enumerate(value if isinstance(value, tuple) else [value]):
            if isinstance(part, Tensor):
                key = f"{name}.{place}" if isinstance(value, tuple) else name
                tensors[key], trees[name] = part, {"tensor": key}
        if isinstance(value, tuple):
            trees[name] = {"tuple": [{"tensor": f"{name}.{n}"} for n in range(len(value))]}
    return trees, tensors


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
    changed = dict(inputs)
    for name in names:
        changed[name] = inputs[name].clone()
        changed[name][:, place] = 1 - inputs[name][:, place]
    return changed


def dependence(subject: Subject, sizes: Sizes, training: bool = False) -> Tensor:
    """Return a (tokens, keys) table: True if a result depends on that key's token.

    Of many tokens, only the last is tried, and only if the results are finite.
    """
    made, inputs = subject.build(sizes), subject.inputs(sizes)
    keys = next(n for n in ("context", "k", "x") if n in inputs)
    both = [n for n in (keys, "v") if n in inputs]
    before = subject.run(made, inputs, sizes, training=training).value
    _, n, m = sizes_of(inputs)
    table = torch.zeros(n, m, dtype=torch.bool)
    every = range(m) if m < MANY else [m - 1] * bool(before.isfinite().all())
    for place in every:
        changed = changed_at(inputs, both, place)
        after = subject.run(made, changed, sizes, training=training).value
        difference = (before - after).abs().amax(dim=(0, 2))
        table[:, place] = ~(difference <= NOTHING * scale_of(before))
    return table
