"""Torch's own settings: what a learner's file switches at its top must not follow into a case.

And its compiler, which optimizers and the `meta` device import, for seconds, to say that nothing
is to be compiled; its algebra of sizes, which that device imports to see that a plain truth is
one; and the symbols of that algebra. All stay away for as long as nothing more is asked of them.
"""

import importlib
import operator
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import torch

# What reads a setting, what sets it (kept here: a learner may replace torch's own), its standard.
SETTINGS: tuple[tuple[Callable[[], Any], Callable[[Any], Any], Any], ...] = (
    (torch.is_grad_enabled, torch.set_grad_enabled, True),
    (torch.get_default_dtype, torch.set_default_dtype, torch.float32),
    (torch.get_default_device, torch.set_default_device, torch.device("cpu")),
    (torch.are_deterministic_algorithms_enabled, torch.use_deterministic_algorithms, False),
    (torch.is_anomaly_enabled, torch.autograd.set_detect_anomaly, False),
)


@contextmanager
def standard_torch() -> Iterator[None]:
    """Torch as it comes, and afterwards as it was: a notebook's settings are its owner's."""
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
    """Set what is not so already: most settings never change, and some are slow to set."""
    for (read, write, _), value in zip(SETTINGS, values, strict=True):
        if read() != value:
            write(value)


COMPILER, ALGEBRA = "torch._dynamo", "torch.fx.experimental.symbolic_shapes"
SYMBOLS = "sympy"


class Absent(ModuleType):
    """Stands where a module of torch would, until it is asked for more than it can say."""

    def __getattr__(self, name: str) -> Any:
        take_away(self)
        return getattr(importlib.import_module(self.__name__), name)


class NoCompiler(Absent):
    """Torch's compiler, as far as it is told to keep out."""

    def disable(self, function: Callable, *_: object, **__: object) -> Callable:
        """The function, which nobody is about to compile."""
        return function

    def graph_break(self) -> None:
        """There is nothing to break."""


def itself(truth: bool) -> bool:
    """A truth that is known."""
    return truth


def each_is(kind: type) -> Callable[[object], bool]:
    """Whether a value, or each of a tuple of them, is of a plain type and no symbol."""

    def each(value: object) -> bool:
        values = value if isinstance(value, tuple) else (value,)
        return all(type(one) is kind for one in values)

    return each


TRUTHS, NUMBERS = each_is(bool), each_is(int)


def has_numbers(value: object) -> bool:
    """Whether a value is a plain tensor all of whose sizes are numbers."""
    if type(value) not in (torch.Tensor, torch.nn.Parameter):
        return False
    tensor: Any = value
    if tensor.layout is not torch.strided or tensor.is_nested:
        return False
    return NUMBERS((*tensor.shape, *tensor.stride(), tensor.storage_offset()))


# What is asked of sizes, of what it can be answered, and what it comes to there.
ASKED_OF_SIZES: dict[str, tuple[Callable[[object], bool], Callable]] = {
    "expect_true": (TRUTHS, itself),
    "guard_or_false": (TRUTHS, itself),
    "guard_or_true": (TRUTHS, itself),
    "guard_size_oblivious": (TRUTHS, itself),
    "statically_known_true": (TRUTHS, itself),
    "sym_and": (TRUTHS, lambda *truths: all(truths)),
    "sym_or": (TRUTHS, lambda *truths: any(truths)),
    "sym_eq": (NUMBERS, operator.eq),
    "is_nested_int": (NUMBERS, lambda size: False),
    "has_guarding_hint": (NUMBERS, lambda size: True),
    "guarding_hint_or_throw": (NUMBERS, lambda size: size),
    "free_unbacked_symbols": (has_numbers, lambda tensor: set()),
}


class NoAlgebra(Absent):
    """Torch's algebra of sizes, where all sizes are known numbers."""

    def __getattr__(self, name: str) -> Any:
        if name == "__path__":  # asked by `from … import`: it is no package
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
    """The library of symbols that torch imports, for every promotion of types, to meet none."""

    class Basic:
        """What a symbol is: nothing, as long as the library itself is not there."""

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
    """From here on the module itself is imported, where it is asked for."""
    if isinstance(stand_in, Absent) and sys.modules.get(stand_in.__name__) is stand_in:
        del sys.modules[stand_in.__name__]
