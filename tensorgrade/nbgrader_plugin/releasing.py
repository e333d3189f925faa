"""How `nbgrader generate_assignment` reads a notebook in which a mistake is to be found.

The instructor's notebook holds the answer, so that it can be validated; code that learners are
given to mend stands beside it, in the cell's metadata. Under other settings nbgrader clears the
cell like any solution, and no answer gets out.
"""

from nbconvert.exporters import NotebookExporter
from nbformat import NotebookNode
from nbgrader.preprocessors import ClearSolutions


class GivenCode(NotebookExporter):
    """Puts what is given in the answers' place, as soon as nbgrader has cleared them.

    For nbgrader such a cell is a solution cell like others: it stands in the gradebook, and may be
    commented on.
    """

    def register_preprocessor(self, preprocessor: object, enabled: bool = False) -> object:
        """One of nbgrader's steps; ours follows the one that clears."""
        registered = super().register_preprocessor(preprocessor, enabled)
        if isinstance(preprocessor, ClearSolutions):
            super().register_preprocessor(put_given)
        return registered


def put_given(nb: NotebookNode, resources: dict) -> tuple[NotebookNode, dict]:
    """A step: the code to be mended in its place, and nothing beside it any more."""
    for cell in nb.cells:
        if "given" in cell.metadata:
            cell.source = cell.metadata.pop("given")
    return nb, resources
