"""Torch's global settings, which must not affect a case if a learner's file changes them."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch


def fill_new_memory(wanted: bool) -> None:
    """Fill memory without values (`torch.empty`) with NaN; by chance it holds right numbers.

    `torch.use_deterministic_algorithms` also imports torch's compiler, which takes a second.
    """
    torch._C._set_deterministic_algorithms(wanted, warn_only=True)


# Each entry is a getter, a setter (stored here, as a learner may replace torch's own), and the
# default value.
SETTINGS: tuple[tuple[Callable[[], Any], Callable[[Any], Any], Any], ...] = (
    (torch.is_grad_enabled, torch.set_grad_enabled, True),
    (torch.get_default_dtype, torch.set_default_dtype, torch.float32),
    (torch.get_default_device, torch.set_default_device, torch.device("cpu")),
    (torch.are_deterministic_algorithms_enabled, fill_new_memory, True),
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
    try:
        yield
    finally:
        switch(before)


def switch(values: list) -> None:
    """Set only the values that differ, because most settings never change and some are slow."""
    for (read, write, _), value in zip(SETTINGS, values, strict=True):
        if read() != value:
            write(value)
