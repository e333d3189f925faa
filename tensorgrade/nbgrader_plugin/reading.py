"""How `nbgrader autograde` reads a submission: whatever the file, there is a notebook to grade.

nbgrader finds no fault in a class any more, so each learner has points and a feedback page: for
what is sound in the notebook, or none with a sentence that says why.
"""

from pathlib import Path
from typing import Any

from nbconvert.exporters import NotebookExporter
from sqlalchemy.exc import SQLAlchemyError

from ..course import CourseError
from .names import take_names_literally
from .sound import read_notebook, reason_in, resources_of, unreadable

NOT_GRADED = "This notebook could not be graded; your instructor has to look at it."
NOBODYS_NOTEBOOK = (CourseError, SQLAlchemyError)  # at fault is the course, for everybody


class SoundNotebook(NotebookExporter):
    """Reads, has the preprocessors work, and writes."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        take_names_literally(self.parent)

    def from_filename(
        self, filename: str, resources: dict | None = None, **_: object
    ) -> tuple[Any, dict[str, Any]]:
        """The text of what a file became. What stops a preprocessor costs this file its points."""
        path = Path(filename)
        notebook = read_notebook(path)
        if (why := reason_in(notebook)) is not None:
            self.log.warning("%s: %s", filename, why)
        own = resources_of(path, resources)
        try:
            return self.from_notebook_node(notebook, own)
        except NOBODYS_NOTEBOOK:
            raise
        except Exception:
            self.log.exception("%s could not be graded", filename)
            return self.from_notebook_node(unreadable(NOT_GRADED), own)
