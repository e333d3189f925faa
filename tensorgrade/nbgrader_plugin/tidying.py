"""Remove nbgrader's marks from cells in which they mean nothing, so that they stop no grading.

If a learner copies a cell, nbgrader leaves empty marks on the copy. It then mistakes the whole
notebook for one of an old format.
"""

from nbformat import NotebookNode
from nbgrader.preprocessors import NbGraderPreprocessor


class TidyMarks(NbGraderPreprocessor):
    """A preprocessor that runs before and after the comparison with the gradebook."""

    def preprocess_cell(
        self, cell: NotebookNode, resources: dict, cell_index: int
    ) -> tuple[NotebookNode, dict]:
        """Remove the marks of a cell without a name in them: it is a learner's own cell."""
        marks = cell.metadata.get("nbgrader")
        if not isinstance(marks, dict) or not isinstance(marks.get("grade_id"), str):
            cell.metadata.pop("nbgrader", None)
        return cell, resources
