"""`tensorgrade audit`: wrong code is found, named and located; right code raises no alarm."""

import ast
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from tensorgrade.audit.run import audits

from ..support import ROOT, cli, some

HEADER = "import torch\nfrom torch import nn\n\n\n"
CONVENTIONS = Path(__file__).parent / "conventions.py"
NAMES = [
    node.name
    for node in ast.parse(CONVENTIONS.read_text(encoding="utf-8")).body
    if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and node.name != "ModelArgs"
]
CAUSAL = """
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
        parts = self.qkv(x).chunk(3, -1)
        q, k, v = (t.view(b, n, self.num_heads, -1).transpose(1, 2) for t in parts)
        scores = q @ k.mT
        if True:
            scores = scores.masked_fill(self.mask[:n, :n], -torch.inf)
        w = torch.softmax(scores / self.head_dim**0.5, dim=-1)
        weights = self.dropout(w)
        return self.out_proj((weights @ v).transpose(1, 2).flatten(2))
"""
MATRICES = """
class SelfAttention(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.q = nn.Parameter(torch.rand(d_in, d_out))
        self.k = torch.rand(d_in, d_out)
        self.v = nn.Parameter(torch.rand(d_in, d_out))
    def forward(self, x):
        q, k, v = x @ self.q, x @ self.k, x @ self.v
        return torch.softmax(q @ k.mT / k.shape[-1] ** 0.5, -1) @ v
"""
NORM = """
class LayerNorm(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.w = nn.Parameter(torch.ones(d))
    def forward(self, x):
        m, v = x.mean(-1, keepdim=True), x.var(-1, keepdim=True)
        return self.w * (x - m) / (v + 1e-5).sqrt()
"""
ROTATE = """
def rotate(x, positions):
    d = x.shape[-1]
    rates = 10000 ** (-torch.arange(0, d, 2, dtype=x.dtype) / d)
    a = positions[:, None] * rates
    one, other = x[..., ::2], x[..., 1::2]
    both = (one * a.cos() - other * a.sin(), other * a.cos() + one * a.sin())
    return torch.stack(both, -1).flatten(-2)
"""
HALVES = """
    a = (positions[:, None] * rates).repeat_interleave(2, -1)
    one, other = x.chunk(2, -1)
    return x * a.cos() + torch.cat((-other, one), -1) * a.sin()
"""
MULTIPLIED = """
def attention(q, k, v, mask=None):
    scores = q @ k.mT / q.shape[-1] ** 0.5
    if mask is not None:
        scores = scores * mask
    return torch.softmax(scores, -1) @ v
"""
SOFTMAX = """
def softmax(x, dim=-1):
    e = (x - x.max()).exp()
    return e / e.sum()
"""
OUTSIDE = """
def attention(q, k, v, mask):
    scores = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(mask == 0, -1e9)
    return torch.softmax(scores, -1) @ v
"""
FORMULA = "q.shape[-1] ** 0.5"


def function(result: str) -> str:
    """Return a function with one statement."""
    return f"def attention(q, k, v):\n    return {result}\n"


def causal(*edits: tuple[str, str]) -> str:
    """Return causal attention with changes; each place is there once."""
    text = CAUSAL
    for old, new in edits:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


def wrong(name: str) -> str:
    """Return a file of wrong code."""
    return (ROOT / "tests" / "answers" / "definitions" / f"{name}.py").read_text(encoding="utf-8")


@dataclass(frozen=True)
class Case:
    """A text and what is true of its audit.

    fails: relations that fail; exact: no others do. names: the known mistakes, all of them; None
    if they do not matter. code: on the line that is shown. why: why it was not run.
    """

    text: str
    status: str = "fails"
    fails: tuple[str, ...] = ()
    exact: bool = False
    names: tuple[str, ...] | None = None
    code: str = ""
    why: str = ""


def named(text: str, name: str, code: str = "") -> Case:
    """Return wrong code with one known mistake."""
    return Case(text, names=(name,), code=code)


CASES = {
    "right": Case(CAUSAL, "holds"),
    "a mask that it needs": Case(OUTSIDE, "holds"),
    "no mask without a cache": Case(
        wrong("no_mask_without_a_cache"), fails=("causality", "cache equals no cache")
    ),
    "two mistakes": Case(
        causal(("if True", "if not self.training"), ("self.head_dim**0.5", "self.num_heads**0.5")),
        fails=("causality", "equality with the formula"),
        exact=True,
        names=("mask_only_in_evaluation", "scaled_by_sqrt_heads"),
        code="if not self.training",
    ),
    "rescaled always": named(
        causal(("= self.dropout(w)", "= (1 - self.dropout.p) * self.dropout(w)")),
        "dropout_always_on",
        "= (1 -",
    ),
    "not registered": named(MATRICES, "not_registered", "self.k = torch.rand(d_in, d_out)"),
    "detached": named(causal(("weights @ v", "weights.detach() @ v.detach()")), "detached"),
    "one size": named(causal(("q @ k.mT", "q @ k.mT * (1 if n < 100 else 2)")), "special_case"),
    "other in training": Case(
        causal(("k.mT", "k.mT * (2 if self.training else 1)")),
        fails=("dropout only in training",),
    ),
    "changed in place": Case(
        causal(("self.dropout(w)", "self.dropout(w).mul_(1)")), fails=("gradients",), exact=True
    ),
    "masked by a product": Case(MULTIPLIED, fails=("masked keys",), exact=True),
    "no known mistake and no line": Case(
        function("torch.softmax((q @ k.mT).abs().square(), -1) @ v.abs().square()"), names=()
    ),
    "softmax": named(SOFTMAX, "softmax_over_all"),
    "layer norm": named(NORM, "unbiased_variance"),
    "rotary": named(ROTATE[: ROTATE.index("    a =")] + HALVES[1:], "angles_of_other_pairs"),
    "a missing name": Case(
        function("q @ missing @ v"),
        "not run",
        code="missing",
        why="runs: line 6 raises NameError",
    ),
    "an unknown argument": Case(
        OUTSIDE.replace("k, v, mask", "k, v, gizmo"), "not run", why="the call needs `gizmo`"
    ),
}
QUICK = ["right", "masked by a product", "softmax", "rotary", "a missing name"]
CHOSEN = dict.fromkeys([*QUICK, *some(CASES, 2)])


def audited(path: Path, text: str, **hints: str) -> dict:
    """Return the audit of the one definition of a text; in this process."""
    path.write_text(HEADER + text, encoding="utf-8")
    (found,) = next(audits([str(path)], trust=True, **hints))["audits"]
    return found


def failing(found: dict) -> set[str]:
    """Return the names of the relations that fail."""
    return {one["name"] for one in found.get("relations", ()) if one["status"] == "fails"}


def names(found: dict) -> list[str]:
    """Return the names of the known mistakes."""
    return [one["name"] for one in found["mistakes"] if one["name"]]


@pytest.mark.parametrize("name", CHOSEN)
def test_an_audit_says_what_is_true(tmp_path, name):
    case = CASES[name]
    found = audited(tmp_path / "code.py", case.text)
    assert found["status"] == case.status, found
    assert failing(found) == set(case.fails) if case.exact else failing(found) >= set(case.fails)
    if case.names is not None:
        assert sorted(names(found)) == sorted(case.names), found
        assert bool(found["mistakes"]) == bool(case.names), found
    if case.code:
        at = found["mistakes"][0]
        assert case.code in at["code"], found
        assert case.code in (HEADER + case.text).split("\n")[at["line"] - 1]
    assert case.why in found.get("why", ""), found


def test_correct_code_in_any_convention_raises_no_alarm():
    chosen = some(NAMES, 3)
    targets = [f"{CONVENTIONS}:{name}" for name in chosen]
    found = {one["name"]: one for file in audits(targets, trust=True) for one in file["audits"]}
    assert list(found) == chosen
    assert {name: (one["status"], names(one)) for name, one in found.items()} == dict.fromkeys(
        chosen, ("holds", [])
    )


def test_a_report_shows_the_line_and_the_status_says_what_came_out(tmp_path):
    path = tmp_path / "code.py"
    path.write_text(HEADER + wrong("scaled_by_heads"), encoding="utf-8")
    lines = path.read_text(encoding="utf-8").split("\n")
    at = next(number for number, line in enumerate(lines, 1) if "num_heads**-0.5" in line)
    done = cli("audit", "--trust", "--github", path)
    assert done.returncode == 1 and "MultiHeadAttention: WRONG, 1 of " in done.stdout
    assert f"code.py:{at} " in done.stdout and f"code.py,line={at}" in done.stdout
    path.write_text("x = 1\ndef f(:\n", encoding="utf-8")
    (tmp_path / "linked.py").symlink_to(path)
    for target, said in (
        (path, "line 2 has a syntax error"),
        ("no_such_module:Attention", "no Python file"),
        (tmp_path / "linked.py", "a link"),
    ):
        done = cli("audit", "--trust", target)
        assert done.returncode == 2 and said in " ".join((done.stdout + done.stderr).split())


def test_the_caller_can_say_what_it_is_and_what_it_needs(tmp_path):
    path = tmp_path / "code.py"
    text = function(f"torch.softmax(q @ k.mT / {FORMULA}, -1) @ v")
    assert audited(path, text)["status"] == "holds"
    assert names(audited(path, text, kind="causal_attention")) == ["no_mask"]
    assert "masked keys" in failing(audited(path, OUTSIDE, mask="true-hides"))
    text = OUTSIDE.replace("v, mask", "v, gizmo").replace("(mask", "(torch.tensor(gizmo['a'])")
    path.write_text(HEADER + text, encoding="utf-8")
    values = tmp_path / "values.json"
    values.write_text('{"gizmo": {"a": 1}}', encoding="utf-8")
    done = cli("audit", "--trust", "--json", "--arguments", values, path)
    assert done.returncode == 0 and '"holds"' in done.stdout, done


@pytest.mark.slow
def test_a_hook_says_in_one_line_what_it_could_not_run(tmp_path):
    """Newlines of audited code start no line of a log."""
    told = f"{HEADER}class Attention(nn.Module):\n    def __init__(self):\n        raise "
    told += "ValueError('a\\r::error::b')\n    def forward(self, x):\n        return x\n"
    texts = {"a": told, "b": CASES["softmax"].text, "models": "class User:\n    name = 1\n"}
    for name, text in texts.items():
        (tmp_path / f"{name}.py").write_text(HEADER + text, encoding="utf-8")
    words = ("audit", "--trust", "--skip-others")
    wrong = cli(*words, tmp_path / "b.py")
    assert wrong.returncode == 1 and "softmax: WRONG" in wrong.stdout
    done = cli(*words, tmp_path / "a.py", tmp_path / "models.py")
    (line,) = done.stdout.splitlines()
    assert done.returncode == 0 and "Attention: could not be run: " in line and "::error" in line
    assert cli(*words, "--strict", tmp_path / "a.py").returncode == 2


@pytest.mark.proof
def test_the_page_shows_what_an_audit_of_its_findings_prints(tmp_path):
    page = (ROOT / "docs" / "explanation" / "audit.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```(\w+)\n(.*?)```", page, re.DOTALL)
    text = "\n\n".join(body for kind, body in blocks if kind == "python")
    shown = [body.rstrip() for kind, body in blocks if kind == "text"]
    (tmp_path / "five.py").write_text(text, encoding="utf-8")
    printed = cli("audit", "--trust", "five.py", cwd=tmp_path).stdout
    left_out = r"\n(  [✓–✗]|  Taken).*"
    assert [re.sub(left_out, "", one) for one in printed.rstrip().split("\n\n")] == shown
