"""Read notebooks for nbgrader: submitted ones, which may be broken, and those to release."""

from pathlib import Path
from typing import Any

import nbformat
from nbconvert.exporters import NotebookExporter
from nbformat import NotebookNode
from nbgrader.nbgraderformat import MetadataValidator
from nbgrader.preprocessors import ClearSolutions, NbGraderPreprocessor
from sqlalchemy.exc import SQLAlchemyError

from ..course import CourseError, Limits

VALIDATOR = MetadataValidator()
MOST_BYTES = Limits().notebook_bytes
NOT_GRADED = (
    "This notebook earns no points: it is damaged, or it is not a notebook of this course. "
    "Submit it again, or ask your instructor."
)


class OwnMarks(NbGraderPreprocessor):
    """A preprocessor that keeps only the metadata that nbgrader itself has written.

    Other marks, such as the empty ones of a copied cell, make nbgrader take a notebook for one of
    another version. It runs before and after the comparison with the gradebook.
    """

    def preprocess(self, nb: NotebookNode, resources: dict) -> tuple[NotebookNode, dict]:
        """Replace the metadata of the notebook, and of each cell."""
        nb.metadata = nbformat.from_dict({"language_info": {"name": "python"}})
        for cell in nb.cells:
            marks = cell.metadata.get("nbgrader")
            cell.metadata = NotebookNode(nbgrader=marks)
            if not is_written_by_nbgrader(cell):
                del cell.metadata["nbgrader"]
        return nb, resources


def is_written_by_nbgrader(cell: NotebookNode) -> bool:
    """Return True if a cell has valid marks with a name."""
    try:
        VALIDATOR.validate_cell(cell)
        return isinstance(cell.metadata.nbgrader["grade_id"], str)
    except Exception:  # the validator raises many kinds of errors
        return False


class OneByOne(NotebookExporter):
    """An exporter that lets a broken notebook cost its own learner only."""

    def from_filename(
        self, filename: str, resources: dict | None = None, **options: Any
    ) -> tuple[Any, dict[str, Any]]:
        """Return a notebook as text, or one that says why there are no points."""
        try:
            refuse_links(Path(filename))
            text, more = super().from_filename(filename, resources, **options)
            text.encode()
            return text, more
        except (CourseError, SQLAlchemyError):  # the course's fault
            raise
        except Exception:
            self.log.exception("%s could not be graded", filename)
            cell = nbformat.v4.new_markdown_cell(NOT_GRADED)
            return self.from_notebook_node(nbformat.v4.new_notebook(cells=[cell]), resources)


def refuse_links(path: Path) -> None:
    """Raise ValueError for a link, which could show another person's file, and for a huge file."""
    if any(one.is_symlink() for one in (path, *path.parents[:2])):
        raise ValueError(f"{path} is a link")
    if path.stat().st_size > MOST_BYTES:
        raise ValueError(f"{path} is larger than {MOST_BYTES >> 20} MiB")


class GivenCode(NotebookExporter):
    """An exporter for the release, which shows the given code of find-the-bug exercises.

    The instructor's notebook has the solution, so that it can be validated, and the given code in
    the cell's metadata. Without this exporter nbgrader clears the cell like any other solution.
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
