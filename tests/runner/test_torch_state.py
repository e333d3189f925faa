"""Changes of torch's global state by learner code affect no other case."""

import pytest
import torch

from tensorgrade.runner.case_runner import CaseRunner
from tensorgrade.runner.cases import run_case
from tensorgrade.runner.loading import load_module
from tensorgrade.runner.step import Step


def run(source: str, steps: list[Step], **tensors):
    """Return a source's results on steps: the header, and the tensors."""
    module, problems = load_module("f", f"import torch\nfrom torch import nn\n{source}", "f.py")
    assert problems == []
    return run_case(CaseRunner(module, {}, "cpu"), steps, tensors)


def calls(x: str = "x", result: str = "result", **options) -> list[Step]:
    """One call of `f` on `x`."""
    return [Step("call", "f", arguments={"x": {"tensor": x}}, options=options, result=result)]


def test_gradients_switched_off_at_the_top_of_a_file_are_on_in_a_case():
    source = "torch.set_grad_enabled(False)\ntorch.set_default_dtype(torch.float64)\n"
    source += "def f(x): return x * torch.ones(2).double()\n"
    try:
        steps = calls(gradient=["seed"])
        header, tensors = run(source, steps, x=torch.ones(2).double(), seed=torch.ones(2))
        assert header["error"] is None and tensors["gradient.x"].tolist() == [1, 1]
        assert not torch.is_grad_enabled()  # a notebook's settings are its owner's
    finally:
        torch.set_grad_enabled(True)
        torch.set_default_dtype(torch.float32)


def test_what_fails_in_float64_alone_is_asked_again_in_float32():
    least = "def f(x): return x + torch.full((2,), torch.finfo(x.dtype).min)\n"
    header, tensors = run(least, calls(), x=torch.ones(2).double())
    assert header["error"] is None and tensors["result"].dtype == torch.float32
    nan = "def f(x): return x.masked_fill(torch.tensor(x.dtype == torch.float64), torch.nan)\n"
    result = run(nan, calls(), x=torch.ones(2).double())[1]["result"]
    assert result.tolist() == [1, 1] and result.dtype == torch.float64  # and its tolerance


MIXES = {  # float32 of one's own meets a float64 input
    "a linear layer": "nn.Linear(2, 2)(x)",
    "by index": "torch.ones(2).index_put_((torch.tensor([0]),), x[:1])",
    "overflow": "torch.ones(2).fill_(torch.finfo(x.dtype).min) + x",
}


@pytest.mark.parametrize("way", MIXES)
def test_an_error_about_dtypes_is_one(way):
    for x in (torch.ones(2), torch.ones(2).double()):
        header, tensors = run(f"def f(x): return {MIXES[way]}\n", calls(), x=x)
        assert header["error"] is None and tensors["result"].dtype == torch.float32


@pytest.mark.parametrize(
    "does", ["raise ValueError", "assert False", "1 / 0", "x[5]", "x.reshape(7)", "exit()"]
)
def test_no_other_error_brings_the_tolerance_of_float32(does):
    text = f"def f(x):\n    if x.dtype == torch.float64:\n        {does}\n    return x\n"
    header, tensors = run(text, calls(), x=torch.ones(2).double())
    assert header["error"] is not None and not tensors
    assert run(text, calls(), x=torch.ones(2))[0]["error"] is None


def test_what_fails_in_both_is_reported_as_it_was_in_float64():
    _, tensors = run("def f(x): return x * torch.nan\n", calls(), x=torch.ones(2).double())
    assert tensors["result"].dtype == torch.float64
    header, _ = run("def f(x): return x / y\n", calls(), x=torch.ones(2).double())
    assert header["error"]["type"] == "NameError"


KEPT = (
    "def f(x, last=[None, None]):\n"
    "    if last[0] is not x:\n        last[:] = x, x + 0\n    return last[1]\n"
)


@pytest.mark.parametrize("shape, kept", [((2,), True), ((3,), False)])
def test_a_refilled_tensor_is_the_one_of_before(shape, kept):
    steps = [*calls("old", result="first"), *calls(refilled="first")]
    _, tensors = run(KEPT, steps, x=torch.ones(2), old=torch.zeros(*shape))
    assert tensors["result"].tolist() == ([0, 0] if kept else [1, 1])
    _, tensors = run("def f(x): return x + 0\n", steps, x=torch.ones(2), old=torch.zeros(*shape))
    assert tensors["result"].tolist() == [1, 1]
