"""Run a case: its steps in order, and again in float32 if learner code needs that."""

import re
from collections.abc import Sequence

import torch

from .case_runner import CaseRunner, MissingName, Reply
from .errors import OutOfTime, describe_error
from .step import Step
from .steps import VERBS
from .torch_state import standard_torch

# Some of torch's messages on dtypes name both ("Float did not match Double"). Others name the one
# for which a number is too large.
ABOUT_DTYPES = re.compile(
    r"dtype|scalar type|without overflow|float\b.*\bdouble\b|double\b.*\bfloat\b", re.I | re.S
)


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
