"""The parts that nbgrader loads: points and cards from verdicts."""

import subprocess
import sys

import pytest

from tensorgrade.attempts.verdict import Verdict
from tensorgrade.nbgrader_plugin.autograding import graded_card
from tensorgrade.views.words import STATES

from .scratch import CH1


def verdict(points: float, most: float = 10, **more) -> dict:
    told = {"status": "partial", "mistakes": [], "message": "It <b>sums</b> the columns."} | more
    return Verdict("ada", CH1, "softmax", points, most, **told).row()


def test_every_status_has_a_card_in_words():
    for status, (mark, words) in STATES.items():
        card = graded_card(verdict(2.5, status=status, isolation="sandbox"), 2.5, 10)
        assert f"{mark} {words}" in card and "2.5 of 10 points" in card
        assert "&lt;b&gt;sums" in card and "<script" not in card
        assert "without isolation" not in card
    assert "without isolation" in graded_card(verdict(1, isolation="none"), 1, 10)


@pytest.mark.slow
def test_nbgrader_itself_never_imports_torch():
    """It may run in a Jupyter server, and the grading process needs torch only once."""
    code = "import tensorgrade.nbgrader_plugin.autograding, sys; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
