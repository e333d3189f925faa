"""Cases on learner code: any result is reported, and settings of torch affect no other case."""

import pytest
import torch

from tensorgrade.runner.case_runner import CaseRunner
from tensorgrade.runner.cases import run_case
from tensorgrade.runner.loading import load_module
from tensorgrade.runner.serve import run as run_request
from tensorgrade.runner.step import Step
from tensorgrade.runner.wire import pack, unpack


def loaded(source: str):
    """Return the module of a source that loads without a problem."""
    module, problems = load_module("f", f"import torch\nfrom torch import nn\n{source}", "f.py")
    assert problems == []
    return module


def run(source: str, steps: list[Step], **tensors):
    """Return a source's results on steps: the header, and the tensors."""
    return run_case(CaseRunner(loaded(source), {}, "cpu"), steps, tensors)


def calls(**options) -> list[Step]:
    """Return one call of `f` on `x`."""
    return [Step("call", "f", arguments={"x": {"tensor": "x"}}, options=options, result="result")]


SPECIAL = {
    "sparse": "x.to_sparse()",
    "complex": "x.to(torch.complex128)",
    "meta": "x.to('meta')",
    "nested": "torch.nested.nested_tensor([x])",
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", SPECIAL)
def test_a_tensor_that_is_no_plain_numbers_is_named(kind):
    header, tensors = run(f"def f(x): return {SPECIAL[kind]}, x\n", calls(), x=torch.eye(3))
    header, tensors = unpack(pack(header, tensors))
    assert header["error"] is None and list(tensors) == ["result.1"]
    assert header["values"]["result.0"]["type"] == f"{kind} tensor"


def test_of_a_tensor_larger_than_a_reply_the_shape_is_reported():
    runner = CaseRunner(loaded("def f(x): return torch.outer(x, x)\n"), {}, "cpu")
    case = {"id": "1", "steps": [step.encode() for step in calls()]}
    header, tensors = run_request(runner, case, {"x": torch.ones(100)}, most_bytes=10_000)
    assert not tensors and header["error"] is None
    assert header["values"]["result"] == {"type": "huge 100×100 tensor", "json": None}


MODULE = """
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(2, 2)
        self.count, self.loss, self.kept, self.long = 0, float("nan"), [1], 10**5000
        self.register_buffer("mask", torch.ones(2))
        self.plain = torch.zeros(2)
    def forward(self, x):
        {does}
        return x
"""
MADE = Step("construct", "M", result="object0")
CALL = Step("call", on="object0", arguments={"x": {"tensor": "x"}}, result="result")
SAME = (
    "self.loss = float('nan')",  # another object, and the same number
    "self.kept = [1]",
    "self.plain = self.plain.clone()",
    "self.mask.add_(1).sub_(1)",
    "self._own = 1",
)
ALTERED = (
    "self.count += 1",
    "self.kept.append(2)",
    "self.long = 'short'",
    "self.inner.weight.data.add_(1)",
    "self.inner.bias = None",
    "self.mask[0] = 0",
    "self.plain = self.plain.double()",
    "del self.plain",
)


@pytest.mark.parametrize("does", SAME + ALTERED)
def test_an_object_that_holds_something_else_after_a_call_is_reported(does):
    header, _ = run(MODULE.replace("{does}", does), [MADE, CALL], x=torch.ones(1, 2))
    assert header["error"] is None
    assert header["facts"]["result"].get("altered", []) == ["self"] * (does in ALTERED)


# --- settings and dtypes -------------------------------------------------------------------------


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


MIXES = {  # float32 of one's own meets a float64 input
    "a linear layer": "nn.Linear(2, 2)(x)",
    "filled": "x + torch.full((2,), torch.finfo(x.dtype).min)",
    "overflow": "torch.ones(2).fill_(torch.finfo(x.dtype).min) + x",
}


@pytest.mark.parametrize("way", MIXES)
def test_an_error_about_dtypes_is_one(way):
    for x in (torch.ones(2), torch.ones(2).double()):
        header, tensors = run(f"def f(x): return {MIXES[way]}\n", calls(), x=x)
        assert header["error"] is None and tensors["result"].dtype == torch.float32


def test_nan_in_float64_alone_is_computed_in_float32_and_compared_as_usual():
    nan = "def f(x): return x.masked_fill(torch.tensor(x.dtype == torch.float64), torch.nan)\n"
    result = run(nan, calls(), x=torch.ones(2).double())[1]["result"]
    assert result.tolist() == [1, 1] and result.dtype == torch.float64


@pytest.mark.parametrize("does", ["raise ValueError", "assert False", "x[5]", "exit()"])
def test_no_other_error_brings_the_tolerance_of_float32(does):
    text = f"def f(x):\n    if x.dtype == torch.float64:\n        {does}\n    return x\n"
    header, tensors = run(text, calls(), x=torch.ones(2).double())
    assert header["error"] is not None and not tensors
