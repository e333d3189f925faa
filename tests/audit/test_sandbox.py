"""The audit runs code in a sandboxed child, with the modules of its package."""

import pytest

from tensorgrade.audit.run import audits

from ..support import needs

pytestmark = [pytest.mark.slow, needs("the sandbox")]
ATTENTION = """
import os
import torch
from .helper import scores
{line}

def attention(q, k, v):
    return torch.softmax(scores(q, k) / q.shape[-1] ** 0.5, -1) @ v
"""


def audited(folder, line: str) -> dict:
    (folder / "__init__.py").touch()
    (folder / "helper.py").write_text("def scores(q, k):\n    return q @ k.mT\n", encoding="utf-8")
    path = folder / "code.py"
    path.write_text(ATTENTION.format(line=line), encoding="utf-8")
    (found,) = audits([str(path)], {})
    return found


def test_a_file_can_import_the_modules_of_its_package(tmp_path):
    found = audited(tmp_path, "")
    assert [one["status"] for one in found["audits"]] == ["holds"], found


def test_audited_code_cannot_write_files(tmp_path):
    audited(tmp_path, f"open({str(tmp_path / 'written')!r}, 'w')")
    assert not (tmp_path / "written").exists()


def test_code_that_ends_the_process_is_reported(tmp_path):
    found = audited(tmp_path, "os._exit(0)")
    assert found["audits"] == [] and "ended before it answered" in found["problem"]
