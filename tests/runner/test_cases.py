"""Cases on learner code: any result is reported, and settings of torch affect no other case."""

import pytest
import torch

from tensorgrade.author import call, construct

from ..support import ran

IMPORTS = "import torch\nfrom torch import nn\n"
ONES = torch.ones(2)


def called(source: str, x: torch.Tensor, **options):
    """Return the observation of a call of `f` on `x`."""
    return ran(IMPORTS + source, "f", call(x=x, **options))


SPECIAL = {
    "sparse": "x.to_sparse()",
    "complex": "x.to(torch.complex128)",
    "meta": "x.to('meta')",
    "nested": "torch.nested.nested_tensor([x])",
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", SPECIAL)
def test_a_tensor_that_is_no_plain_numbers_is_named(kind):
    seen = called(f"def f(x): return {SPECIAL[kind]}, x\n", torch.eye(3))
    assert seen.error is None and list(seen.tensors) == ["result.1"]
    assert seen.values["result.0"]["type"] == f"{kind} tensor"


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
    text = IMPORTS + MODULE.replace("{does}", does)
    seen = ran(text, "M", construct(), call(x=torch.ones(1, 2)))
    assert seen.error is None
    assert seen.facts["result"].get("altered", []) == ["self"] * (does in ALTERED)


# --- settings and dtypes -------------------------------------------------------------------------


def test_gradients_switched_off_at_the_top_of_a_file_are_on_in_a_case():
    source = "torch.set_grad_enabled(False)\ntorch.set_default_dtype(torch.float64)\n"
    source += "def f(x): return x * torch.ones(2).double()\n"
    with torch.no_grad():
        seen = called(source, ONES.double(), gradient=ONES)
        assert seen.error is None and seen.tensors["gradient.x"].tolist() == [1, 1]
        assert not torch.is_grad_enabled()  # a notebook's settings are its owner's
    assert torch.get_default_dtype() == torch.float32


MIXES = {  # float32 of one's own meets a float64 input
    "a linear layer": "nn.Linear(2, 2)(x)",
    "filled": "x + torch.full((2,), torch.finfo(x.dtype).min)",
    "overflow": "torch.ones(2).fill_(torch.finfo(x.dtype).min) + x",
}


@pytest.mark.parametrize("way", MIXES)
def test_an_error_about_dtypes_is_one(way):
    for x in (ONES, ONES.double()):
        seen = called(f"def f(x): return {MIXES[way]}\n", x)
        assert seen.error is None and seen.tensors["result"].dtype == torch.float32


def test_nan_in_float64_alone_is_computed_in_float32_and_compared_as_usual():
    nan = "def f(x): return x.masked_fill(torch.tensor(x.dtype == torch.float64), torch.nan)\n"
    result = called(nan, ONES.double()).tensors["result"]
    assert result.tolist() == [1, 1] and result.dtype == torch.float64


@pytest.mark.parametrize("does", ["raise ValueError", "assert False", "x[5]", "exit()"])
def test_no_other_error_brings_the_tolerance_of_float32(does):
    text = f"def f(x):\n    if x.dtype == torch.float64:\n        {does}\n    return x\n"
    seen = called(text, ONES.double())
    assert seen.error is not None and not seen.tensors
