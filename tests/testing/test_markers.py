"""Collection fails for a test that does not say what it judges, or whose points do not add up."""

import shutil

import pytest

from ..support import cli, run_pytest

CHAPTER, GRADER = "ch1_first_steps", "scaled.py"
MARKER, NAME = '@exercise("scaled", points=4)\n', "def test_scaled_values"
PYTEST = "@__import__('pytest').mark"
# An edit of a grader file, and what is said.
SLIPS = [
    (MARKER, "", "has no @exercise"),
    (
        f"{NAME}(attempt)",
        f"{PYTEST}.parametrize('n', [1, 2])\n{NAME}(attempt, n)",
        "scaled add up to 9 points, not 5",
    ),
    ('exercise("scaled", points=4', 'exercise("Shift", points=4', "belong in Shift.py"),
    (f"{NAME}(attempt)", f"{NAME}(attempt, request)", "needs request"),
    (NAME, f"{PYTEST}.usefixtures('monkeypatch')\n{NAME}", "usefixtures; a test that judges"),
]


@pytest.mark.slow
def test_a_test_that_cannot_judge_an_exercise_stops_the_collection(small_course, tmp_path):
    course = shutil.copytree(small_course, tmp_path / "small")
    path = course / "graders" / CHAPTER / GRADER
    before = path.read_text(encoding="utf-8")

    def collected():
        options = ("--collect-only", "-q", "graders", "--attempt", "solutions")
        done = run_pytest(*options, cwd=course)
        return done.returncode, " ".join((done.stdout + done.stderr).split())

    for old, new, said in SLIPS:
        assert old in before
        path.write_text(before.replace(old, new, 1), encoding="utf-8")
        status, told = collected()
        assert status not in (0, 1) and said in told, (new, told)
    path.write_text(before, encoding="utf-8")
    status, told = collected()
    assert status == 0 and "::test_scaled_values" in told
    conftest = "import pytest\n\n@pytest.fixture(autouse=True)\ndef seeded():\n    pass\n"
    (course / "graders" / "conftest.py").write_text(conftest, encoding="utf-8")
    grading = ("grade", course / "solutions", "--out", tmp_path / "out", "--isolation", "none")
    done = cli(*grading, cwd=course)
    assert done.returncode != 0, done.stdout
    (course / "graders" / "conftest.py").unlink()
    path.unlink()
    assert "scaled.py is missing" in collected()[1]
