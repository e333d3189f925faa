"""Torch's global settings and slow imports.

Settings that a learner's file changes at its top must not affect a case. Three imports are replaced
by substitutes, which load the real module if code needs more than they offer:
- torch's compiler, which takes seconds. Optimizers and the `meta` device import it only to state
  that there is nothing to compile.
- the algebra of sizes, which the `meta` device imports to check plain booleans.
- the library of symbols that this algebra uses.
"""

import importlib
import operator
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import torch

# Each entry is a getter, a setter (stored here, as a learner may replace torch's own), and the
# default value.
SETTINGS: tuple[tuple[Callable[[], Any], Callable[[Any], Any], Any], ...] = (
    (torch.is_grad_enabled, torch.set_grad_enabled, True),
    (torch.get_default_dtype, torch.set_default_dtype, torch.float32),
    (torch.get_default_device, torch.set_default_device, torch.device("cpu")),
    (torch.are_deterministic_algorithms_enabled, torch.use_deterministic_algorithms, False),
    (torch.is_anomaly_enabled, torch.autograd.set_detect_anomaly, False),
)


@contextmanager
def standard_torch() -> Iterator[None]:
    """Use torch's default settings inside; restore the previous settings afterwards.

    These may be those of a learner's notebook.
    """
    before = [read() for read, _, _ in SETTINGS]
    standard = [standard for _, _, standard in SETTINGS]
    if before != standard:
        switch(standard)
    absent = [sys.modules.setdefault(name, kind(name)) for name, kind in ABSENT.items()]
    try:
        yield
    finally:
        for module in absent:
            take_away(module)
        switch(before)


def switch(values: list) -> None:
    """Set only the values that differ, because most settings never change and some are slow."""
    for (read, write, _), value in zip(SETTINGS, values, strict=True):
        if read() != value:
            write(value)


COMPILER, ALGEBRA = "torch._dynamo", "torch.fx.experimental.symbolic_shapes"
SYMBOLS = "sympy"


class Absent(ModuleType):
    """A substitute for a module, which loads the module if code needs more than it offers."""

    def __getattr__(self, name: str) -> Any:
        take_away(self)
        return getattr(importlib.import_module(self.__name__), name)


class NoCompiler(Absent):
    """A substitute for torch's compiler, with its calls for disabling it."""

    def disable(self, function: Callable, *_: object, **__: object) -> Callable:
        """Return the function unchanged."""
        return function

    def graph_break(self) -> None:
        """Do nothing, because there is no graph to break."""


def unchanged(value: bool) -> bool:
    """Return the argument, because a plain bool needs no algebra."""
    return value


def each_is(kind: type) -> Callable[[object], bool]:
    """Return a check that a value, or each item of a tuple, is of a plain type and not a symbol."""

    def each(value: object) -> bool:
        values = value if isinstance(value, tuple) else (value,)
        return all(type(one) is kind for one in values)

    return each


TRUTHS, NUMBERS = each_is(bool), each_is(int)


def has_numbers(value: object) -> bool:
    """Return True if a value is a plain tensor whose sizes are all numbers."""
    if type(value) not in (torch.Tensor, torch.nn.Parameter):
        return False
    tensor: Any = value
    if tensor.layout is not torch.strided or tensor.is_nested:
        return False
    return NUMBERS((*tensor.shape, *tensor.stride(), tensor.storage_offset()))


# For each function on sizes, a check that an argument is plain, and the function for plain ones.
ASKED_OF_SIZES: dict[str, tuple[Callable[[object], bool], Callable]] = {
    "expect_true": (TRUTHS, unchanged),
    "guard_or_false": (TRUTHS, unchanged),
    "guard_or_true": (TRUTHS, unchanged),
    "guard_size_oblivious": (TRUTHS, unchanged),
    "statically_known_true": (TRUTHS, unchanged),
    "sym_and": (TRUTHS, lambda *truths: all(truths)),
    "sym_or": (TRUTHS, lambda *truths: any(truths)),
    "sym_eq": (NUMBERS, operator.eq),
    "is_nested_int": (NUMBERS, lambda size: False),
    "has_guarding_hint": (NUMBERS, lambda size: True),
    "guarding_hint_or_throw": (NUMBERS, lambda size: size),
    "free_unbacked_symbols": (has_numbers, lambda tensor: set()),
}


class NoAlgebra(Absent):
    """A substitute for torch's algebra of sizes, for sizes that are all known numbers."""

    def __getattr__(self, name: str) -> Any:
        if name == "__path__":  # `from … import` asks for this, but it is not a package
            raise AttributeError(name)
        if name not in ASKED_OF_SIZES:
            return super().__getattr__(name)
        is_plain, plainly = ASKED_OF_SIZES[name]
        whole = super().__getattr__

        def answer(*values: Any) -> Any:
            plain = all(map(is_plain, values))
            return plainly(*values) if plain else whole(name)(*values)

        return answer


class NoSymbols(Absent):
    """A substitute for the library of symbols.

    torch imports it at each promotion of types, only to find no symbol.
    """

    class Basic:
        """The class of symbols, without instances while the library itself is not imported."""

    def __getattribute__(self, name: str) -> Any:
        if name == "Basic" and sys.modules.get(SYMBOLS) is not self:
            return getattr(importlib.import_module(SYMBOLS), name)
        return super().__getattribute__(name)


ABSENT: dict[str, type[Absent]] = {
    COMPILER: NoCompiler,
    ALGEBRA: NoAlgebra,
    SYMBOLS: NoSymbols,
}


def take_away(stand_in: ModuleType) -> None:
    """Remove a substitute, so that the next import loads the module itself."""
    if isinstance(stand_in, Absent) and sys.modules.get(stand_in.__name__) is stand_in:
        del sys.modules[stand_in.__name__]
