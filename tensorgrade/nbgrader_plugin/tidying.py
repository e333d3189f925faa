"""Takes away nbgrader's marks from cells where they mean nothing, so that they stop no grading.

A cell that a learner copied keeps empty marks when nbgrader tells the copies apart, and nbgrader
then takes the whole notebook for one of an old format.
"""

from nbformat import NotebookNode
from nbgrader.preprocessors import NbGraderPreprocessor


class TidyMarks(NbGraderPreprocessor):
    """Stands before and after the steps that compare a submission with the gradebook."""

    def preprocess_cell(
        self, cell: NotebookNode, resources: dict, cell_index: int
    ) -> tuple[NotebookNode, dict]:
        """A cell without a name in its marks is a learner's own cell."""
        marks = cell.metadata.get("nbgrader")
        if not isinstance(marks, dict) or not isinstance(marks.get("grade_id"), str):
            cell.metadata.pop("nbgrader", None)
        return cell, resources
