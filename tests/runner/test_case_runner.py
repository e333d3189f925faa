"""What learner code returns is told, whatever it is."""

import pytest
import torch

from tensorgrade.runner.loading import load_module
from tensorgrade.runner.messages import pack, unpack
from tensorgrade.runner.verbs import CaseRunner

SPECIAL = {
    "sparse": "x.to_sparse()",
    "complex": "x.to(torch.complex128)",
    "meta": "x.to('meta')",
    "quantized": "torch.quantize_per_tensor(x, 0.1, 0, torch.qint8)",
    "nested": "torch.nested.nested_tensor([x])",
}
STEPS = [{"verb": "call", "name": "f", "as": "result", "arguments": {"x": {"tensor": "x"}}}]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", SPECIAL)
@pytest.mark.parametrize("returned", ["{}", "({}, x)"])
def test_a_tensor_that_is_no_plain_numbers_is_named(kind, returned):
    value = returned.format(SPECIAL[kind])
    module, _ = load_module("f", f"import torch\ndef f(x): return {value}\n", "f.py")
    header, tensors = CaseRunner(module, {}, "cpu").run_case(STEPS, {"x": torch.eye(3)})
    header, tensors = unpack(pack(header, tensors))
    name = "result" if returned == "{}" else "result.0"
    assert header["error"] is None
    assert header["values"][name]["type"] == f"{kind} tensor" and name not in tensors
