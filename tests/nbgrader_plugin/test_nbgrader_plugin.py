"""The parts that nbgrader loads: points and cards from verdicts."""

import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from tensorgrade.attempts.verdict import Verdict
from tensorgrade.nbgrader_plugin import autograding
from tensorgrade.nbgrader_plugin.autograding import STATES, graded_card
from tensorgrade.nbgrader_plugin.feedback import add_points_breakdown, clean_markdown

ROOT = Path(__file__).parents[2]
CH1 = "ch1_simplified_attention"
RELEASED = ROOT / "release" / CH1 / f"{CH1}.ipynb"


def verdict(points: float, most: float = 10, **more) -> dict:
    told = {"status": "partial", "mistakes": [], "message": "It sums the columns."} | more
    return Verdict("ada", CH1, "softmax", points, most, **told).row()


def test_a_cell_never_gets_more_than_its_points():
    for points, most, cell, expected in (
        (11, 10, 10, 10),
        (-1, 10, 10, 0),
        (5, 10, 20, 10),
        (10, 10, 0, 0),
        (0, 0, 10, 0),
    ):
        assert autograding.points_of(verdict(points, most), cell) == expected
    assert autograding.points_of(None, 10) == 0


def graded_cell(name: str = "softmax"):
    nb = nbformat.read(RELEASED, as_version=4)
    return next(cell for cell in nb.cells if cell.id == f"points-{name}")


def test_a_verdict_becomes_the_only_output_and_nbgrader_reads_it():
    from nbgrader.utils import determine_grade

    cell = graded_cell()
    cell.outputs = [
        nbformat.v4.new_output("execute_result", {"text/plain": "10"}),
        nbformat.v4.new_output("stream", name="stderr", text="oops"),
    ]
    autograding.HiddenGraders().write(cell, [verdict(2.5)])
    assert determine_grade(cell) == (2.5, 10) and len(cell.outputs) == 1
    assert "2.5 of 10" in cell.outputs[0].data["text/html"]


def test_every_status_has_a_card_in_words():
    for status, (words, _) in STATES.items():
        card = graded_card(verdict(1, status=status, message="It <b>sums</b>."), 1, 10)
        assert words in card and "1 of 10 points" in card
        assert "&lt;b&gt;sums" in card and "<script" not in card
        assert "without isolation" not in card
    assert "without isolation" in graded_card(verdict(1, isolation="none"), 1, 10)


@pytest.mark.slow
def test_nbgrader_itself_never_imports_torch():
    """It may run in a Jupyter server, and the grading process needs torch only once."""
    code = "import tensorgrade.nbgrader_plugin.autograding, sys; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


@pytest.mark.parametrize(
    "source, html",
    [
        ("![a](https://x.org/a.png)", '<p><img alt="a" /></p>'),
        ("![a](//x.org/a.png)", '<p><img alt="a" /></p>'),
        ("![](data:image/png;base64,aG)", '<p><img src="data:image/png;base64,aG" alt="" /></p>'),
        ('<div id="score">5</div>', "<p>&lt;div id=&quot;score&quot;&gt;5&lt;/div&gt;</p>"),
        ("[a](javascript:alert(1))", "<p>[a](javascript:alert(1))</p>"),
        ("$a < b$", "<p><math><mrow><mi>a</mi><mo>&lt;</mo><mi>b</mi></mrow></math></p>"),
        ("x" * 20_000, f"<pre>{'x' * 20_000}</pre>"),
    ],
)
def test_learners_text_shows_no_picture_from_elsewhere_and_imitates_nothing(source, html):
    assert clean_markdown({}, source).strip() == html


@pytest.mark.parametrize(
    "score, late, said",
    [
        (5.0, 0.0, ""),
        (5.0, 2.0, "Graded: 5 of 10 points. Late penalty: 1 point less. What counts: 4 of 10"),
        (8.0, 0.0, "Graded: 5 of 10 points. Changed to 8. What counts: 8 of 10 points."),
    ],
)
def test_a_card_shows_points_before_and_after_a_penalty_or_a_change(score, late, said):
    cell = graded_cell()
    autograding.HiddenGraders().write(cell, [verdict(5)])
    cell.metadata.nbgrader["score"] = score
    before = cell.outputs[0].data["text/html"]
    add_points_breakdown(cell, {"score": 10.0 - late, "late_penalty": late})
    added = cell.outputs[0].data["text/html"].removeprefix(before)
    assert said in added and bool(said) == bool(added)
