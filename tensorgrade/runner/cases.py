"""Run a case: its steps in order, and again in float32 if learner code needs that.

Global settings of torch must not affect a case if a learner's file changes them.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch

from .case_runner import CaseRunner, MissingName, Reply
from .errors import OutOfTime, describe_error
from .step import Step
from .steps import VERBS

# Some of torch's messages on dtypes name both ("Float did not match Double"). Others name the one
# for which a number is too large.
ABOUT_DTYPES = re.compile(
    r"dtype|scalar type|without overflow|float\b.*\bdouble\b|double\b.*\bfloat\b", re.I | re.S
)


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


@standard_torch()
def run_case(runner: CaseRunner, steps: Sequence[Step], tensors: dict[str, torch.Tensor]) -> Reply:
    """Run the steps in order; return (header, tensors) with the results reached.

    Learner code that creates float32 buffers cannot mix them with float64 inputs. The lowest
    float64 number, used as a mask value, overflows in float32. Such code is correct
    nevertheless. A case that ends in an error about dtypes, or in NaN, is therefore run again
    in float32.

    Only after an error about dtypes are the results of dtype float32, which are compared with a
    more generous tolerance. Otherwise learners could get that by raising an error themselves.
    """
    reply = try_case(runner, steps, tensors)
    error = reply[0]["error"]
    mixed = error is not None and bool(ABOUT_DTYPES.search(error["text"]))
    coarse = [step.in_float32() for step in steps]
    double = any(tensor.dtype == torch.float64 for tensor in tensors.values())
    if not (double or coarse != list(steps)) or not (mixed or has_nan(reply)):
        return reply
    tensors = {k: t.float() if t.dtype == torch.float64 else t for k, t in tensors.items()}
    header, results = again = try_case(runner, coarse, tensors)
    if mixed:
        return again
    if header["error"] or has_nan(again):
        return reply
    # Converted to float64, so that the comparison is as strict as usual.
    exact = {n: t.double() if t.dtype == torch.float32 else t for n, t in results.items()}
    return header, exact


def try_case(runner: CaseRunner, steps: Sequence[Step], tensors: dict[str, torch.Tensor]) -> Reply:
    """Run the steps once."""
    runner.begin(tensors, any(step.stages for step in steps))
    for step in steps:
        try:
            VERBS[step.verb](runner, step, **step.options)
        except OutOfTime:
            raise
        except BaseException as error:  # an exit() in learner code is an error like any other
            runner.header["error"] = describe_error(error, str(runner.module.__file__))
            missing = str(error) if isinstance(error, MissingName) else None
            runner.header["error"] |= {"verb": step.verb, "missing": missing}
            break
    return runner.header, runner.results


def has_nan(reply: Reply) -> bool:
    """Return True if a case ended without an error and has NaN in a result."""
    header, results = reply
    floating = (t for t in results.values() if t.is_floating_point())
    return header["error"] is None and any(bool(t.isnan().any()) for t in floating)
