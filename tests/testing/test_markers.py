"""Collection fails for a test that does not say what it judges, or whose shares do not add up."""

import re
import shutil
from pathlib import Path

import pytest

from tensorgrade.course import CourseError
from tensorgrade.testing.collected import CollectedTests

from ..commands import ROOT, run_pytest

CHAPTER = "ch1_simplified_attention"


@pytest.fixture
def graders(tmp_path):
    """A course of one chapter, whose grader files a test may spoil."""
    config = (ROOT / "course_config.py").read_text(encoding="utf-8")
    config = re.sub(r"\n    beside=.*", "", config)
    (tmp_path / "course_config.py").write_text(
        re.sub(r"chapters=\(.*?\n    \)", f'chapters=("{CHAPTER}",)', config, flags=re.DOTALL)
    )
    (tmp_path / "solutions").mkdir()
    shutil.copy(ROOT / "solutions" / f"{CHAPTER}.py", tmp_path / "solutions")
    shutil.copytree(ROOT / "graders", tmp_path / "graders", ignore=shutil.ignore_patterns("refer*"))
    return tmp_path / "graders"


def collect(graders: Path, old: str, new: str) -> str:
    path = graders / CHAPTER / "attention_scores.py"
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    run = run_pytest("--collect-only", "-q", graders, cwd=graders.parent)
    return f"{run.returncode} {run.stdout} {run.stderr}"


@pytest.mark.slow
def test_a_test_without_a_marker(graders):
    said = collect(graders, '@exercise("attention_scores", points=3.5)\n', "")
    assert said.startswith("4") and "has no @exercise" in said


@pytest.mark.slow
def test_points_that_are_not_said_in_plain_numbers(graders):
    said = collect(graders, "points=3.5", "points=7 / 2")
    assert "attention_scores.py:" in said and "write the marker as" in said


@pytest.mark.slow
def test_shares_that_pytest_counts_otherwise(graders):
    """A test that runs twice would be worth twice its points."""
    said = collect(
        graders,
        "def test_attention_scores_values(attempt):",
        "@__import__('pytest').mark.parametrize('n', [1, 2])\n"
        "def test_attention_scores_values(attempt, n):",
    )
    assert said.startswith("4") and "attention_scores add up to 8.5 points, not 5" in said


@pytest.mark.parametrize(
    "marker, parameter, needed",
    [
        ("", ", monkeypatch", "monkeypatch"),
        ("", ", request", "request"),
        ("usefixtures('monkeypatch')", "", "monkeypatch, usefixtures"),
        ("skipif(True, reason='not today')", "", "skipif"),
        ("parametrize('n', [1], indirect=True)", ", n", "indirect"),
    ],
)
def test_a_test_that_needs_more_than_the_attempt(graders, capsys, marker, parameter, needed):
    path, plain = graders / CHAPTER / "attention_scores.py", "def test_attention_scores_values"
    text = path.read_text(encoding="utf-8")
    marked = f"@__import__('pytest').mark.{marker}\n{plain}" if marker else plain
    path.write_text(text.replace(f"{plain}(attempt", f"{marked}(attempt{parameter}"), "utf-8")
    with pytest.raises(CourseError, match="USAGE_ERROR"):
        CollectedTests(graders)
    assert (
        f" needs {needed}; a test that judges an exercise can only take" in capsys.readouterr().err
    )


def test_a_fixture_that_all_tests_would_use(graders, capsys):
    """Under pytest too, unless plugins of other packages are there, which have such fixtures."""
    conftest = "import pytest\n\n@pytest.fixture(autouse=True)\ndef seeded():\n    pass\n"
    (graders / "conftest.py").write_text(conftest, encoding="utf-8")
    with pytest.raises(CourseError):
        CollectedTests(graders)
    assert "needs seeded; a test that judges" in capsys.readouterr().err


def test_values_of_parametrize_belong_to_the_test(graders):
    path = graders / CHAPTER / "attention_scores.py"
    more = """
@exercise("attention_scores", points=0)
@__import__("pytest").mark.parametrize("n", [1, 2])
def test_more(attempt, n):
    pass
"""
    path.write_text(path.read_text(encoding="utf-8") + more, encoding="utf-8")
    tests = CollectedTests(graders).of(CHAPTER, "attention_scores")
    assert {test.name: test.values for test in tests[-2:]} == {
        "test_more[1]": {"n": 1},
        "test_more[2]": {"n": 2},
    }


@pytest.mark.slow
def test_another_files_exercise(graders):
    said = collect(
        graders, 'exercise("attention_scores", points=3.5', 'exercise("softmax", points=3.5'
    )
    assert "judges softmax; the tests of that exercise belong in softmax.py" in said


@pytest.mark.slow
def test_an_exercise_without_points(graders):
    path = graders / CHAPTER / "attention_scores.py"
    text = re.sub(r"points=[\d.]+", "points=0", path.read_text(encoding="utf-8"))
    path.write_text(text, encoding="utf-8")
    assert "no test of attention_scores is worth any points" in collect(graders, "def ", "def ")


@pytest.mark.slow
def test_as_it_is_it_collects_its_chapter_and_no_learners_own_test(graders):
    said = collect(graders, "def ", "def ")
    assert said.startswith("0") and "::test_attention_scores_values" in said
    assert "on_the_sentence" not in said and CHAPTER.replace("1", "2") not in said


@pytest.mark.slow
def test_points_by_the_settings_scale_every_test(graders):
    from tensorgrade.course_sources import load_course

    config = graders.parent / "course_config.py"
    text = config.read_text(encoding="utf-8")
    config.write_text(text.replace("points={}", 'points={"attention_scores": 12}'))
    exercise = load_course(graders).chapter(CHAPTER).exercise("attention_scores")
    assert (exercise.points, exercise.shares, exercise.worth(3.5)) == (12, 5, 8.4)
    assert collect(graders, "def ", "def ").startswith("0")


@pytest.mark.parametrize(
    "spoil, said",
    [
        (lambda g: (g / CHAPTER / "softmax.py").unlink(), "softmax.py is missing"),
        (lambda g: (g / CHAPTER / "other.py").write_text(""), "other.py judges an exercise that"),
        (lambda g: (g.parent / "solutions" / f"{CHAPTER}.py").unlink(), "is missing"),
    ],
)
def test_files_that_do_not_fit_are_reported(graders, spoil, said):
    from tensorgrade.course import CourseError
    from tensorgrade.course_sources import load_course

    spoil(graders)
    with pytest.raises(CourseError, match=said):
        load_course(graders)
