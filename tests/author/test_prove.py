"""`tensorgrade prove`: what mistakes cost, shared ones too, and what no check notices."""

import pytest

from ..support import Judge, cli
from .small_course import CHAPTER, LESSON, MARK, NAME, NEW, OLD, build, edit, with_a_bug

SHARED = '''MISTAKES = """
doubled 20%: The result is doubled.
    - return x * factor
    + doubled = 2 * x
    + return doubled * factor
    or 100%
    counts.get(word, 0) -> 2 * counts.get(word, 0)
# The exercises have it.
added_again: It is added.
    x * factor -> factor + x
far: Far off.
    scalde -> x
"""
'''
COSTS = {
    "scaled": {"doubled": "20%", "scaled_factor_added": "50%", "scaled_factor_ignored": "50%"},
    "word_counts": {"doubled": "100%"},
    "Shift": {},
    "scaled_2": {"doubled": "20%"},
}
DOUBLED = "import torch\ndef scaled(x, factor):\n    return 2 * x * factor\n"


@pytest.mark.slow
def test_a_proof_says_what_mistakes_cost_and_what_nothing_notices(tmp_path):
    """test_scaffolds.py proves a course without a gap."""
    root = with_a_bug(tmp_path / "small")
    shared = root / "graders/mistakes.py"
    shared.write_text(SHARED, encoding="utf-8")
    edit(root, LESSON, MARK, MARK.replace(NEW, OLD).replace("entries, factors", "factors, entries"))
    build(root)
    done = cli("prove", cwd=root)
    lines = done.stdout.splitlines()
    costs = [line.split() for line in lines if line.endswith("%")]
    assert done.returncode == 1 and f"{len(costs)} mistakes on hidden cases" in lines
    for exercise, expected in COSTS.items():
        found = {mistake: cost for name, mistake, cost in costs if name == exercise}
        assert expected.items() <= found.items() and ("doubled" in found) == ("doubled" in expected)
    assert "doubled applies in scaled, word_counts, scaled_2" in lines
    assert "scaled notices no mistake: The argument keeps its values." in lines
    gaps = [line.removeprefix("✗ ") for line in lines if line.startswith("✗ ")]
    assert [one.partition("nowhere")[0] for one in gaps] == [
        f"{shared}:9: added_again applies ",
        f"{shared}:11: far applies ",
        *(f"{side}: no check notices the bug of {NAME}" for side in ("graders", "exercises")),
    ]
    judge = Judge(root)
    found = judge(CHAPTER, "scaled", DOUBLED, explain=False)
    assert (found.mistakes, found.points) == (("doubled",), 0.8 * found.max_points)
    judge.close()
