"""Points from hidden graders instead of nbgrader's `Execute`, and the deduction for late work.

No kernel is started. The learner's definitions go to the sandboxed graders. Their verdicts become
the outputs of the graded cells, in the form that nbgrader reads as partial credit: a number, and a
card for people. A card never shows an expected value.

The graders run in a process of their own, which stays warm from one submission to the next:
nbgrader may run inside a Jupyter server, which should not import torch. And a submission that ends
the process costs no other submission anything.
"""

import sys
import types
from concurrent.futures import Executor, Future
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbgrader.api import Gradebook, Notebook
from nbgrader.plugins import LateSubmissionPlugin
from nbgrader.preprocessors import NbGraderPreprocessor
from nbgrader.utils import is_grade, is_solution
from traitlets import Dict, Enum, Unicode

from ..attempts.setup import DEVICES, Setup
from ..course import CourseError
from ..lateness import Lateness, read_time
from ..processes import side_by_side
from ..project import load_course
from ..sources.submitted_files import SubmittedFiles
from ..views.pages import pages_in
from ..views.words import STATES

TRIES = 2
GRADERS = (".py", ".json", ".safetensors")  # what graders consist of
WARM: dict[tuple, Executor] = {}  # the one process, by its setup and the age of the graders
PREFIX = "points-"  # the prefix of graded cells in our notebooks
NO_SUCH_EXERCISE = "The course has no exercise of this name any more."


class HiddenGraders(NbGraderPreprocessor):
    """A preprocessor that writes points and a card into every graded cell of a submission."""

    graders = Unicode("graders", help="The folder with the hidden tests.").tag(config=True)
    device = Enum(DEVICES, "cpu", help="The device for learner code.").tag(config=True)
    isolation = Enum(("auto", "none"), "auto", help="`none`: no sandbox.").tag(config=True)
    deadlines = Dict({}, help="By chapter, such as '2027-01-15 23:59 UTC'.").tag(config=True)

    def preprocess(self, nb: NotebookNode, resources: dict) -> tuple[NotebookNode, dict]:
        """Grade one submitted notebook. Outputs and tags written by learners are ignored."""
        where = resources["nbgrader"]
        with Gradebook(where["db_url"]) as gradebook:
            if due := self.deadlines.get(where["assignment"]):
                gradebook.update_or_create_assignment(where["assignment"], duedate=read_time(due))
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


def earns_points(cell: NotebookNode) -> bool:
    """Return True if a cell is graded by the hidden graders, not by a person."""
    named = is_grade(cell) and cell.metadata.nbgrader.grade_id.startswith(PREFIX)
    return bool(named and not is_solution(cell) and cell.cell_type == "code")


def points_of(verdict: dict | None, most: float) -> float:
    """Return a verdict's points, as a share of the cell's points."""
    if verdict is None or not verdict["max_points"]:
        return 0.0
    return round(verdict["points"] / verdict["max_points"] * most, 6)


TEMPLATE = pages_in().from_string("""\
{% from "note.html" import card %}
{% set mark, words = states[status] %}
{% call card(mark, words, exercise, "%g of %g points" % (earned, most)) %}
{% if message != "Right." %}
<div style="margin-top:6px">{{ message }}</div>
{% endif %}
{% if mistakes %}
<div style="margin-top:6px;color:#5f6368">recognized: {{ mistakes | join(", ") }}</div>
{% endif %}
{% if isolation == "none" %}
<div style="margin-top:6px;color:#8a5a00">graded without isolation</div>
{% endif %}
{% endcall %}
""")


def graded_card(verdict: dict | None, earned: float, most: float) -> str:
    """Return the HTML of a card for a row of `results.jsonl`; without a row, one that says so."""
    told = verdict or {"status": "not_attempted", "message": NO_SUCH_EXERCISE}
    return TEMPLATE.render(told, states=STATES, earned=earned, most=most)


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


def grade(submitted_files: SubmittedFiles, setup: Setup) -> list[dict]:
    """Return rows with the verdicts on a submission, from the warm process.

    Raises CourseError if this machine cannot grade the submission, or if grading it ends the
    process on every try.
    """
    for _ in range(TRIES):
        try:
            return in_warm_process(setup, submitted_files).result()
        except BrokenProcessPool:
            forget()
        except CourseError:
            forget()  # the next submission may have more memory
            raise
    raise CourseError(f"{submitted_files.chapter}: grading this file ended the grading process")


def in_warm_process(setup: Setup, submitted_files: SubmittedFiles) -> Future:
    """Begin to grade a submission. If graders or the setup have changed, start another process."""
    files = [one for one in setup.tests.rglob("*") if one.suffix in GRADERS]
    files.append(setup.tests.parent / "course_config.py")
    key = (setup, max(one.stat().st_mtime_ns for one in files))
    if key not in WARM:
        forget()
        WARM[key] = side_by_side(1)
    main = sys.modules["__main__"]
    # With its main module, the new process would import nbgrader or a server again.
    sys.modules["__main__"] = types.ModuleType("__main__")
    try:
        return WARM[key].submit(grade_there, setup, submitted_files)
    finally:
        sys.modules["__main__"] = main


def forget() -> None:
    """Stop the process, if there is one."""
    while WARM:
        WARM.popitem()[1].shutdown(wait=False)


def grade_there(setup: Setup, submitted_files: SubmittedFiles) -> list[dict]:
    """Grade a submission in the warm process; return rows of `results.jsonl`.

    Raises CourseError if this machine cannot, or if the chapter changed since the last build, or
    whatever error the graders have on this file.
    """
    from ..built import refuse_unbuilt
    from ..instructor import grader

    refuse_unbuilt(setup.tests, load_course(setup.tests), [submitted_files.chapter])
    try:
        return [verdict.row() for verdict in grader.grader_for(setup).grade(submitted_files)]
    finally:
        grader.forget()
