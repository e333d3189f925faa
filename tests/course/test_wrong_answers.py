"""Wrong programs that a fixed grid of sizes let pass: every one loses points, and gets no error."""

import runpy
from pathlib import Path

import pytest

from tensorgrade.author.recording.mistakes import make, mistake
from tensorgrade.sources.handins import Handin

FILES = sorted(Path(__file__).parents[1].glob("wrong_answers/*.py"))
WRONG = [
    (path.stem, exercise, name, edits)
    for path in FILES
    for exercise, programs in runpy.run_path(str(path))["WRONG"].items()
    for name, edits in programs.items()
]


@pytest.mark.parametrize(
    "chapter, exercise, name, edits", WRONG, ids=lambda value: value if type(value) is str else ""
)
def test_wrong_answer_loses_points(project, grader, chapter, exercise, name, edits):
    source = project.solution(chapter).read_text(encoding="utf-8")
    wrong = make(source, exercise, [mistake(name, "", {exercise: tuple(edits)})])
    verdicts = grader.grade(Handin("somebody", chapter, f"{chapter}.py", wrong.encode()))
    (verdict,) = [verdict for verdict in verdicts if verdict.exercise == exercise]
    assert verdict.points < verdict.max_points, verdict
    assert verdict.status in ("partial", "failed"), verdict
