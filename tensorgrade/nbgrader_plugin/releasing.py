"""How `nbgrader generate_assignment` reads a notebook in which a mistake is to be found.

The instructor's notebook holds the answer, so that it can be validated; code that learners are
given to mend stands beside it, in the cell's metadata. Under other settings nbgrader clears the
cell like any solution, and no answer gets out.
"""

from typing import Any

from nbconvert.exporters import NotebookExporter
from nbformat import NotebookNode


class GivenCode(NotebookExporter):
    """Puts what is given in the answers' place, then has nbgrader's steps work."""

    def from_notebook_node(
        self, nb: NotebookNode, resources: dict | None = None, **_: object
    ) -> tuple[Any, dict[str, Any]]:
        """The released notebook. nbgrader clears solution cells, so these become open ones."""
        for cell in nb.cells:
            if "given" in cell.metadata:
                cell.source = cell.metadata.pop("given")
                cell.metadata["nbgrader"]["solution"] = False
        return super().from_notebook_node(nb, resources)
