"""Points from hidden graders instead of nbgrader's `Execute`, and the deduction for late work.

No kernel is started. The learner's definitions go to the sandboxed graders. Their verdicts become
the outputs of the graded cells, in the form that nbgrader reads as partial credit: a number, and a
card for people. A card never shows an expected value.
"""

from datetime import datetime
from pathlib import Path

import nbformat
from jinja2 import Environment
from nbformat import NotebookNode
from nbgrader.api import Gradebook, Notebook
from nbgrader.plugins import LateSubmissionPlugin
from nbgrader.preprocessors import NbGraderPreprocessor
from nbgrader.utils import is_grade, is_solution
from traitlets import Dict, Enum, Unicode

from ..attempts.setup import Setup
from ..lateness import Lateness, read_time
from ..sources.submitted_files import SubmittedFiles
from .warm_grader import grade

PREFIX = "points-"  # the prefix of graded cells in our notebooks
NO_SUCH_EXERCISE = "The course has no exercise of this name any more."


class HiddenGraders(NbGraderPreprocessor):
    """A preprocessor that writes points and a card into every graded cell of a submission."""

    graders = Unicode("graders", help="The folder with the hidden tests.").tag(config=True)
    device = Enum(("cpu", "cuda", "auto"), "cpu", help="The device for learner code.").tag(
        config=True
    )
    isolation = Enum(
        ("auto", "none"),
        "auto",
        help="`auto`: a sandbox is required. `none`: no sandbox, only for trusted code.",
    ).tag(config=True)
    deadlines = Dict(
        {}, help="Deadlines in nbgrader's format: {'ch1': '2027-01-15 23:59 UTC'}."
    ).tag(config=True)

    def preprocess(self, nb: NotebookNode, resources: dict) -> tuple[NotebookNode, dict]:
        """Grade one submitted notebook. Outputs and tags written by learners are ignored."""
        where = resources["nbgrader"]
        with Gradebook(where["db_url"]) as gradebook:
            if due := self.deadlines.get(where["assignment"]):
                gradebook.update_or_create_assignment(where["assignment"], duedate=moment(due))
            released = gradebook.find_notebook(where["notebook"], where["assignment"])
            restore_graded_cells(nb, released)
        setup = Setup(Path(self.graders).resolve(), self.isolation, self.device)
        student, chapter = where["student"], where["assignment"]
        content = nbformat.writes(nb).encode()
        verdicts = grade(SubmittedFiles(student, chapter, f"{chapter}.ipynb", content), setup)
        for cell in filter(earns_points, nb.cells):
            self.write(cell, verdicts)
        return nb, resources

    def write(self, cell: NotebookNode, verdicts: list[dict]) -> None:
        """Replace the cell's outputs by a verdict: a number for nbgrader, and a card for people."""
        name = cell.metadata.nbgrader.grade_id.removeprefix(PREFIX)
        verdict = next((verdict for verdict in verdicts if verdict["exercise"] == name), None)
        most = float(cell.metadata.nbgrader.points)
        earned = points_of(verdict, most)
        shown = {"text/plain": repr(earned), "text/html": graded_card(verdict, earned, most)}
        cell.outputs = [nbformat.v4.new_output("execute_result", shown, execution_count=None)]
        cell.execution_count = None


class LateWork(LateSubmissionPlugin):
    """The course's own rule; nbgrader's `penalty_method = "zero"` keeps its meaning."""

    lateness = Dict({}, help="The rule for late work in course_config.py.").tag(config=True)

    def late_submission_penalty(
        self, student_id: str, score: float, total_seconds_late: float
    ) -> float | None:
        """Return the points that a notebook loses for being late; None if it loses none."""
        if self.penalty_method == "zero":
            return super().late_submission_penalty(student_id, score, total_seconds_late)
        lost = Lateness(**self.lateness).share_lost(total_seconds_late)
        return round(lost * score, 6) or None


def moment(text: str) -> datetime | str:
    """Read a time by the rule of the whole package; leave other formats to nbgrader."""
    try:
        return read_time(text)
    except ValueError:
        return text


def earns_points(cell: NotebookNode) -> bool:
    """Return True if a cell is graded by the hidden graders, not by a person."""
    named = is_grade(cell) and cell.metadata.nbgrader.grade_id.startswith(PREFIX)
    return bool(named and not is_solution(cell) and cell.cell_type == "code")


def points_of(verdict: dict | None, most: float) -> float:
    """Return a verdict's points, as a share of the cell's points and never more than those."""
    if verdict is None or not verdict["max_points"]:
        return 0.0
    return round(min(1.0, max(0.0, verdict["points"] / verdict["max_points"])) * most, 6)


STATES = {
    "passed": ("✓ right", "#2e7d32"),
    "partial": ("◐ partly right", "#8a5a00"),
    "failed": ("✗ wrong", "#b00020"),
    "not_attempted": ("○ not written yet", "#5f6368"),
    "error": ("✗ raises an error", "#b00020"),
    "timeout": ("✗ timed out", "#b00020"),
    "killed": ("✗ was ended", "#b00020"),
}
TEMPLATE = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string("""\
<div style="border:1px solid #c8ccd0;border-left:6px solid {{ colour }};border-radius:4px;\
padding:10px 14px;max-width:900px;background:#ffffff;color:#202124;font:14px/1.45 sans-serif">
<div style="font-size:15px"><b style="color:{{ colour }}">{{ state }}</b>
&nbsp;<code style="background:none;color:inherit">{{ exercise }}</code>
<span style="color:#5f6368">&nbsp;{{ "%g" % earned }} of {{ "%g" % most }} points</span></div>
{% if message != "Right." %}
<div style="margin-top:6px">{{ message }}</div>
{% endif %}
{% if mistakes %}
<div style="margin-top:6px;color:#5f6368">recognized: {{ mistakes | join(", ") }}</div>
{% endif %}
{% if isolation == "none" %}
<div style="margin-top:6px;color:#8a5a00">graded without isolation</div>
{% endif %}
</div>
""")


def graded_card(verdict: dict | None, earned: float, most: float) -> str:
    """Return the HTML of a card for a row of `results.jsonl`; without a row, one that says so."""
    told = verdict or {"status": "not_attempted", "message": NO_SUCH_EXERCISE}
    state, colour = STATES[told["status"]]
    return TEMPLATE.render(told, state=state, colour=colour, earned=earned, most=most)


def restore_graded_cells(nb: NotebookNode, released: Notebook) -> None:
    """Append graded cells that are missing. released: the notebook in the gradebook.

    A chapter may have been released again with new exercises. Old submissions get their cells too.
    """
    there = {cell.metadata.nbgrader.grade_id for cell in nb.cells if is_grade(cell)}
    sources = {cell.name: cell for cell in released.source_cells}
    for graded in released.grade_cells:
        if graded.name not in there and graded.cell_type == "code":
            source = sources[graded.name]
            marks: dict[str, object] = {"grade_id": graded.name, "points": graded.max_score}
            marks |= {"grade": True, "solution": False, "locked": True, "task": False}
            marks |= {"schema_version": 3, "checksum": source.checksum, "cell_type": "code"}
            cell = nbformat.v4.new_code_cell(source.source, metadata={"nbgrader": marks})
            nb.cells.append(cell)
