"""The audit runs code in a sandboxed child, with the modules of its package."""

import pytest

from tensorgrade.audit.run import audits

from ..support import needs

pytestmark = [pytest.mark.slow, needs("the sandbox")]
# Relative imports, a dataclass, cosines and sines, a mask that may be None, and a cache.
MODEL = """
import os
from dataclasses import dataclass
import torch
from torch import nn
from ..helper import Base, scores
{line}

@dataclass
class ModelConfig:
    n_embd: int = 64
    n_head: int = 4
    window: int = 8

class CausalAttention(Base):
    def __init__(self, config: ModelConfig, layer_idx: int):
        super().__init__()
        self.heads, self.window = config.n_head, config.window
        self.qkv = nn.Linear(config.n_embd, 3 * config.n_embd)

    def mix(self, x, cos, sin, mask, kv_cache=None):
        parts = self.qkv(x).unflatten(-1, (3, self.heads, -1))
        q, k, v = parts.permute(2, 0, 3, 1, 4)
        s = scores(q * cos + q.roll(1, -1) * sin, k * cos + k.roll(1, -1) * sin)
        s = s.masked_fill(torch.ones_like(s).triu(1) > 0, -torch.inf)
        s = s if mask is None else s + mask
        return (torch.softmax(s, -1) @ v).transpose(1, 2).flatten(2)

    def forward(self, x, cos, sin, mask, kv_cache=None):
        return self.mix(x, cos, sin, mask, kv_cache)

class DotProductAttention(nn.Module):
    def forward(self, q, k, v):
        b, h, n, d = q.shape
        return torch.softmax(scores(q, k), -1) @ v

class InheritedAttention(Base):
    def mix(self, x):
        return torch.softmax(x @ x.mT, -1) @ x
"""
HELPER = """
from torch import nn

def scores(q, k):
    return q @ k.mT / q.shape[-1] ** 0.5

class Base(nn.Module):
    def forward(self, x):
        return self.mix(x) + self.missing
"""


def audited(folder, line: str = "", name: str = "") -> dict:
    """Return the audit of a module of a package whose own code fails."""
    (folder / "package" / "inner").mkdir(parents=True)
    (folder / "package" / "__init__.py").write_text("import no_such_package")
    (folder / "package" / "inner" / "__init__.py").touch()
    (folder / "package" / "helper.py").write_text(HELPER, encoding="utf-8")
    path = folder / "package" / "inner" / "code.py"
    path.write_text(MODEL.replace("{line}", line), encoding="utf-8")
    (found,) = audits([f"{path}{name}"])
    return found


def test_a_file_in_a_package_runs_with_its_configuration(tmp_path):
    found = {one["name"]: one for one in audited(tmp_path)["audits"]}
    assert {name: one["status"] for name, one in found.items()} == {
        "CausalAttention": "holds",
        "DotProductAttention": "holds",
    }, found
    assert found["CausalAttention"]["taken_for"].startswith("causal multi-head")
    assert "batch, heads" in found["DotProductAttention"]["taken_for"]


def test_an_error_in_an_inherited_method_shows_no_line_of_another_file(tmp_path):
    (one,) = audited(tmp_path, name=":InheritedAttention")["audits"]
    assert one["status"] == "not run" and "missing" in one["why"], one
    assert not any(mistake["line"] for mistake in one["mistakes"]), one


def test_code_that_ends_the_process_is_reported_and_cannot_write_files(tmp_path):
    written = tmp_path / "written"
    line = f"try:\n    open({str(written)!r}, 'w')\nfinally:\n    os._exit(0)"
    found = audited(tmp_path, line)
    assert not written.exists()
    assert found["audits"] == [] and "ended before it answered" in found["problem"]
