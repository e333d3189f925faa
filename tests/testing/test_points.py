"""Points are next to the checks; the settings may scale them, and each check keeps its share."""

import shutil

import pytest

from ..support import ROOT, Judge

CHAPTER = "ch1_simplified_attention"


@pytest.mark.slow
def test_points_in_the_settings_scale_those_of_the_checks(tmp_path):
    """Softmax is worth 12 points, and its checks say 10; only one of 1.5 notices the mistake."""
    for name in ("solutions", "graders", "exercises"):
        (tmp_path / name).symlink_to(ROOT / name)
    config = (ROOT / "course_config.py").read_text(encoding="utf-8")
    text = config.replace("points={}", 'points={"softmax": 12}')
    (tmp_path / "course_config.py").write_text(text, encoding="utf-8")
    shutil.copy(ROOT / "nbgrader_config.py", tmp_path)
    right = (ROOT / "solutions" / f"{CHAPTER}.py").read_text(encoding="utf-8")
    wrong = right.replace("x - x.amax(dim=dim, keepdim=True)", "x")
    judge = Judge(tmp_path)
    try:
        found = judge(CHAPTER, "softmax", right, explain=False)
        assert (found.points, found.max_points, found.status) == (12, 12, "passed")
        lost = judge(CHAPTER, "softmax", wrong, explain=False)
        assert (lost.points, lost.max_points, lost.status) == (10.2, 12, "partial")
        assert judge(CHAPTER, "softmax_naive", right, explain=False).points == 5
    finally:
        judge.close()
