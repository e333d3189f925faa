"""Torch's own settings: what a learner's file switches at its top must not follow into a case."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
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
    try:
        yield
    finally:
        switch(before)


def switch(values: list) -> None:
    """Set what is not so already: most settings never change, and some are slow to set."""
    for (read, write, _), value in zip(SETTINGS, values, strict=True):
        if read() != value:
            write(value)
