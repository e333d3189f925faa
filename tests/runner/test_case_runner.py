"""Any result of learner code is reported."""

import pytest
import torch

from tensorgrade.runner.case_runner import CaseRunner
from tensorgrade.runner.cases import run_case
from tensorgrade.runner.loading import called_by, load_module
from tensorgrade.runner.serve import run
from tensorgrade.runner.step import Step
from tensorgrade.runner.wire import pack, unpack

SPECIAL = {
    "sparse": "x.to_sparse()",
    "complex": "x.to(torch.complex128)",
    "meta": "x.to('meta')",
    "quantized": "torch.quantize_per_tensor(x, 0.1, 0, torch.qint8)",
    "nested": "torch.nested.nested_tensor([x])",
}
STEPS = [Step("call", "f", arguments={"x": {"tensor": "x"}}, result="result")]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", SPECIAL)
@pytest.mark.parametrize("returned", ["{}", "({}, x)"])
def test_a_tensor_that_is_no_plain_numbers_is_named(kind, returned):
    value = returned.format(SPECIAL[kind])
    module, _ = load_module("f", f"import torch\ndef f(x): return {value}\n", "f.py")
    header, tensors = run_case(CaseRunner(module, {}, "cpu"), STEPS, {"x": torch.eye(3)})
    header, tensors = unpack(pack(header, tensors))
    name = "result" if returned == "{}" else "result.0"
    assert header["error"] is None
    assert header["values"][name]["type"] == f"{kind} tensor" and name not in tensors


def test_of_a_tensor_larger_than_a_reply_the_shape_is_reported():
    module, _ = load_module("f", "import torch\ndef f(x): return torch.outer(x, x)\n", "f.py")
    case = {"id": "1", "steps": [step.encode() for step in STEPS]}
    asked = case, {"x": torch.ones(100)}
    header, tensors = run(CaseRunner(module, {}, "cpu"), *asked, most_bytes=10_000)
    assert not tensors and header["error"] is None
    assert header["values"]["result"] == {"type": "huge 100×100 tensor", "json": None}


MODULE = """import torch
class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(2, 2)
        self.count, self.loss, self.kept, self.long = 0, float("nan"), [1], 10**5000
        self.register_buffer("mask", torch.ones(2))
        self.plain = torch.zeros(2)
    def forward(self, x):
        {does}
        return x
"""
CALL = Step("call", on="object0", arguments={"x": {"tensor": "x"}}, result="result")
MADE = Step("construct", "M", result="object0")


@pytest.mark.parametrize(
    "does, altered",
    [
        ("self.inner(x)", False),
        ("self.loss = float('nan')", False),  # another object, and the same number
        ("self.kept = [1]", False),
        ("self.plain = self.plain.clone()", False),
        ("self.mask.add_(1).sub_(1)", False),
        ("self._own = 1", False),
        ("self.count += 1", True),
        ("self.count = False", True),
        ("self.kept.append(2)", True),
        ("self.new = None", True),
        ("self.long = 'short'", True),
        ("self.inner.out_features = 3", True),
        ("self.inner.weight.data.add_(1)", True),
        ("self.inner.bias = None", True),
        ("self.mask[0] = 0", True),
        ("self.plain[0] = 1", True),
        ("self.plain = self.plain.double()", True),
        ("self.plain = 'a text'", True),
        ("del self.plain", True),
    ],
)
def test_an_object_that_holds_something_else_after_a_call_is_reported(does, altered):
    module, problems = load_module("m", MODULE.replace("{does}", does), "m.py")
    header, _ = run_case(CaseRunner(module, {}, "cpu"), [MADE, CALL], {"x": torch.ones(1, 2)})
    assert problems == [] and header["error"] is None
    assert header["facts"]["result"].get("altered", []) == ["self"] * altered


def test_the_definitions_that_one_speaks_of_are_reported():
    text = """import torch
def mean(x): return x
def unused(x): return mean(x)
class M:
    def go(self, x):
        return [inner(part) for part in x], torch.mean(x)
def inner(x): return (lambda: outer)()
def outer(): mean
"""
    module, _ = load_module("m", text, "m.py")
    told = {name: called_by(module, name) for name in ("mean", "unused", "M")}
    assert told == {"mean": [], "unused": ["mean"], "M": ["inner", "mean", "outer"]}


def test_what_a_function_takes_is_looked_up_for_each_of_them():
    text = "def f(width): return width\ndef g(wdth, size=2): return wdth * size\n"
    runner = CaseRunner(load_module("f", text, "f.py")[0], {}, "cpu")
    told = []
    for name in "fgfg":
        asked = Step("call", name, arguments={"width": 3}, result="result")
        header, _ = run_case(runner, [asked], {})
        told.append((header["values"]["result"]["json"], header["facts"].get("names")))
    assert told == 2 * [(3, None), (6, None)]
