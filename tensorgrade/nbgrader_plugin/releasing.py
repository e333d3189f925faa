"""Read find-the-bug exercises for `nbgrader generate_assignment`.

The instructor's notebook holds the solution, so that it can be validated. The given code is stored
in the cell's metadata. Without this exporter nbgrader clears the cell like any solution, so no
solution is ever released.
"""

from nbconvert.exporters import NotebookExporter
from nbformat import NotebookNode
from nbgrader.preprocessors import ClearSolutions


class GivenCode(NotebookExporter):
    """An exporter that inserts the given code after nbgrader has cleared the solutions.

    nbgrader treats such a cell as an ordinary solution cell: it is in the gradebook, and graders
    can comment on it.
    """

    def register_preprocessor(self, preprocessor: object, enabled: bool = False) -> object:
        """Register one of nbgrader's steps, and ours directly after the one that clears."""
        registered = super().register_preprocessor(preprocessor, enabled)
        if isinstance(preprocessor, ClearSolutions):
            super().register_preprocessor(put_given)
        return registered


def put_given(nb: NotebookNode, resources: dict) -> tuple[NotebookNode, dict]:
    """Replace a cell's source by its given code, and remove that from the metadata."""
    for cell in nb.cells:
        if "given" in cell.metadata:
            cell.source = cell.metadata.pop("given")
    return nb, resources
