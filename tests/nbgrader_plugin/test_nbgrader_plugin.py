"""The parts that nbgrader loads: points and cards from verdicts, scripts made into notebooks."""

import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from tensorgrade.attempts.setup import Setup
from tensorgrade.attempts.verdict import Verdict
from tensorgrade.instructor.grader import Grader
from tensorgrade.nbgrader_plugin import autograding
from tensorgrade.nbgrader_plugin import script_to_notebook as conversion
from tensorgrade.nbgrader_plugin.autograding import STATES, graded_card
from tensorgrade.nbgrader_plugin.feedback import add_points_breakdown, clean
from tensorgrade.nbgrader_plugin.late_work import LateWork
from tensorgrade.runner.loading import load_module
from tensorgrade.runner.reading import parts, source_in
from tensorgrade.runner.source import Unreadable

ROOT = Path(__file__).parents[2]
CH1 = "ch1_simplified_attention"
RELEASED = ROOT / "release" / CH1 / f"{CH1}.ipynb"
SOLUTION = (ROOT / "solutions" / f"{CH1}.py").read_text(encoding="utf-8")


def verdict(points: float, most: float = 10, **more) -> dict:
    told = {"status": "partial", "mistakes": [], "message": "It sums the columns."} | more
    return Verdict("ada", CH1, "softmax", points, most, **told).row()


@pytest.mark.parametrize(
    "points, most, cell, expected",
    [
        (10, 10, 10, 10),
        (11, 10, 10, 10),
        (-1, 10, 10, 0),
        (5, 10, 20, 10),
        (10, 10, 0, 0),
        (0, 0, 10, 0),
        (10.0000001, 10, 10, 10),
    ],
)
def test_a_cell_never_gets_more_than_its_points(points, most, cell, expected):
    assert autograding.points_of(verdict(points, most), cell) == expected
    assert autograding.points_of(None, cell) == 0


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


def test_only_locked_graded_cells_of_ours_are_written():
    cell = graded_cell()
    assert autograding.earns_points(cell)
    for change in ({"grade_id": "essay"}, {"solution": True}, {"grade": False}):
        other = graded_cell()
        other.metadata.nbgrader.update(change)
        assert not autograding.earns_points(other)


@pytest.mark.parametrize("status", STATES)
def test_every_status_has_a_card_in_words(status):
    card = graded_card(
        verdict(1, status=status),
        1,
        10,
        "It <b>sums</b>.",
    )
    assert STATES[status][0] in card and "1 of 10 points" in card
    assert "&lt;b&gt;sums" in card and "<script" not in card


def test_grading_without_isolation_is_marked():
    assert "without isolation" in graded_card(verdict(1, isolation="none"), 1, 10, "x")
    assert "without isolation" not in graded_card(verdict(1, isolation="full"), 1, 10, "x")


def test_lines_in_messages_are_counted_within_their_cell():
    nb = nbformat.read(RELEASED, as_version=4)
    source = source_in(nbformat.writes(nb).encode(), "n.ipynb")
    lines = source.text.split("\n")
    line = lines.index("def softmax(x: torch.Tensor, dim: int = -1) -> torch.Tensor:") + 1
    assert source.place(line) == "cell `softmax`, line 1"


def test_nbgraders_own_penalty_keeps_its_meaning():
    """Late work loses all, whatever the course's rule says."""
    late = LateWork(penalty_method="zero", lateness={"share_a_day": 0.2})
    assert late.late_submission_penalty("ada", 5.0, 60.0) == 5.0
    late = LateWork(lateness={"share_a_day": 0.2})
    assert late.late_submission_penalty("ada", 5.0, 60.0) == 1.0


# Scripts.


def names_in(nb) -> set[str]:
    module, _ = load_module(
        "converted", source_in(nbformat.writes(nb).encode(), "n.ipynb").text, "n.ipynb"
    )
    return set(vars(module))


def test_a_script_fills_the_solution_cells():
    nb = conversion.to_notebook(parts(SOLUTION), RELEASED)
    cells = {cell.id: cell.source for cell in nb.cells}
    assert "exponentials.sum()" in cells["softmax_naive"] and "BEGIN SOLUTION" in cells["softmax"]
    assert conversion.REST not in cells, "the solution has nothing that the notebook has not"
    assert len(nb.cells) == len(nbformat.read(RELEASED, as_version=4).cells)


def test_helpers_go_in_front_of_the_first_answer():
    script = "import math\n\n\ndef helper(x):\n    return x\n\n\n"
    script += "@staticmethod\ndef softmax(x, dim=-1):\n    return helper(x)\n"
    nb = conversion.to_notebook(parts(script), RELEASED)
    ids = [cell.id for cell in nb.cells]
    assert ids.index(conversion.REST) == ids.index("attention_scores") - 1
    cells = {cell.id: cell.source for cell in nb.cells}
    assert "def helper" in cells[conversion.REST] and "import math" in cells[conversion.REST]
    assert cells["softmax"].startswith("@staticmethod\ndef softmax")
    assert "NotImplementedError" in cells["context_vector"]
    assert {"helper", "math", "softmax"} <= names_in(nb)


def test_a_script_with_a_broken_definition_keeps_the_others():
    script = "import torch\n\ndef softmax(x:\n    return x\n\n"
    script += "def context_vector(query, inputs):\n    return query\n"
    cells = {cell.id: cell.source for cell in conversion.to_notebook(parts(script), RELEASED).cells}
    assert (
        cells["softmax"].startswith("def softmax(x:") and "return query" in cells["context_vector"]
    )


@pytest.mark.parametrize("script", ["", "#", "\n\n", "'''", "1 +", "def (", "class", "é = 1"])
def test_any_text_can_be_converted(script):
    nbformat.validate(conversion.to_notebook(parts(script), RELEASED))


@pytest.fixture(scope="module")
def reader():
    """Reads learners' files in children of a warm process."""
    grader = Grader(Setup(ROOT / "graders", "none"))

    class Here:
        def name_of_source(self, submitted_files) -> str:
            try:
                return grader.maker.source_of(submitted_files).filename
            except Unreadable:
                return ""

        def parts(self, text: str) -> list:
            return grader.maker.reader().parts(text)

    yield Here()
    grader.close()


@pytest.fixture
def submitted(tmp_path):
    folder = tmp_path / "submitted" / "ada" / CH1
    folder.mkdir(parents=True)
    (folder / f"{CH1}.py").write_text(SOLUTION, encoding="utf-8")
    return tmp_path / "submitted"


def notebook_of(submitted: Path) -> Path:
    return submitted / "ada" / CH1 / f"{CH1}.ipynb"


def with_a_helper() -> str:
    nb = nbformat.read(RELEASED, as_version=4)
    nb.cells.append(nbformat.v4.new_code_cell("def helper():\n    return 1"))
    return nbformat.writes(nb)


@pytest.mark.parametrize(
    "notebook, converted",
    [
        (None, True),
        (RELEASED.read_text(encoding="utf-8"), True),
        (with_a_helper(), True),
        ("garbage", True),
        ((ROOT / "source" / CH1 / f"{CH1}.ipynb").read_text(encoding="utf-8"), False),
    ],
    ids=["none", "untouched", "a helper alone", "unreadable", "answers"],
)
def test_a_script_counts_if_the_notebook_has_no_answers(submitted, reader, notebook, converted):
    path = notebook_of(submitted)
    if notebook:
        path.write_text(notebook, encoding="utf-8")
    made = conversion.convert_all(submitted, ROOT / "release", reader)
    assert made == [path] * converted
    assert "exponentials.sum()" in path.read_text(encoding="utf-8")
    if notebook == "garbage":
        assert path.with_name(f"{CH1}.ipynb.unreadable").read_text() == "garbage"


def test_links_are_left_alone(submitted, tmp_path, reader):
    secret = tmp_path / "secret.py"
    secret.write_text("secret = 1")
    script = notebook_of(submitted).with_suffix(".py")
    script.unlink()
    script.symlink_to(secret)
    assert conversion.convert_all(submitted, ROOT / "release", reader) == []


def test_a_converted_script_is_graded_as_the_script_that_it_is(submitted, reader):
    conversion.convert_all(submitted, ROOT / "release", reader)
    nb = nbformat.read(notebook_of(submitted), as_version=4)
    script = notebook_of(submitted).with_suffix(".py")
    assert conversion.script_behind(nb, script, RELEASED, reader) == SOLUTION.encode()
    next(cell for cell in nb.cells if cell.id == "softmax").source += "\n# changed"
    assert conversion.script_behind(nb, script, RELEASED, reader) is None, (
        "the notebook is what an instructor sees"
    )


@pytest.mark.slow
def test_nbgrader_itself_never_imports_torch():
    """It may run in a Jupyter server, and the grading process needs torch only once."""
    code = "import tensorgrade.nbgrader_plugin.autograding, sys; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


@pytest.mark.parametrize(
    "html, kept",
    [
        ('<img src="https://x.org/a.png" alt="a">', '<img alt="a">'),
        ('<img src="//x.org/a.png">', "<img>"),
        ('<img src="a.png">', "<img>"),
        ('<img src="data:image/png;base64,aGk=">', '<img src="data:image/png;base64,aGk=">'),
        ('<img src="data:image/svg+xml;base64,aGk=">', "<img>"),
        ('<div class="panel score" id="toc">5 of 5</div>', "<div>5 of 5</div>"),
        ('<span class="k">def</span>', '<span class="k">def</span>'),
        ('<div class="highlight btn">x</div>', "<div>x</div>"),
        ('<h2 id="score">5</h2>', "<h2>5</h2>"),
    ],
)
def test_learners_text_shows_no_picture_from_elsewhere_and_imitates_nothing(html, kept):
    assert clean(html) == kept


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
