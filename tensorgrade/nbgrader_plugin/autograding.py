"""The preprocessor that takes the place of nbgrader's `Execute`: points from hidden graders.

No kernel is started. The learner's definitions go to the sandboxed graders, and what these say
becomes the output of the graded cells, in the form in which nbgrader reads partial credit.
"""

from pathlib import Path

import nbformat
from nbgrader.api import Gradebook
from nbgrader.preprocessors import NbGraderPreprocessor
from nbgrader.utils import is_grade, is_solution
from traitlets import Dict, Enum, Unicode

from ..extracting import NotebookSource, code_cells, extract
from ..submission import Unreadable
from .graded_cards import graded_card
from .missing_cells import restore_graded_cells
from .pouring import script_behind
from .warm_grader import grade

PREFIX = "points-"


class HiddenGraders(NbGraderPreprocessor):
    """Writes points and a card into every graded cell of a submission."""

    graders = Unicode("graders", help="The folder with the hidden tests.").tag(config=True)
    release = Unicode("release", help="The folder with the released notebooks.").tag(config=True)
    device = Enum(("cpu", "cuda", "auto"), "cpu", help="Where learner code computes.").tag(
        config=True
    )
    isolation = Enum(
        ("auto", "none"),
        "auto",
        help="`auto`: locked in, or refused. `none`: only code that you trust.",
    ).tag(config=True)
    deadlines = Dict(
        {}, help="When chapters are due, as nbgrader writes it: {'ch1': '2027-01-15 23:59 UTC'}."
    ).tag(config=True)

    def preprocess(self, nb, resources):
        """Grade one submitted notebook. What learners wrote into outputs and tags means nothing."""
        where = resources["nbgrader"]
        with Gradebook(where["db_url"]) as gradebook:
            if due := self.deadlines.get(where["assignment"]):
                gradebook.update_or_create_assignment(where["assignment"], duedate=due)
            restore_graded_cells(
                nb, gradebook.find_notebook(where["notebook"], where["assignment"])
            )
        folder = Path(resources.get("metadata", {}).get("path", "."))
        handed_in = self.handed_in(nb, where, folder)
        verdicts = grade(handed_in, Path(self.graders).resolve(), self.isolation, self.device)
        source = source_in(nb)
        for cell in filter(earns_points, nb.cells):
            self.write(cell, verdicts, source)
        return nb, resources

    def handed_in(self, nb, where: dict, folder: Path) -> tuple[str, str, str, bytes]:
        """(student, chapter, file name, content) of the notebook, or of the script poured into it."""
        chapter = where["assignment"]
        script = script_behind(
            nb, folder / f"{chapter}.py", Path(self.release, chapter, f"{chapter}.ipynb")
        )
        if script is not None:
            return where["student"], chapter, f"{chapter}.py", script
        return where["student"], chapter, f"{chapter}.ipynb", nbformat.writes(nb).encode()

    def write(self, cell, verdicts: list, source: NotebookSource | None) -> None:
        """Make a verdict the cell's one output: a number for nbgrader, a card for people."""
        name = cell.metadata.nbgrader.grade_id.removeprefix(PREFIX)
        verdict = next((verdict for verdict in verdicts if verdict["exercise"] == name), None)
        most = float(cell.metadata.nbgrader.points)
        earned = points_of(verdict, most)
        shown = {
            "text/plain": repr(earned),
            "text/html": graded_card(verdict, earned, most, relocated(verdict, source)),
        }
        cell.outputs = [nbformat.v4.new_output("execute_result", shown, execution_count=None)]
        cell.execution_count = None


def earns_points(cell) -> bool:
    """Whether a cell is graded by the hidden graders, and not by a person."""
    named = is_grade(cell) and cell.metadata.nbgrader.grade_id.startswith(PREFIX)
    return bool(named and not is_solution(cell) and cell.cell_type == "code")


def points_of(verdict: dict | None, most: float) -> float:
    """A verdict's points, as a share of what the cell is worth; never more than that."""
    if verdict is None or not verdict["max_points"]:
        return 0.0
    return round(min(1.0, max(0.0, verdict["points"] / verdict["max_points"])) * most, 6)


def source_in(nb) -> NotebookSource | None:
    """What was graded of a notebook; None where it cannot be read."""
    try:
        return extract(code_cells(nbformat.writes(nb), "the notebook"))
    except Unreadable:
        return None


def relocated(verdict: dict | None, source: NotebookSource | None) -> str:
    """A verdict's sentence, with lines counted from the top of their cell."""
    if verdict is None:
        return "The course has no exercise of this name any more."
    return source.relocate(verdict["message"]) if source else verdict["message"]
