"""A definition that is audited, and how to make, call and understand it."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from ..runner.values import Packer
from .code import Called, Code, Definition, Made, Parameter
from .kinds import ROTARY, SINUSOIDAL, SOFTMAX, Kind
from .roles import CALL, CONSTRUCTOR, Sizes, role_of

NOTHING = 1e-6  # a smaller change, relative to the output, is rounding
FIRST = Sizes(batch=2, tokens=5, heads=4, head_dim=6, kv_heads=2)
MANY = 60  # tokens
HELP = "--arguments FILE can give one"


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
    "heads, tokens": (3, lambda x, d: heads_first(x, d)[0], lambda x: heads_last(x[None])),
    "batch, width, tokens, 1": (4, lambda x, d: x.mT[..., None], lambda x: x.flatten(2).mT),
}
MEANINGS = ("true-hides", "true-shows", "additive", "one-shows", "one-hides")
# By the shape of a mask: how to get it from (batch, queries, keys).
SHAPES: dict[str, Callable[[Tensor], Tensor]] = {
    "queries, keys": lambda mask: mask[0],
    "batch, queries, keys": lambda mask: mask,
    "batch, 1, queries, keys": lambda mask: mask[:, None],
    "batch, keys": lambda mask: mask[:, 0],
    "batch, 1, 1, keys": lambda mask: mask[:, None, :1],
    "batch, 1, keys": lambda mask: mask[:, :1],
}


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

    raw: the same as it came back, and its place among the parts. cache: the handle of what else
    came back. changed: the inputs that the call changed.
    """

    value: Tensor
    raw: Tensor
    part: str
    cache: str = ""
    changed: list[str] = field(default_factory=list)


@dataclass(frozen=True, eq=False)  # compared and hashed by identity
class Subject:
    """A definition to audit, and the way to make and call it.

    lines: its code by number. given: arguments by name, from the caller. kind: that of a part of
    attention, such as a softmax; None for attention. call: the role of each parameter of the call.
    guesses: roles of constructor parameters, by trial. equal: inputs of a module must be as wide as
    outputs, and a function needs as many keys as queries. double: it runs in double precision.
    knows_heads: it takes the number of heads. mask: the meaning and the shape of one that is passed
    in. needs_mask: it has no call without one. angles: the shape of cosines and sines.
    """

    code: Code
    definition: Definition
    lines: dict[int, str]
    name: str
    is_module: bool
    makes: list[Parameter]
    takes: list[Parameter]
    given: dict[str, Any] = field(default_factory=dict)
    kind: Kind | None = None
    call: dict[str, str] = field(default_factory=dict)
    guesses: dict[str, str] = field(default_factory=dict)
    layout: str = "batch, tokens"
    equal: bool = False
    double: bool = True
    knows_heads: bool = False
    causal: bool = False
    mask: tuple[str, str] | None = None
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
        roles = [self.guesses.get(p.name) or role_of(p.name, CONSTRUCTOR) for p in self.makes]
        return role in roles

    def fitted(self, sizes: Sizes) -> Sizes:
        """Return sizes that this definition can have: one head if it knows no heads, and so on."""
        if self.layout in ("tokens", "heads, tokens"):
            sizes = replace(sizes, batch=1)
        if self.kind or self.knows_heads or "heads" in self.layout:
            return sizes
        wide = sizes.width if self.is_module else sizes.head_dim
        return replace(sizes, heads=1, head_dim=wide, kv_heads=1)

    def build(
        self, sizes: Sizes, state: dict[str, Tensor] | None = None, copied: bool = False
    ) -> Made | None:
        """Return a module with drawn weights, or with those of a state; None for a function.

        copied: it is a deep copy of what the constructor returns.
        """
        if not self.is_module:
            return None
        given = self.given
        if self.kind is SOFTMAX:
            dims = [one.name for one in self.makes if role_of(one.name, CALL) == "dim"]
            given = dict.fromkeys(dims, self.inputs(sizes)["dim"]) | given
        how = {"equal": self.equal, "guesses": self.guesses, "given": given}
        how |= {"double": self.double, "copied": copied}
        return self.code.make(self.name, sizes, state or {}, **how)

    def inputs(self, sizes: Sizes) -> dict[str, Any]:
        """Return drawn inputs by role, each (batch, tokens, width) for attention."""
        if self.kind:
            return self.inputs_of_part(sizes, self.kind)
        chance = torch.Generator().manual_seed(sizes.seed + 1)
        b, n, m = sizes.batch, sizes.tokens, sizes.tokens_of_context
        by_role = sizes.values(self.equal or "heads" in self.layout)
        wide = by_role["width"] if self.is_module else sizes.width
        keys = n if self.causal or (self.equal and not self.is_module) else m
        counts = {"x": n, "q": n, "context": m, "k": keys, "v": keys}
        found = {}
        for name in self.tensors.split(", "):
            width = by_role["d_context"] if name == "context" else wide
            shape = (b, counts[name], width)
            drawn = torch.randn(shape, generator=chance, dtype=torch.float64)
            found[name] = drawn.to(self.dtype)
        return found

    def inputs_of_part(self, sizes: Sizes, kind: Kind) -> dict[str, Any]:
        """Return drawn inputs of a part of attention by role."""
        found = kind.inputs(sizes)
        every = self.makes + self.takes
        if "dim" in found and not any(role_of(one.name, CALL) == "dim" for one in every):
            found["dim"] = -1
        if self.layout == "tokens" and "logits" in found:
            found = {"logits": found["logits"].flatten(0, 1), "targets": found["targets"].flatten()}
        return found

    def run(
        self,
        made: Made | None,
        inputs: dict[str, Any],
        sizes: Sizes,
        visible: Tensor | None = None,
        training: bool = False,
        cache: str | None = None,
    ) -> Output:
        """Call the definition, always with the same seed, and return its result in one layout.

        visible: (batch, queries, keys) of the mask that is passed in, if one is. cache: the handle
        of one that is passed in; empty to ask for one. Raises Raised, or Stopped.
        """
        arguments = self.arguments(inputs, sizes, visible, training, cache)
        keep = cache is not None
        called, sent, changed = self.ask(made, arguments, sizes, training, keep=keep)
        value, part, kept = self.understood(called, sent, inputs)
        changed = [role for name in changed if (role := self.call.get(name, "")) in inputs]
        return Output(value, sent[part], part, kept, changed)

    def value(self, sizes: Sizes, made: Made | None = None, training: bool = False) -> Tensor:
        """Return the result of one call, of a new module unless one is passed in."""
        made = made or self.build(sizes)
        return self.run(made, self.inputs(sizes), sizes, training=training).value

    def gradients(
        self, made: Made | None, inputs: dict[str, Any], sizes: Sizes, training: bool, out: Output
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """Return a direction of a result, and the gradients in it by role or `weight.name`."""
        chance = torch.Generator().manual_seed(1)
        way = torch.randn(out.raw.shape, generator=chance, dtype=torch.float64).to(out.raw.dtype)
        arguments = self.arguments(inputs, sizes, None, training)
        _, found, _ = self.ask(made, arguments, sizes, training, way=way, part=out.part)
        back = (lambda value: value) if self.kind else LAYOUTS[self.layout][2]
        by_role = {self.call.get(name, name): value for name, value in found.items()}
        own = {name: back(value) for name, value in by_role.items() if name in inputs}
        return way, own | {n: v for n, v in found.items() if n.startswith("weight.")}

    def ask(
        self,
        made: Made | None,
        arguments: dict[str, Any],
        sizes: Sizes,
        training: bool = False,
        way: Tensor | None = None,
        path: str = "",
        keep: bool = False,
        part: str = "",
    ) -> tuple[Called, dict[str, Tensor], list[str]]:
        """Call a function, a module or the part of one at a path.

        way: the direction of a part of the result, to get gradients. Return what is told of the
        result, its tensors, and the arguments that the call changed.
        """
        trees, tensors = packed(arguments)
        by_place = bool(path) or any(p.kind == "POSITIONAL_ONLY" for p in self.takes)
        asked: dict[str, Any] = {"name": self.name, "of": made.handle if made else ""}
        asked |= {"path": path, "arguments": trees, "by_place": by_place, "keep": keep}
        asked |= {"seed": sizes.seed + 2, "training": training, "part": part}
        passed = tensors if way is None else tensors | {"way": way}
        called, sent = self.code.ask(Called, "call", tensors=passed, **asked)
        after = {name: sent.get(f"input.{name}", one) for name, one in tensors.items()}
        return called, sent, [n for n, one in tensors.items() if not torch.equal(one, after[n])]

    def arguments(
        self,
        inputs: dict[str, Any],
        sizes: Sizes,
        visible: Tensor | None,
        training: bool,
        cache: str | None = None,
    ) -> dict[str, Any]:
        """Return the arguments of a call by name. Raises CannotRun."""
        values = dict(inputs) if self.kind else self.laid_out(inputs, sizes)
        if self.kind is SINUSOIDAL:
            count = inputs["count"]  # of both axes, since either can be that of tokens
            values["x"] = torch.zeros(count, count, inputs["width"], dtype=torch.float64)
        values |= {"heads": sizes.heads, "training": training, "causal": self.causal}
        values |= {} if self.is_module else {"dropout": sizes.dropout}
        values |= {} if cache is None else {"cache_wanted": True}
        values |= {"cache": {"object": cache}} if cache else {}
        if self.mask and self.mask_parameter and (self.needs_mask or visible is not None):
            values["own mask"] = self.own_mask(inputs, visible)
        found: dict[str, Any] = {}
        for one in self.takes:
            role = "own mask" if one.name == self.mask_parameter else self.call.get(one.name, "")
            if one.name in self.given:
                found[one.name] = Packer(lambda place, t: None).pack(self.given[one.name], "")
            elif role in values and not (role == "dropout" and one.default == "None"):
                found[one.name] = values[role]
            elif not one.default:
                found[one.name] = self.required(one.name, inputs, sizes)
        return found

    def own_mask(self, inputs: dict[str, Tensor], visible: Tensor | None) -> Tensor:
        """Return the mask for (batch, queries, keys) booleans, True for visible; None shows all."""
        meaning, shape = self.mask or ("", "")
        shown = torch.ones(sizes_of(inputs), dtype=torch.bool) if visible is None else visible
        shaped = SHAPES[shape](shown)
        if meaning == "additive":
            return torch.zeros(shaped.shape, dtype=self.dtype).masked_fill(~shaped, -torch.inf)
        shaped = ~shaped if meaning.endswith("hides") else shaped
        return shaped.to(self.dtype) if meaning.startswith("one") else shaped

    def required(self, name: str, inputs: dict[str, Tensor], sizes: Sizes) -> Any:
        """Return the value of a parameter without a default. Raises CannotRun."""
        role = self.call.get(name, "")
        if role == "angles":
            return self.turn(name, inputs, sizes)
        known: dict[str, Any] = {"start": 0, "block": 2, "dropout": sizes.dropout}
        known |= {"mask": None, "padding": None, "cache": None}
        if role == "positions":
            return torch.arange(sizes_of(inputs)[1])
        if role not in known:
            raise CannotRun(f"the call needs `{name}`, for which there is no value; {HELP}")
        return known[role]

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

    def laid_out(self, inputs: dict[str, Tensor], sizes: Sizes) -> dict[str, Any]:
        """Return inputs in the layout that the definition takes."""
        _, to, _ = LAYOUTS[self.layout]
        return {role: to(value, sizes.head_dim) for role, value in inputs.items()}

    def understood(
        self, called: Called, sent: dict[str, Tensor], inputs: dict[str, Any]
    ) -> tuple[Tensor, str, str]:
        """Return the result, its place among the parts, and the handle of a cache.

        Raises CannotRun.
        """
        if self.kind:
            if called.parts != ["tensor"]:
                raise CannotRun("it returns no single tensor")
            return one_sequence(sent["part.0"], self.kind), "part.0", ""
        found: tuple[Tensor, str] | None = None
        kept = ""
        b, n, m = sizes_of(inputs)
        for place, kind in enumerate(called.parts):
            part = sent.get(f"part.{place}")
            handle = f"{called.handle}.{place}" if called.handle else ""
            if part is None:
                kept = handle if kind == "object" else kept
                continue
            value = self.shaped(part, b, n)
            if found is None and value is not None:
                found = value, f"part.{place}"
            elif not kept and part.shape[-2:] != (n, m):  # which would be weights
                kept = handle
        if found is None:
            shapes = ", ".join(str(tuple(p.shape)) for k, p in sent.items() if k.startswith("part"))
            raise CannotRun(f"no result has {n} tokens (shapes: {shapes or 'none'})")
        return *found, kept

    def shaped(self, part: Tensor, b: int, n: int) -> Tensor | None:
        """Return a tensor as (batch, tokens, width) if its shape allows that."""
        dimensions, _, back = LAYOUTS[self.layout]
        if part.dim() != dimensions or not part.is_floating_point():
            return None
        value = back(part)
        return value if value.shape[:2] == (b, n) else None


def one_sequence(out: Tensor, kind: Kind) -> Tensor:
    """Return a part's result; for positions, that of one sequence of a batch."""
    if kind not in (ROTARY, SINUSOIDAL) or out.dim() != 3:
        return out
    is_first = torch.equal(out[0], out[0, :1].expand_as(out[0]))  # tokens are the first axis
    return out[:, 0] if is_first else out[0]


def sizes_of(inputs: dict[str, Tensor]) -> tuple[int, int, int]:
    """Return the sizes of the batch, and the numbers of queries and of keys."""
    first = inputs["x"] if "x" in inputs else inputs["q"]
    other = inputs.get("context", inputs.get("k", first))
    return first.shape[0], first.shape[1], other.shape[1]


def packed(arguments: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Return arguments as trees, and the tensors in them by name."""
    tensors: dict[str, Tensor] = {}

    def tree(name: str, value: Any) -> Any:
        if isinstance(value, tuple):
            return {"tuple": [tree(f"{name}.{n}", part) for n, part in enumerate(value)]}
        if not isinstance(value, Tensor):
            return value
        tensors[name] = value
        return {"tensor": name}

    return {name: tree(name, value) for name, value in arguments.items()}, tensors


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
