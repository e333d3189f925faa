"""Read submissions for `nbgrader autograde`: every file yields a notebook to grade.

No file can stop the grading of a class. Each learner gets points and a feedback page, either for
the sanitized notebook or for a page with the reason why it could not be read.
"""

from pathlib import Path
from typing import Any

from nbconvert.exporters import NotebookExporter
from sqlalchemy.exc import SQLAlchemyError

from ..course import CourseError
from .names import take_names_literally
from .sanitize import read_notebook, reason_in, resources_of, unreadable

NOT_GRADED = "This notebook could not be graded. Please tell your instructor."
COURSE_ERRORS = (CourseError, SQLAlchemyError)  # errors of the course, not of a notebook


class SoundNotebook(NotebookExporter):
    """An exporter that reads a notebook, runs the preprocessors, and writes the result."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        take_names_literally(self.parent)

    def from_filename(
        self, filename: str, resources: dict | None = None, **_: object
    ) -> tuple[Any, dict[str, Any]]:
        """Return the graded notebook as text. A file that stops a preprocessor gets no points."""
        path = Path(filename)
        notebook = read_notebook(path)
        if (why := reason_in(notebook)) is not None:
            self.log.warning("%s: %s", filename, why)
        own = resources_of(path, resources)
        try:
            return self.from_notebook_node(notebook, own)
        except COURSE_ERRORS:
            raise
        except Exception:
            self.log.exception("%s could not be graded", filename)
            return self.from_notebook_node(unreadable(NOT_GRADED), own)
