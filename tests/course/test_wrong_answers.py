"""Wrong programs that a fixed grid of sizes let pass: every one loses points, and gets no error."""

import runpy
from pathlib import Path

import pytest

from tensorgrade.recognition.mistakes import make, mistake
from tensorgrade.sources.submitted_files import SubmittedFiles

from ..sampling import first_of_each

FILES = sorted(Path(__file__).parents[1].glob("wrong_answers/*.py"))
WRONG = [
    (path.stem, exercise, name, edits)
    for path in FILES
    for exercise, programs in runpy.run_path(str(path))["WRONG"].items()
    for name, edits in programs.items()
]
ONE = {chapter: (exercise, edits) for chapter, exercise, _, edits in WRONG}


@pytest.mark.slow
@pytest.mark.parametrize("chapter", first_of_each(ONE, type))
def test_an_exercise_judged_alone_is_judged_as_with_the_others(project, grader, judged, chapter):
    """The assumptions of the tests below, and of those on right edits."""
    exercise, edits = ONE[chapter]
    source = project.solution(chapter).read_text(encoding="utf-8")
    wrong = make(source, exercise, [mistake("wrong", "", {exercise: tuple(edits)})])
    beside = project.beside(chapter)
    submitted_files = SubmittedFiles(
        "somebody", chapter, f"{chapter}.py", wrong.encode(), beside=beside
    )
    for verdict in grader.grade(submitted_files):
        assert judged(chapter, verdict.exercise, wrong) == verdict
        assert judged(chapter, verdict.exercise, wrong, told=False).points == verdict.points
        assert (verdict.points < verdict.max_points) == (verdict.exercise == exercise)


@pytest.mark.slow
@pytest.mark.parametrize(
    "chapter, exercise, name, edits",
    first_of_each(WRONG, lambda case: case[:2]),
    ids=lambda value: value if type(value) is str else "",
)
def test_wrong_answer_loses_points(project, judged, chapter, exercise, name, edits):
    source = project.solution(chapter).read_text(encoding="utf-8")
    wrong = make(source, exercise, [mistake(name, "", {exercise: tuple(edits)})])
    verdict = judged(chapter, exercise, wrong, told=False)
    assert verdict.points < verdict.max_points, verdict
    assert verdict.status in ("partial", "failed"), verdict


@pytest.mark.slow
@pytest.mark.parametrize(
    "asked, wrong",
    [
        ("temperature: float = 1.0", "temperature: float = 0.0"),
        ("temperature: float = 1.0", "temperature: float = 2.0"),
        ("top_k: int | None = None", "top_k: int | None = 1"),
    ],
)
def test_another_default_loses_points(project, judged, asked, wrong):
    source = project.solution("ch6_small_gpt").read_text(encoding="utf-8")
    assert source.count(asked) == 1
    verdict = judged("ch6_small_gpt", "generate", source.replace(asked, wrong), told=False)
    assert 0 < verdict.points < verdict.max_points, verdict
