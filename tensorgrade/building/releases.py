"""What learners get in `release/`: made by nbgrader itself from the instructor's notebooks."""

import logging
import tempfile
from contextlib import chdir
from pathlib import Path

from ..course import CourseError


def release_text(root: Path, chapter: str, source_notebook: str) -> str:
    """The released notebook that nbgrader makes of a chapter's source notebook.

    root: the course's folder, whose `nbgrader_config.py` counts. Raises CourseError.
    """
    with tempfile.TemporaryDirectory() as folder, chdir(root):
        notebook = Path(folder) / "source" / chapter / f"{chapter}.ipynb"
        notebook.parent.mkdir(parents=True)
        notebook.write_text(source_notebook, encoding="utf-8")
        generate_assignment(root, folder, chapter)
        released = Path(folder) / "release" / chapter / notebook.name
        return released.read_text(encoding="utf-8")


def generate_assignment(root: Path, folder: str, chapter: str) -> None:
    """nbgrader's own command, without a database, in another folder."""
    from nbgrader.converters import GenerateAssignment, NbGraderException
    from nbgrader.coursedir import CourseDirectory
    from traitlets.config import PyFileConfigLoader

    config = PyFileConfigLoader("nbgrader_config.py", path=str(root)).load_config()
    config.CourseDirectory.root = folder
    config.CourseDirectory.assignment_id = chapter
    config.GenerateAssignment.no_database = True
    config.SaveCells.enabled = False
    quiet = logging.getLogger("tensorgrade.releases")
    quiet.setLevel(logging.ERROR)
    try:
        GenerateAssignment(
            coursedir=CourseDirectory(config=config), config=config, log=quiet
        ).start()
    except NbGraderException as error:
        raise CourseError(f"nbgrader makes no release of {chapter}: {error}") from None
