"""`tensorgrade audit`: wrong code is found, named and located; right code raises no alarm."""

import ast
import json
import re
from functools import cache
from pathlib import Path

import pytest
import typer

from tensorgrade import audit
from tensorgrade.audit.child import answer
from tensorgrade.audit.report import annotations, report, status_of
from tensorgrade.audit.roles import CALL, CONSTRUCTOR, role_of
from tensorgrade.audit.run import asked_for
from tensorgrade.cli.audits import audit as audit_command
from tensorgrade.course import CourseError

from ..commands import ROOT
from ..sampling import first_of_each

HERE = Path(__file__).parent
WRONG = ROOT / "benchmarks" / "open_world"
HEADER = "import torch\nfrom torch import nn\n\n\n"
CONVENTIONS = (HERE / "conventions.py").read_text(encoding="utf-8")
NAMES = [
    node.name
    for node in ast.parse(CONVENTIONS).body
    if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and node.name != "ModelArgs"
]


@cache
def audited(text: str, name: str = "", **wishes: str) -> dict:
    """Audit a text in this process, once; return the audit of its only or named definition."""
    header = "" if "import torch" in text else HEADER
    request = {"text": header + text, "filename": "code.py", "name": name, "wishes": wishes}
    found = answer(request) | {"file": "code.py"}
    assert len(found["audits"]) == 1, found
    return found["audits"][0]


def report_on(found: dict) -> str:
    """Return the report on one audit."""
    return report({"file": "code.py", "problem": "", "audits": [found]})


def failing(found: dict) -> set[str]:
    """Return the names of the relations that fail."""
    return {one["name"] for one in found["relations"] if one["status"] == "fails"}


def names(found: dict) -> list[str]:
    """Return the names of the known mistakes."""
    return [one["name"] for one in found["mistakes"]]


def wrong(name: str) -> dict:
    """Audit a file of wrong code."""
    return audited((WRONG / f"{name}.py").read_text(encoding="utf-8"))


def line_with(name: str, piece: str) -> int:
    """Return the first line of a file of wrong code, after the header, that contains a piece."""
    lines = (HEADER + (WRONG / f"{name}.py").read_text(encoding="utf-8")).split("\n")
    return next(number for number, line in enumerate(lines, 1) if piece in line)


@pytest.mark.slow
@pytest.mark.parametrize("name", first_of_each(NAMES, str))
def test_correct_code_in_any_convention_raises_no_alarm(name):
    found = audited(CONVENTIONS, name)
    assert found["status"] == "holds", found


@pytest.mark.parametrize(
    "name", first_of_each(["CausalSelfAttention", "MultiHeadedAttention", "causal_attention"], type)
)
def test_correct_code_raises_no_alarm(name):
    found = audited(CONVENTIONS, name)
    assert (found["status"], failing(found)) == ("holds", set())


@pytest.mark.slow
def test_a_mask_skipped_in_training_is_found():
    found = wrong("masked_in_evaluation_only")
    assert failing(found) == {"causality in training"}
    assert names(found) == ["mask_only_in_evaluation"]
    assert found["at"]["line"] == line_with("masked_in_evaluation_only", "if not self.training")


@pytest.mark.slow
def test_a_mask_skipped_while_dropout_is_active_is_found():
    found = wrong("masked_while_dropout_is_inactive")
    assert failing(found) == {"causality in training"}


@pytest.mark.slow
def test_a_missing_mask_without_a_cache_is_found():
    found = wrong("no_mask_without_a_cache")
    assert {"causality in evaluation", "cache equals no cache"} <= failing(found)
    assert "no_mask" in names(found)


@pytest.mark.slow
def test_heads_cut_by_a_reshape_alone_are_found():
    found = wrong("heads_cut_by_a_reshape")
    assert "causality in evaluation" in failing(found)
    assert "heads_by_reshape_then_over_heads" in names(found)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name, mistake, piece",
    [
        ("scaled_after_the_mask", "scaled_by_sqrt_width", "self.d_out**0.5"),
        ("scaled_by_heads", "scaled_by_sqrt_heads", "num_heads**-0.5"),
        ("every_second_feature", "heads_interleaved", "self.head_dim, self.num_heads)"),
    ],
)
def test_a_known_mistake_is_named_with_its_line(name, mistake, piece):
    found = wrong(name)
    assert names(found) == [mistake]
    assert found["at"]["line"] == line_with(name, piece)


TWO_MISTAKES = """
class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, num_heads, dropout=0.0):
        super().__init__()
        self.num_heads, self.head_dim = num_heads, d_out // num_heads
        self.qkv = nn.Linear(d_in, 3 * d_out)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.ones(context_length, context_length).triu(1).bool())

    def forward(self, x):
        b, n, _ = x.shape
        q, k, v = (t.view(b, n, self.num_heads, -1).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
        scores = q @ k.mT
        if {condition}:
            scores = scores.masked_fill(self.mask[:n, :n], -torch.inf)
        weights = self.dropout(torch.softmax(scores / self.{scale}**0.5, dim={axis}))
        return self.out_proj((weights @ v).transpose(1, 2).flatten(2))
"""  # noqa: E501


@pytest.mark.slow
@pytest.mark.parametrize(
    "condition, scale, axis, mistakes",
    [
        ("not self.training", "num_heads", -1, {"mask_only_in_evaluation", "scaled_by_sqrt_heads"}),
        ("False", "num_heads", -1, {"no_mask", "scaled_by_sqrt_heads"}),
        ("False", "head_dim", -2, {"no_mask", "softmax_over_queries"}),
    ],
)
def test_two_mistakes_are_both_named_each_with_its_line(condition, scale, axis, mistakes):
    text = TWO_MISTAKES.format(condition=condition, scale=scale, axis=axis)
    found = audited(text)
    assert set(names(found)) == mistakes
    assert len({one["line"] for one in found["mistakes"]}) == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    "old, new, mistake",
    [
        ("q @ k.mT", "q @ k.mT", ""),
        (
            "self.dropout(torch",
            "(1 - self.dropout.p) * self.dropout(torch",
            "dropout_rescaled_always",
        ),
        (
            "scores = q @ k.mT",
            "torch.manual_seed(0)\n        scores = q @ k.mT",
            "dropout_seed_fixed",
        ),
        ("-torch.inf", "-100.0", "mask_fill_not_low_enough"),
    ],
)
def test_mistakes_of_dropout_and_of_fills_are_named(old, new, mistake):
    right = TWO_MISTAKES.format(condition="True", scale="head_dim", axis=-1)
    found = audited(right.replace(old, new))
    assert (names(found) == [mistake]) if mistake else (found["status"] == "holds")


@pytest.mark.slow
def test_an_option_for_biases_without_effect_is_named():
    text = TWO_MISTAKES.format(condition="True", scale="head_dim", axis=-1)
    found = audited(text.replace("dropout=0.0", "dropout=0.0, qkv_bias=False"))
    assert names(found) == ["bias_option_ignored"]


def test_an_edit_repairs_code_that_raises_for_every_input():
    text = TWO_MISTAKES.format(condition="True", scale="head_dim", axis=-1)
    found = audited(text.replace("k.mT", "k.mT.mT"))
    assert found["status"] == "not run"
    assert found["at"]["code"] == "scores = q @ k.mT.mT"
    assert "scores = (q) @ ((k.mT.mT).transpose(-2, -1))" in found["at"]["fix"]


@pytest.mark.slow
def test_an_error_is_repaired_on_the_line_that_makes_the_layer():
    text = (
        "class SelfAttention(nn.Module):\n    def __init__(self, d_in, d_out):\n"
        "        super().__init__()\n        self.q = nn.Linear(d_in, d_out)\n"
        "        self.k = nn.Linear(d_in + 1, d_out)\n        self.v = nn.Linear(d_in, d_out)\n"
        "    def forward(self, x):\n        q = self.q(x)\n        k = self.k(x)\n"
        "        return torch.softmax(q @ k.mT / k.shape[-1] ** 0.5, -1) @ self.v(x)\n"
    )
    found = audited(text)
    assert "each raises an error: line 13 raises RuntimeError" in found["why"]
    assert found["at"]["code"] == "self.k = nn.Linear(d_in + 1, d_out)"
    assert found["at"]["fix"] == "self.k = nn.Linear(d_in, d_out)"


@pytest.mark.slow
def test_an_error_that_shows_its_mistake_is_named():
    text = TWO_MISTAKES.format(condition="True", scale="head_dim", axis=-1)
    found = audited(text.replace("super().__init__()", "pass"))
    assert names(found) == ["super_init_not_called"]
    assert "What the error means: `super().__init__()` has to be" in report_on(found)


def test_weights_that_are_not_registered_are_named_with_their_line():
    text = (
        "class SelfAttention(nn.Module):\n    def __init__(self, d_in, d_out):\n"
        "        super().__init__()\n        self.q = nn.Parameter(torch.rand(d_in, d_out))\n"
        "        self.k = torch.rand(d_in, d_out)\n"
        "        self.v = nn.Parameter(torch.rand(d_in, d_out))\n    def forward(self, x):\n"
        "        q, k, v = x @ self.q, x @ self.k, x @ self.v\n"
        "        return torch.softmax(q @ k.mT / k.shape[-1] ** 0.5, -1) @ v\n"
    )
    found = audited(text)
    assert names(found) == ["not_registered"]
    assert found["at"] == {"line": 9, "fix": "", "code": "self.k = torch.rand(d_in, d_out)"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "old, new, relation, mistake",
    [
        (
            "b, n, _ = x.shape",
            "x = self.__dict__.setdefault(str(x.shape), x)\n        b, n, _ = x.shape",
            "no memory of earlier calls",
            "keeps_state",
        ),
        (
            "self.out_proj((weights",
            "self.out_proj(((weights if self.training else weights.detach())",
            "gradients",
            "detached",
        ),
        (
            "b, n, _ = x.shape",
            "x = x if x.dtype == torch.float64 else 2 * x\n        b, n, _ = x.shape",
            "single precision",
            "other_in_single_precision",
        ),
        (
            "super().__init__()",
            "super().__init__()\n        torch.manual_seed(1)",
            "state_dict round trip",
            "seed_set_inside",
        ),
        (
            "q @ k.mT\n",
            "q @ k.mT * (1 if n < 100 else 2)\n",
            "equality with F.scaled_dot_product_attention",
            "special_case",
        ),
    ],
)
def test_special_cases_that_no_correct_version_makes_are_found(old, new, relation, mistake):
    right = TWO_MISTAKES.format(condition="True", scale="head_dim", axis=-1)
    assert right.count(old) == 1
    found = audited(right.replace(old, new))
    assert failing(found) == {relation}
    assert names(found) == [mistake]


def test_dropout_by_a_generator_of_its_own_raises_no_alarm():
    right = TWO_MISTAKES.format(condition="True", scale="head_dim", axis=-1)
    drops = """
class Drops(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p, self.chance = p, torch.Generator()
        self.chance.seed()

    def forward(self, x):
        if not self.training or self.p == 0:
            return x
        return x * (torch.rand(x.shape, generator=self.chance) >= self.p) / (1 - self.p)
"""
    found = audited(drops + right.replace("nn.Dropout(", "Drops("), "CausalAttention")
    assert found["status"] == "holds", found


@pytest.mark.slow
def test_softmax_in_single_precision_inside_raises_no_alarm():
    text = (
        "def attention(q, k, v):\n"
        "    scores = (q @ k.mT / q.shape[-1] ** 0.5).float()\n"
        "    return torch.softmax(scores, -1).type_as(q) @ v\n"
    )
    assert audited(text)["status"] == "holds"


def test_an_error_of_a_wrong_type_is_shown_where_the_value_was_made():
    text = (
        "def attention(q, k, v):\n    d_k = k.shape\n    scores = q @ k.mT\n"
        "    return torch.softmax(scores / d_k**0.5, -1) @ v\n"
    )
    found = audited(text)
    assert (found["status"], found["at"]["code"]) == ("not run", "d_k = k.shape")
    assert "What the error means: A value has another type" in report_on(found)


RIGHT = TWO_MISTAKES.format(condition="True", scale="head_dim", axis=-1)


@pytest.mark.parametrize(
    "edits, line",
    [
        ({"        scores = q @ k.mT\n": "        pass\n"}, "pass"),
        ({"self.out_proj = nn.Linear(d_out, d_out)": "pass"}, "pass"),
        ({"d_out // num_heads": "(d_out / num_heads,)"}, "self.num_heads, self.head_dim ="),
        (
            {
                "if True:": "hidden = self.mask[:, :n]\n        if True:",
                "self.mask[:n, :n], ": "hidden, ",
            },
            "hidden = self.mask[:, :n]",
        ),
    ],
    ids=["a name", "a layer", "a type", "a length"],
)
def test_an_error_is_shown_where_its_value_should_have_been_made(edits, line):
    text = RIGHT
    for old, new in edits.items():
        assert text.count(old) == 1
        text = text.replace(old, new)
    found = audited(text)
    assert (found["status"], found["at"]["code"][: len(line)]) == ("not run", line)


SPLIT_ONE_BY_ONE = """
        q, k, v = self.qkv(x).chunk(3, -1)
        q = q.reshape(b, n, self.num_heads, -1).transpose(1, 2)
        k = k
        v = v.reshape(b, n, self.num_heads, -1).transpose(1, 2)
"""


def test_a_line_is_repaired_like_the_lines_next_to_it():
    begin, end = RIGHT.index("        q, k, v"), RIGHT.index("        scores")
    found = audited(RIGHT[:begin] + SPLIT_ONE_BY_ONE.lstrip("\n") + RIGHT[end:])
    assert found["at"]["code"] == "k = k"
    assert found["at"]["fix"] == "k = k.reshape(b, n, self.num_heads, -1).transpose(1, 2)"


def test_no_line_is_shown_if_neither_a_repair_nor_a_known_mistake_shows_one():
    text = (
        "def attention(q, k, v):\n    weights = torch.softmax((q @ k.mT).abs().square(), -1)\n"
        "    return weights @ v.abs().square()\n"
    )
    found = audited(text)
    assert (found["status"], names(found), found["at"]) == ("fails", [], {})
    assert "Look at" not in report_on(found)
    assert "line=5," in next(annotations({"file": "code.py", "audits": [found]}))


@pytest.mark.slow
@pytest.mark.parametrize(
    "dropout, mistake",
    [
        ("nn.functional.dropout(w, 0.5, self.training and p > 0)", "dropout_rate_ignored"),
        ("nn.functional.dropout(w, 1 - p, self.training and p > 0)", "dropout_rate_inverted"),
        ("w * self.dropout(torch.ones_like(w[:, :, :1]))", "dropout_pattern_shared"),
        ("w * (torch.rand(n, n) >= p) / (1 - p) if self.training else w", "dropout_pattern_shared"),
        ("w * (torch.rand_like(w) >= p) if self.training else w", "dropout_not_rescaled"),
    ],
)
def test_wrong_patterns_and_rates_of_dropout_are_named_with_their_line(dropout, mistake):
    begin, end = RIGHT.index("        weights ="), RIGHT.index("        return")
    lines = [
        "p = self.dropout.p",
        "w = torch.softmax(scores / self.head_dim**0.5, dim=-1)",
        f"weights = {dropout}",
    ]
    drops = "".join(f"        {line}\n" for line in lines)
    found = audited(RIGHT[:begin] + drops + RIGHT[end:])
    assert names(found) == [mistake]
    assert found["at"]["code"] == lines[-1]


def test_dropout_that_is_left_out_is_not_repaired_by_leaving_out_a_layer():
    found = audited(RIGHT.replace("self.dropout(torch", "(torch"))
    assert names(found) == ["dropout_left_out"]
    assert "out_proj = nn.Dropout" not in found["at"].get("fix", "")


PAGE = ROOT / "docs" / "how-to" / "audit-code.md"


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_page_shows_what_an_audit_of_its_findings_prints():
    page = PAGE.read_text(encoding="utf-8").partition("## Five findings")[2]
    blocks = re.findall(r"```(\w+)\n(.*?)```", page, re.DOTALL)
    text = "\n\n".join(body for kind, body in blocks if kind == "python")
    shown = [body.rstrip() for kind, body in blocks if kind == "text"]
    found = answer({"text": text, "filename": "five.py", "name": "", "wishes": {}})
    printed = report(found | {"file": "five.py"}).split("\n\n")
    assert [re.sub(r"\n  [✓–].*", "", one) for one in printed] == shown


@pytest.mark.slow
def test_training_without_dropout_has_to_equal_evaluation():
    text = TWO_MISTAKES.format(condition="True", scale="head_dim", axis=-1)
    found = audited(text.replace("k.mT\n", "k.mT * (2 if self.training else 1)\n"))
    assert "training without dropout" in failing(found)


@pytest.mark.slow
def test_the_formula_is_tested_if_the_layers_are_called_qkv_and_proj():
    found = audited(CONVENTIONS, "FlashCausalSelfAttention")
    holding = {one["name"] for one in found["relations"] if one["status"] == "holds"}
    assert "equality with F.scaled_dot_product_attention" in holding


@pytest.mark.slow
def test_the_report_says_why_the_formula_was_not_tested():
    assert "Not tested: equality with F.scaled_dot_product_attention, because its code" in (
        report_on(audited(CONVENTIONS, "NormalizedAttention"))
    )


@pytest.mark.slow
def test_an_unknown_scale_is_found_by_regression():
    text = "def attention(q, k, v):\n    return torch.softmax(q @ k.mT * 0.3, -1) @ v\n"
    found = audited(text)
    assert names(found) == ["another_scale"]
    assert "multiplied by 0.3," in found["mistakes"][0]["says"]


@pytest.mark.slow
def test_one_edit_that_repairs_the_code_is_shown():
    assert "self.head_dim**0.5" in wrong("scaled_after_the_mask")["at"]["fix"]


def test_a_mask_that_hides_nothing_is_reported():
    text = (
        "def attention(q, k, v, mask=None):\n"
        "    scores = q @ k.mT / q.shape[-1] ** 0.5\n"
        "    if mask is not None:\n"
        "        scores = scores * mask\n"
        "    return torch.softmax(scores, -1) @ v\n"
    )
    assert failing(audited(text)) == {"masked keys"}


@pytest.mark.slow
def test_the_convention_of_a_mask_is_found_by_trial():
    assert "true-shows" in audited(CONVENTIONS, "MultiHeadedAttention")["roles"]["mask"]
    assert "true-hides" in audited(CONVENTIONS, "scaled_dot_product_attention")["roles"]["mask"]


def test_the_caller_settles_what_it_is():
    text = (
        "def attention(q, k, v):\n    return torch.softmax(q @ k.mT / q.shape[-1] ** 0.5, -1) @ v\n"
    )
    assert audited(text)["status"] == "holds"
    assert "no_mask" in names(audited(text, **{"as": "causal_attention"}))


INVERTED = """def attention(q, k, v):
    mask = torch.tril(torch.ones(q.shape[-2], q.shape[-2])).bool()
    scores = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(mask, -torch.inf)
    return torch.softmax(scores, dim=-1) @ v
"""


def test_results_that_are_never_finite_say_nothing_about_large_scores():
    found = audited(INVERTED)
    assert "finite results" in failing(found) and "maximum" not in report_on(found)


@pytest.mark.parametrize(
    "largest, known", [("x.max()", False), ("x.amax(dim, keepdim=True)", False), ("0", True)]
)
def test_a_softmax_that_subtracts_some_maximum_is_not_said_to_subtract_none(largest, known):
    text = f"def softmax(x, dim=-1):\n    e = (x - {largest}).exp()\n    return e / e.sum()\n"
    assert ("no_maximum" in names(audited(text))) == known


PART = {
    "softmax": (
        "def softmax(x, dim=-1):\n    e = x.exp()\n    return e / e.sum(dim, keepdim=True)\n",
        "no_maximum",
    ),
    "layer_norm": (
        "class LayerNorm(nn.Module):\n    def __init__(self, d):\n        super().__init__()\n"
        "        self.w = nn.Parameter(torch.ones(d))\n    def forward(self, x):\n"
        "        m, v = x.mean(-1, keepdim=True), x.var(-1, keepdim=True)\n"
        "        return self.w * (x - m) / (v + 1e-5).sqrt()\n",
        "unbiased_variance",
    ),
    "rotary": (
        "def rotate(x, positions):\n    d = x.shape[-1]\n"
        "    rates = 10000 ** (-torch.arange(0, d, 2, dtype=x.dtype) / d)\n"
        "    a = (positions[:, None] * rates).repeat_interleave(2, -1)\n"
        "    one, other = x.chunk(2, -1)\n"
        "    return x * a.cos() + torch.cat((-other, one), -1) * a.sin()\n",
        "angles_of_neighbours",
    ),
    "cross_entropy": (
        "def cross_entropy(logits, targets):\n"
        "    return -logits.log_softmax(-1).gather(-1, targets[..., None]).sum()\n",
        "summed",
    ),
    "sinusoidal": (
        "def sinusoidal_positions(n, d):\n    i = torch.arange(0, d, 2).double()\n"
        "    a = torch.arange(n)[:, None] / 10000 ** (2 * i / d)\n"
        "    return torch.stack((a.sin(), a.cos()), -1).flatten(1)\n",
        "exponent_doubled",
    ),
}  # fmt: skip


@pytest.mark.parametrize("part", PART)
def test_mistakes_in_other_parts_are_named(part):
    text, mistake = PART[part]
    assert mistake in names(audited(text))


def test_both_conventions_of_rotary_positions_are_right():
    text = (
        "def rotate(x, positions):\n    d = x.shape[-1]\n"
        "    rates = 10000 ** (-torch.arange(0, d, 2, dtype=x.dtype) / d)\n"
        "    a = positions[:, None] * rates\n    one, other = x[..., ::2], x[..., 1::2]\n"
        "    both = (one * a.cos() - other * a.sin(), other * a.cos() + one * a.sin())\n"
        "    return torch.stack(both, -1).flatten(-2)\n"
    )
    found = audited(text)
    assert found["status"] == "holds" and found["roles"] == {"convention": "pairs of neighbours"}


@pytest.mark.slow
def test_code_that_cannot_be_run_is_reported_with_its_line():
    text = "import torch\n\n\ndef attention(q, k, v):\n    return q @ missing @ v\n"
    found = audited(text)
    assert found["status"] == "not run"
    assert "each raises an error: line 5 raises NameError" in found["why"]
    assert found["at"]["line"] == 5


def test_a_failed_import_is_the_reason_why_code_cannot_run():
    text = (
        "import torch\nfrom no_such_package import mix\n\n\n"
        "def attention(q, k, v):\n    return mix(q, k, v)\n"
    )
    found = audited(text)
    assert found["status"] == "not run"
    assert "line 2: No module named 'no_such_package'" in found["why"]


@pytest.mark.slow
def test_a_syntax_error_is_reported_with_its_line():
    request = {"text": "x = 1\ndef f(:\n", "filename": "a.py", "name": "", "wishes": {}}
    found = answer(request) | {"file": "a.py"}
    assert "a.py could not be run: line 2 has a syntax error" in report(found)


@pytest.mark.slow
def test_code_that_needs_a_mask_is_said_to_need_it():
    text = (
        "def attention(q, k, v, mask):\n"
        "    scores = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(mask == 0, -1e9)\n"
        "    return torch.softmax(scores, -1) @ v\n"
    )
    assert "a call needs `mask`" in audited(text)["why"]


@pytest.mark.slow
def test_the_report_begins_with_the_verdict_and_ends_with_its_status():
    found = {"file": "code.py", "problem": "", "audits": [wrong("scaled_by_heads")]}
    lines = report(found).split("\n")
    assert lines[0].startswith("code.py:5 MultiHeadAttention: WRONG, 1 of ")
    place = line_with("scaled_by_heads", "num_heads**-0.5")
    assert any(line.startswith(f"  Look at code.py:{place} ") for line in lines)
    assert status_of(found) == 1
    (command,) = annotations(found)
    start = f"::error file=code.py,line={place},title=MultiHeadAttention%3A equality"
    assert command.startswith(start)
    assert json.loads(json.dumps(found)) == found


def test_a_file_without_attention_has_status_2():
    found = answer({"text": "x = 1\n", "filename": "a.py", "name": "", "wishes": {}})
    assert status_of(found) == 2
    assert "no class or function that looks like attention" in report(found | {"file": "a.py"})


def test_files_in_which_nothing_ran_are_skipped_on_request(monkeypatch, capsys):
    ran, not_run = {"status": "holds", "name": "a"}, {"status": "not run", "name": "b"}
    found = [
        {"file": "a.py", "problem": "", "audits": [not_run, ran]},
        {"file": "b.py", "problem": "it failed", "audits": [not_run]},
    ]
    monkeypatch.setattr("tensorgrade.audit.run.audits", lambda *_: iter(found))
    with pytest.raises(typer.Exit) as ended:
        audit_command(["a.py", "b.py"], skip_others=True, as_json=True)
    assert ended.value.exit_code == 0
    assert json.loads(capsys.readouterr().out) == found[0] | {"audits": [ran]}


def test_the_decorator_fails_with_the_report():
    @audit.attention
    def returns_wrong_attention():
        return attention_without_scale

    with pytest.raises(AssertionError, match="not divided by sqrt"):
        returns_wrong_attention()


def attention_without_scale(q, k, v):
    """Wrong on purpose."""
    return (q @ k.mT).softmax(-1) @ v


@pytest.mark.slow
@pytest.mark.parametrize(
    "name, table, role",
    [
        ("n_head", CONSTRUCTOR, "heads"),
        ("num_key_value_heads", CONSTRUCTOR, "kv_heads"),
        ("hidden_size", CONSTRUCTOR, "width"),
        ("block_size", CONSTRUCTOR, "context"),
        ("attn_pdrop", CONSTRUCTOR, "dropout"),
        ("encoder_hidden_states", CALL, "context"),
        ("key_padding_mask", CALL, "padding"),
        ("past_key_values", CALL, "cache"),
        ("frobnicate", CALL, ""),
    ],
)
def test_roles_are_inferred_from_names(name, table, role):
    assert role_of(name, table) == role


def test_a_target_is_a_file_or_a_module():
    assert (
        asked_for(f"{ROOT}/solutions/ch3_causal_attention.py:CausalAttention").name
        == "CausalAttention"
    )
    assert asked_for("torch.nn.modules.activation:MultiheadAttention").path.name == "activation.py"
    with pytest.raises(CourseError, match="no file or module"):
        asked_for("no_such_module:Attention")
    with pytest.raises(CourseError, match="is a folder"):
        asked_for(str(ROOT))
