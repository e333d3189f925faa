"""Make a learner's other chapters importable from a notebook, just as from a file.

`from <another chapter> import …` finds the learner's own chapter near the running notebook, as
`.py` or `.ipynb`. If it is not written yet, the course's substitute is imported, and a printed
line says so.
"""

import ast
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

from ..course import CourseError
from ..project import load_course
from ..runner.facts import written
from ..runner.loading import load_module
from ..runner.reading import source_in
from ..runner.source import Unreadable


class Chapters(MetaPathFinder, Loader):
    """A finder of the course's chapters. Python asks it last, if no other finder knows a name.

    It loads only the definitions in a chapter's file.
    """

    def find_spec(
        self,
        name: str,
        path: Sequence[str] | None = None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        """Return the spec of a chapter; None if there is no such chapter or no file."""
        from .notebook import find_exercises

        try:
            exercises = find_exercises()
            if name not in {chapter.name for chapter in load_course(exercises).chapters}:
                return None
        except CourseError:
            return None
        standin = next(exercises.glob(f"given/*/{name}.py"), None)
        place = written_chapter(name, Path.cwd(), standin) or standin
        if place is None:
            return None
        return ModuleSpec(name, self, origin=str(place), loader_state=place == standin)

    def create_module(self, spec: ModuleSpec) -> None:
        """Return None, so that Python creates an ordinary module."""

    def exec_module(self, module: ModuleType) -> None:
        """Fill the module, and print its source: the learner's file, or the course's substitute."""
        spec = module.__spec__
        assert spec is not None and spec.origin is not None, "find_spec made it"
        text = source_in(Path(spec.origin).read_bytes(), spec.origin).text
        loaded, _ = load_module(module.__name__, text, spec.origin, definitions_only=True)
        vars(module).update({k: v for k, v in vars(loaded).items() if not k.startswith("__")})
        sys.modules[module.__name__] = module
        if spec.loader_state:
            docstring = ast.get_docstring(ast.parse(text)) or "a stand-in."
            first_paragraph = " ".join(docstring.split("\n\n")[0].split())
            print(STANDIN.format(module.__name__, first_paragraph))
        else:
            print(f"{module.__name__}: yours, from {spec.origin}")


STANDIN = (
    "{0}: yours is not written yet, or {0}.py and {0}.ipynb are not near this notebook. "
    "In its place: {1} Numbers and pictures will differ from those in the text."
)


def written_chapter(name: str, here: Path, standin: Path | None) -> Path | None:
    """Return the learner's own file of a chapter if it defines everything the substitute does."""
    wanted = written_in(standin) if standin else set()
    for place in (here, here.parent, here / name, here.parent / name, here.parent / "exercises"):
        for path in (place / f"{name}.py", place / f"{name}.ipynb"):
            if path.is_file() and wanted <= written_in(path):
                return path
    return None


def written_in(path: Path) -> set[str]:
    """Return the definitions in a file, except those marked as still to do."""
    try:
        return written(source_in(path.read_bytes(), str(path)).text)
    except Unreadable:
        return set()
