"""Someone who audits attention code that belongs to no course."""

import pytest

from ..support import cli, run_pytest

pytestmark = pytest.mark.slow
MODEL = '''"""A model's attention."""

import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention


class CausalAttention(nn.Module):
    def __init__(self, width, num_heads, dropout=0.1):
        super().__init__()
        self.num_heads = num_heads
        self.dropout = dropout
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x):
        batch, tokens, width = x.shape
        parts = self.qkv(x).view(batch, tokens, 3 * self.num_heads, -1).transpose(1, 2)
        query, key, value = parts.chunk(3, dim=1)
        rate = self.dropout if self.training else 0.0
        mixed = scaled_dot_product_attention(
            query, key, value, dropout_p=rate, is_causal=rate == 0.0
        )
        return self.out(mixed.transpose(1, 2).reshape(batch, tokens, width))
'''
TEST = """from model import CausalAttention
from tensorgrade import audit


@audit.attention
def test_attention():
    return CausalAttention
"""


def test_someone_audits_code(tmp_path):
    """Audit a file whose mask is skipped while dropout is active, by a command and an own test.

    Correct the line and audit again. tests/audit has the options of the command.
    """
    model = tmp_path / "model.py"
    model.write_text(MODEL, encoding="utf-8")
    wrong = cli("audit", "model.py", cwd=tmp_path)
    assert wrong.returncode == 1
    assert "CausalAttention: WRONG" in wrong.stdout and "has no effect in training" in wrong.stdout
    (tmp_path / "test_model.py").write_text(TEST, encoding="utf-8")
    tested = run_pytest("test_model.py", cwd=tmp_path, PYTHONPATH=str(tmp_path))
    assert tested.returncode == 1 and "has no effect in training" in tested.stdout

    model.write_text(MODEL.replace("is_causal=rate == 0.0", "is_causal=True"), encoding="utf-8")
    right = cli("audit", "model.py", cwd=tmp_path)
    assert right.returncode == 0 and "CausalAttention" in right.stdout
    assert "WRONG" not in right.stdout
    assert run_pytest("test_model.py", cwd=tmp_path, PYTHONPATH=str(tmp_path)).returncode == 0
    (tmp_path / "other.py").write_text("def mean(x):\n    return sum(x) / len(x)\n", "utf-8")
    assert cli("audit", "other.py", cwd=tmp_path).returncode == 2, "there is nothing to audit"
