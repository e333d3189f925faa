"""Torch's own settings: what a learner's file switches at its top must not follow into a case.

And its compiler, which optimizers and the `meta` device import, for seconds, to say that nothing
is to be compiled: it stays away for as long as nothing is.
"""

import importlib
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
    switch([standard for _, _, standard in SETTINGS])
    compiler = sys.modules.setdefault(COMPILER, NoCompiler(COMPILER))
    try:
        yield
    finally:
        take_away(compiler)
        switch(before)


def switch(values: list) -> None:
    """Set what is not so already: most settings never change, and some are slow to set."""
    for (read, write, _), value in zip(SETTINGS, values, strict=True):
        if read() != value:
            write(value)


COMPILER = "torch._dynamo"


class NoCompiler(ModuleType):
    """Stands where torch's compiler would, until it is asked for more than to keep out."""

    def disable(self, function: Callable, *_: object, **__: object) -> Callable:
        """The function, which nobody is about to compile."""
        return function

    def graph_break(self) -> None:
        """There is nothing to break."""

    def __getattr__(self, name: str) -> Any:
        take_away(self)
        return getattr(importlib.import_module(COMPILER), name)


def take_away(stand_in: ModuleType) -> None:
    """From here on the compiler itself is imported, where it is asked for."""
    if isinstance(stand_in, NoCompiler) and sys.modules.get(COMPILER) is stand_in:
        del sys.modules[COMPILER]
