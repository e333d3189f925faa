"""Makes a learner's other chapters importable, from a notebook just as from a file.

`from ch3_causal_attention import CausalAttention` finds the learner's own chapter near the
running notebook, as `.py` or `.ipynb`. Where it is not written yet, the course's stand-in is
taken, and a line says so.
"""

import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path

from ..course import CourseError, load_course


class ChapterFinder(MetaPathFinder):
    """Finds modules that are chapters of the course; asked when nobody else knows the name."""

    def find_spec(self, name: str, path=None, target=None) -> ModuleSpec | None:
        """The place of a chapter; None where the name is no chapter or nothing is there."""
        from .material import find_exercises

        try:
            exercises = find_exercises()
            if name not in {chapter.name for chapter in load_course(exercises).chapters}:
                return None
        except CourseError:
            return None
        standin = next(exercises.glob(f"given/*/{name}.py"), None)
        found = written_chapter(name, Path.cwd(), standin) or standin
        return (
            ModuleSpec(name, ChapterLoader(found, found == standin), origin=str(found))
            if found
            else None
        )


class ChapterLoader(Loader):
    """Runs a chapter's definitions, and nothing else that stands in its file."""

    def __init__(self, path: Path, is_standin: bool):
        self.path, self.is_standin = path, is_standin

    def create_module(self, spec: ModuleSpec):
        return None

    def exec_module(self, module) -> None:
        """Fill the module, and say where it came from."""
        from ..runner.loading import load_module

        loaded, _ = load_module(
            module.__name__, source_of(self.path), str(self.path), definitions_only=True
        )
        vars(module).update({k: v for k, v in vars(loaded).items() if not k.startswith("__")})
        sys.modules[module.__name__] = module
        print(
            STANDIN.format(module.__name__)
            if self.is_standin
            else f"{module.__name__}: yours, from {self.path}"
        )


STANDIN = (
    "{0}: yours is not written yet, or {0}.py and {0}.ipynb are not near this notebook. "
    "A stand-in takes its place; it has the right shapes but does not attend, so numbers and "
    "pictures will differ from those in the text."
)


def written_chapter(name: str, here: Path, standin: Path | None) -> Path | None:
    """The learner's own file of a chapter, if what the stand-in stands for is written in it."""
    wanted = written_in(standin) if standin else set()
    for place in (here, here.parent, here / name, here.parent / name, here.parent / "exercises"):
        for path in (place / f"{name}.py", place / f"{name}.ipynb"):
            if path.is_file() and wanted <= written_in(path):
                return path
    return None


def written_in(path: Path) -> set[str]:
    """Names of the definitions in a file that do not say that they are still to do."""
    from ..extracting import written
    from ..submission import Unreadable

    try:
        return written(source_of(path))
    except Unreadable:
        return set()


def source_of(path: Path) -> str:
    """The Python text of a chapter's file. Raises Unreadable."""
    from ..extracting import source_from_notebook
    from ..submission import decode

    text = decode(path.read_bytes(), path.name)
    return source_from_notebook(text, path.name) if path.suffix == ".ipynb" else text


def make_chapters_importable() -> None:
    """Ask for chapters after everybody else; once, however often this is called."""
    if not any(isinstance(finder, ChapterFinder) for finder in sys.meta_path):
        sys.meta_path.append(ChapterFinder())
