"""Run `nbgrader collect`, and convert the collected scripts to notebooks."""

from pathlib import Path

from nbgrader.exchange.default import ExchangeCollect
from traitlets import Enum, Unicode

from ..attempts.setup import Setup
from ..course import CourseError
from .script_to_notebook import convert_all
from .warm_grader import ReadApart


class CollectScriptsToo(ExchangeCollect):
    """A collector that works like nbgrader's, but also accepts `.py` files from learners."""

    graders = Unicode("graders", help="The folder with the hidden tests.").tag(config=True)
    isolation = Enum(
        ("auto", "full", "namespaces", "landlock", "uid", "none"),
        "auto",
        help="`auto`: read scripts in a sandbox or not at all. `none`: only for trusted scripts.",
    ).tag(config=True)

    def copy_files(self) -> None:
        """Copy the submissions, then convert the scripts."""
        super().copy_files()
        root = Path(self.coursedir.root)
        submitted = root / self.coursedir.submitted_directory
        release = root / self.coursedir.release_directory
        reader = ReadApart(Setup((root / self.graders).resolve(), self.isolation))
        try:
            for notebook in convert_all(submitted, release, reader, self.coursedir.assignment_id):
                self.log.info("Converted the script next to %s to a notebook", notebook)
        except CourseError as error:
            self.fail(f"Everything is collected, but scripts could not be converted: {error}")
