"""A class or function that does attention, and how to build and call it."""

import inspect
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import nn

from .errors import CannotRun
from .roles import CONSTRUCTOR, Sizes, construction, parameters_of, role_of

NOTHING = 1e-6  # a smaller change, relative to the output, is rounding
FIRST = Sizes(batch=2, tokens=5, heads=4, head_dim=6, kv_heads=2, tokens_of_context=7)
# The number of dimensions of a result, by the layout of the inputs.
DIMENSIONS = {
    "batch, tokens": 3,
    "tokens, batch": 3,
    "tokens": 2,
    "batch, heads, tokens": 4,
    "batch, tokens, heads": 4,
    "heads, tokens": 3,
}


@dataclass(frozen=True)
class Convention:
    """A way to pass a mask: the meaning of its entries and its shape."""

    meaning: str
    shape: str

    def of(self, visible: torch.Tensor) -> torch.Tensor:
        """Return the mask for (batch, queries, keys) booleans, True for visible."""
        shaped = {
            "batch, queries, keys": visible,
            "batch, 1, queries, keys": visible[:, None],
            "queries, keys": visible[0],
            "batch, keys": visible[:, 0],
            "batch, 1, 1, keys": visible[:, None, :1],
            "batch, 1, keys": visible[:, :1],
        }[self.shape]
        match self.meaning:
            case "true-shows":
                return shaped
            case "true-hides":
                return ~shaped
            case "one-shows":
                return shaped.double()
            case "one-hides":
                return (~shaped).double()
        zeros = torch.zeros(shaped.shape, dtype=torch.float64)
        return zeros.masked_fill(~shaped, -torch.inf)


MEANINGS = ("true-hides", "true-shows", "additive", "one-shows", "one-hides")
SHAPES = ("queries, keys", "batch, queries, keys", "batch, 1, queries, keys")
SHAPES_OF_KEYS = ("batch, keys", "batch, 1, 1, keys", "batch, 1, keys")


@dataclass
class Output:
    """A result: (batch, tokens, width), and the cache that came back."""

    value: torch.Tensor
    cache: Any = None


@dataclass(eq=False)  # compared and hashed by identity
class Subject:
    """A class or function that does attention, and the way to build and call it.

    wishes: see `run.audits`. equal: inputs must be as wide as outputs. double: it runs in double
    precision. guesses: roles of constructor parameters, by trial. call: the role of each parameter
    of the call. square: there must be as many keys as queries. splits_heads: a function that takes
    the number of heads. knows_heads: a module takes that number; None until it is found out.
    """

    name: str
    target: Any
    text: str
    line: int
    wishes: dict[str, str] = field(default_factory=dict)
    call: dict[str, str] = field(default_factory=dict)
    guesses: dict[str, str] = field(default_factory=dict)
    layout: str = "batch, tokens"
    equal: bool = False
    double: bool = True
    square: bool = False
    splits_heads: bool = False
    knows_heads: bool | None = None
    causal: bool = False
    mask: Convention | None = None
    mask_parameter: str = ""

    @property
    def is_module(self) -> bool:
        """Return True if the definition is a class."""
        return inspect.isclass(self.target)

    @property
    def given(self) -> str:
        """Return the tensors that a call takes: `x`, `x, context`, `q, k, v` or `q, k`."""
        roles = set(self.call.values())
        if {"q", "k"} <= roles:
            return "q, k, v" if "v" in roles else "q, k"
        return "x, context" if "context" in roles else "x"

    @property
    def dtype(self) -> torch.dtype:
        """Return the type of inputs and weights."""
        return torch.float64 if self.double else torch.float32

    @property
    def called(self) -> Any:
        """Return the function that a call runs."""
        return self.target.forward if self.is_module else self.target

    def has(self, role: str) -> bool:
        """Return True if a parameter of the call has this role."""
        return role in self.call.values()

    def constructor_has(self, role: str) -> bool:
        """Return True if a parameter of the constructor has this role."""
        names = [one.name for one in parameters_of(self.target)] if self.is_module else []
        return role in [self.guesses.get(name) or role_of(name, CONSTRUCTOR) for name in names]

    def fitted(self, sizes: Sizes) -> Sizes:
        """Return sizes that this definition can have: one head if it knows no heads, and so on."""
        if self.layout in ("tokens", "heads, tokens"):
            sizes = replace(sizes, batch=1)
        if self.is_module:
            if self.knows_heads is None:
                self.knows_heads = self.finds_heads(sizes)
            if self.knows_heads:
                return sizes
            return replace(sizes, heads=1, head_dim=sizes.heads * sizes.head_dim, kv_heads=1)
        if "heads" in self.layout or self.splits_heads:
            return sizes
        return replace(sizes, heads=1, kv_heads=1)

    def finds_heads(self, sizes: Sizes) -> bool:
        """Return True if a constructor, or that of a part, takes the number of heads."""
        if self.constructor_has("heads"):
            return True
        names = ("num_heads", "n_heads", "n_head", "heads", "h", "nhead", "num_attention_heads")
        parts = self.build(sizes).modules()
        return any(getattr(part, name, 1) == sizes.heads for part in parts for name in names)

    def build(self, sizes: Sizes) -> Any:
        """Return a module with drawn weights, or the function."""
        if not self.is_module:
            return self.target
        torch.default_generator.manual_seed(sizes.seed)
        made = self.target(**construction(self.target, sizes, self.equal, self.guesses))
        if not isinstance(made, nn.Module):
            raise TypeError("the class makes no nn.Module")
        draw_weights(made, sizes.seed)
        return made.double() if self.double else made

    def inputs(self, sizes: Sizes) -> dict[str, torch.Tensor]:
        """Return drawn inputs, each (batch, tokens, width)."""
        chance = torch.Generator().manual_seed(sizes.seed + 1)
        b, n, m = sizes.batch, sizes.tokens, sizes.tokens_of_context
        wide = sizes.value("width", self.equal) if self.is_module else sizes.width
        wide_context = sizes.value("d_context", self.equal) if self.is_module else wide
        keys = n if self.causal or self.square else m
        kv = wide
        if not self.is_module and self.has("kv_heads"):
            kv = sizes.kv_heads * sizes.head_dim
        shapes = {
            "x": {"x": (b, n, wide)},
            "x, context": {"x": (b, n, wide), "context": (b, m, wide_context)},
            "q, k, v": {"q": (b, n, wide), "k": (b, keys, kv), "v": (b, keys, kv)},
            "q, k": {"q": (b, n, wide), "k": (b, keys, kv)},
        }[self.given]
        found = {
            name: torch.randn(shape, generator=chance, dtype=torch.float64).to(self.dtype)
            for name, shape in shapes.items()
        }
        for value in found.values() if sizes.twins else ():
            value[:, 2] = value[:, 0]
        return found

    def run(
        self,
        made: Any,
        inputs: dict[str, torch.Tensor],
        sizes: Sizes,
        visible: torch.Tensor | None = None,
        training: bool = False,
        cache: Any = None,
        wants_cache: bool = False,
    ) -> Output:
        """Call the definition, always with the same seed, and return its result in one layout.

        visible: (batch, queries, keys) of the mask that is passed in, if one is.
        """
        given: dict[str, Any] = {n: self.laid_out(v, sizes) for n, v in inputs.items()}
        given |= {"heads": sizes.heads, "training": training}
        given |= {"cache_wanted": True} if wants_cache else {}
        if not self.is_module:
            given["dropout"] = sizes.dropout
        if self.causal:
            given["causal"] = True
        if cache is not None:
            given["cache"] = cache
        arguments = self.arguments(given, inputs, sizes, visible)
        # torch.manual_seed would take milliseconds to look for other devices.
        torch.default_generator.manual_seed(sizes.seed + 2)
        if self.is_module:
            made.train(training)
        kinds = inspect.signature(self.called).parameters
        by_place = any(kinds[n].kind is inspect.Parameter.POSITIONAL_ONLY for n in arguments)
        returned = made(*arguments.values()) if by_place else made(**arguments)
        return self.understood(returned, inputs)

    def arguments(
        self,
        given: dict[str, Any],
        inputs: dict[str, torch.Tensor],
        sizes: Sizes,
        visible: torch.Tensor | None,
    ) -> dict[str, Any]:
        """Return the arguments of a call by name. given: values by role. Raises CannotRun."""
        # What a parameter without a default gets, if nothing else is given for its role.
        required: dict[str, Any] = {
            "positions": torch.arange(next(iter(inputs.values())).shape[1]),
            "start": 0,
            "block": 2,
            "kv_heads": sizes.kv_heads,
            "dropout": sizes.dropout,
            **dict.fromkeys(("mask", "padding", "cache")),
        }
        parameters = inspect.signature(self.called).parameters
        found: dict[str, Any] = {}
        for name, role in self.call.items():
            default = parameters[name].default
            takes_mask = role == "mask" or name == self.mask_parameter
            if takes_mask and visible is not None and self.mask:
                mask = self.mask.of(visible)
                found[name] = mask.to(self.dtype) if mask.is_floating_point() else mask
            elif role in given and not (role == "dropout" and default is None):
                found[name] = given[role]
            elif default is inspect.Parameter.empty and role in required:
                found[name] = required[role]
            elif default is inspect.Parameter.empty:
                raise CannotRun(f"nothing is known about the parameter `{name}` of the call")
        return found

    def laid_out(self, value: torch.Tensor, sizes: Sizes) -> torch.Tensor:
        """Return (batch, tokens, width) in the layout that the definition takes."""
        if "heads" in self.layout:
            b, n, wide = value.shape
            heads = wide // sizes.head_dim
            value = value.reshape(b, n, heads, -1)
            if self.layout == "batch, tokens, heads":
                return value
            value = value.transpose(1, 2)
            return value[0] if self.layout == "heads, tokens" else value
        if self.layout == "tokens, batch":
            return value.transpose(0, 1)
        return value[0] if self.layout == "tokens" else value

    def understood(self, returned: Any, inputs: dict) -> Output:
        """Find the result and the cache in the returned value. Raises CannotRun."""
        first = next(iter(inputs.values()))
        parts = [returned] if isinstance(returned, torch.Tensor) else list(parts_of(returned))
        keys = next((inputs[n].shape[1] for n in ("k", "context") if n in inputs), first.shape[1])
        b, n = (1 if self.layout in ("tokens", "heads, tokens") else first.shape[0]), first.shape[1]
        value = weights = cache = None
        for part in parts:
            if not isinstance(part, torch.Tensor):
                cache = cache if part is None else part
                continue
            shaped = self.shaped(part, b, n)
            if value is None and shaped is not None:
                value = shaped
            elif part.dim() >= 2 and part.shape[-2:] == (n, keys) and weights is None:
                weights = part
            elif cache is None:
                cache = part
        if value is None:
            shapes = ", ".join(str(tuple(p.shape)) for p in parts if isinstance(p, torch.Tensor))
            raise CannotRun(f"no result has {n} tokens (shapes: {shapes or 'none'})")
        return Output(value, cache)

    def shaped(self, part: torch.Tensor, b: int, n: int) -> torch.Tensor | None:
        """Return a tensor as (batch, tokens, width) if its shape allows that."""
        if part.dim() != DIMENSIONS[self.layout] or not part.is_floating_point():
            return None
        if self.layout in ("tokens", "heads, tokens"):
            part = part[None]
        if self.layout == "tokens, batch":
            part = part.transpose(0, 1)
        if "heads" in self.layout:
            part = part if self.layout == "batch, tokens, heads" else part.transpose(1, 2)
            part = part.flatten(2)
        return part if part.shape[:2] == (b, n) else None


def parts_of(returned: Any) -> Iterator[Any]:
    """Yield the parts of a tuple, a list, a mapping or a dataclass."""
    if isinstance(returned, dict):
        yield from returned.values()
    elif isinstance(returned, (tuple, list)):
        yield from returned
    elif hasattr(returned, "__dataclass_fields__"):
        yield from vars(returned).values()


def draw_weights(module: nn.Module, seed: int) -> None:
    """Draw every parameter, since zeros and ones would hide mistakes."""
    chance = torch.Generator().manual_seed(seed + 3)
    with torch.no_grad():
        for value in module.parameters():
            if not value.is_floating_point():
                continue
            drawn = torch.randn(value.shape, generator=chance, dtype=torch.float64)
            if value.dim() > 1:
                drawn *= 1.5 / max(value.shape[-1], 1) ** 0.5
                value.copy_(drawn)
            else:
                value.add_(0.3 * drawn)


def moved(before: torch.Tensor, after: torch.Tensor) -> bool:
    """Return True if two results differ by more than rounding."""
    near = (before - after).abs() <= NOTHING * scale_of(before)
    return not bool((near | (before == after) | before.isnan() & after.isnan()).all())


def scale_of(value: torch.Tensor) -> float:
    """Return the size of a tensor's entries, to compare differences with."""
    finite = value[value.isfinite()]
    return max(float(finite.abs().mean()), 1e-3) if finite.numel() else 1e-3


def dependence(subject: Subject, sizes: Sizes, **how: Any) -> torch.Tensor:
    """Return a (tokens, keys) table: True if a result depends on that key's token.

    how: further arguments of `Subject.run`.
    """
    made, inputs = subject.build(sizes), subject.inputs(sizes)
    keys = next(n for n in ("context", "k", "x") if n in inputs)
    both = [n for n in (keys, "v") if n in inputs]
    rows = []
    with torch.no_grad():
        before = subject.run(made, inputs, sizes, **how).value
        for place in range(inputs[keys].shape[1]):
            changed = dict(inputs)
            for name in both:
                changed[name] = inputs[name].clone()
                changed[name][:, place] = 1 - inputs[name][:, place]
            after = subject.run(made, changed, sizes, **how).value
            difference = (before - after).abs().amax(dim=(0, 2))
            rows.append(~(difference <= NOTHING * scale_of(before)))
    return torch.stack(rows, dim=1)
