"""Grading on a machine with a GPU, on the GPU and beside it. Skipped where there is none."""

import pytest
import torch

from ..support import run_pytest

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU"),
]


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_solutions_have_full_points_on_a_machine_with_a_gpu(device):
    ran = run_pytest(
        "graders/", "--attempt", "solutions", "--device", device, "--isolation", "none", timeout=500
    )
    assert ran.returncode == 0 and "439 of 439 points" in ran.stdout, ran.stdout[-2000:]
