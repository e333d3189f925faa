"""What learners get of a build: notebooks, the checks next to them, and the kit.

The kit is one zip with everything to learn and check, and nothing that is hidden. It includes the
engine as a wheel to install, which contains no course's answers.

Cell ids and grade ids of a notebook are the same readable names. A rebuilt notebook therefore
changes only with its source, and a chapter that is released again still matches the cells of its
old submissions.
"""

import base64
import io
import re
import zipfile
from collections.abc import Iterable, Iterator
from hashlib import sha256
from importlib.metadata import Distribution, distributions
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from ..built import refuse_unbuilt
from ..cells import Cell
from ..course import Chapter, CourseError
from ..exchange.stored import refuse_missing, stored_path
from ..folders import ENGINE, OWN_FOLDER, engine_files, files_below, write_file
from ..judging.checks import FILE
from ..project import Project
from ..views.lessons import lessons_page
from .lessons import PICTURE, given_code, lesson_of, right_code, stub_text

KERNEL = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
TOOLS = """\
# The course's tools: a check below each exercise, and the points that the checks count.
from tensorgrade.notebook import check, points"""
CHECK = 'check("{name}")'
POINTS = """\
# Your points come from hidden graders, which run your code somewhere else, on other numbers.
# Here the public checks run instead.
points("{name}")"""
LONGEST_ID = 50
DUE = "**Due: {due}.** If you have an extension, its date counts instead."
CHECKS = "checks.zip"
STAMP = (1980, 1, 1, 0, 0, 0)  # a constant date, so that the same files give the same bytes
SETUP = ".setup"  # the folder for what is only needed to install the kit
# The files for `pip install -r`: the engine, with the extras for one kind of learner.
REQUIREMENTS = {"requirements.txt": "learner", "requirements-notebooks.txt": "notebooks"}
WHEEL = "Wheel-Version: 1.0\nGenerator: tensorgrade\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


# --- notebooks --------------------------------------------------------------------------------


def handout_files(project: Project, chapter: Chapter) -> Iterator[tuple[Path, bytes]]:
    """Yield the instructor's notebook, of which nbgrader makes the learners' one, and the checks.

    nbgrader hands out every file next to a notebook. A fetched chapter can therefore check itself
    in any folder.
    """
    place = project.root / "source" / chapter.name
    pictures = project.root / "solutions" / "pictures"
    notebook = notebook_text(lesson_of(project, chapter), chapter, pictures)
    yield place / f"{chapter.name}.ipynb", notebook.encode()
    yield place / CHECKS, zipped(checks_of(project.exercises, chapter.name))


def checks_of(exercises: Path, chapter: str) -> dict[str, bytes]:
    """Return the files that a chapter's public checks need, by path, without any learner's file."""
    patterns = ("course.json", FILE, f"references/{chapter}/*", f"given/{chapter}/*.py")
    return contents(exercises.parent, (path for one in patterns for path in exercises.glob(one)))


def notebook_text(lesson: list[Cell], chapter: Chapter, pictures: Path) -> str:
    """Return the text of the notebook for `source/`. pictures: the folder with the drawings."""
    names = Names()
    cells = [made for cell in lesson for made in cells_for(cell, pictures, chapter, names)]
    first_lesson = next((cell for cell in cells if cell.cell_type == "markdown"), None)
    if chapter.due and first_lesson:
        heading, line_end, rest = first_lesson.source.partition("\n")
        first_lesson.source = f"{heading}\n\n{DUE.format(due=chapter.due)}{line_end}{rest}"
    first_code = next(i for i, cell in enumerate(cells) if cell.cell_type == "code")
    cells.insert(first_code, locked(new_code_cell(TOOLS), names.take("tools")))
    notebook = new_notebook(cells=cells, metadata=KERNEL)
    nbformat.validate(notebook)
    return nbformat.writes(notebook) + "\n"


def cells_for(cell: Cell, pictures: Path, chapter: Chapter, names: "Names") -> list[NotebookNode]:
    """Return the notebook cells for a cell of the lesson.

    Hints are left out, because a check shows them one by one.
    """
    if "hints" in cell.marks:
        return []
    if cell.is_text:
        return [locked(lesson_cell(cell.source, pictures), names.of_lesson(cell.source))]
    if "exercise" in cell.marks:
        return exercise_cells(cell, chapter, names)
    if "active" in cell.marks:  # for experiments: neither locked nor graded
        name = names.take(f"try-{names.exercise}" if names.exercise else "pictures")
        return [new_code_cell(cell.source, id=name)]
    return [locked(new_code_cell(cell.source), names.take("imports"))]


def lesson_cell(source: str, pictures: Path) -> NotebookNode:
    """Return a lesson cell with its pictures embedded. Raise CourseError if one is missing."""
    cell = new_markdown_cell(PICTURE.sub(r"![\1](attachment:\2)", source))
    for match in PICTURE.finditer(source):
        path = pictures / match[2]
        if not path.exists():
            raise CourseError(f"{path} is missing, a picture of a lesson")
        content = base64.b64encode(path.read_bytes()).decode()
        cell.setdefault("attachments", {})[match[2]] = {"image/png": content}
    return cell


def exercise_cells(cell: Cell, chapter: Chapter, names: "Names") -> list[NotebookNode]:
    """Return the cell to write in, the check to run any number of times, and the graded cell."""
    name = names.exercise = cell.marks["exercise"]
    written, check = new_code_cell(right_code(cell.source)), new_code_cell(CHECK.format(name=name))
    if given := given_code(cell.source):
        written.metadata["given"] = given
    graded, points = new_code_cell(POINTS.format(name=name)), chapter.exercise(name).points
    return [
        locked(written, names.take(name), solution=True, locked=False),
        locked(check, names.take(f"check-{name}")),
        locked(graded, names.take(f"points-{name}"), grade=True, points=points),
    ]


def locked(cell: NotebookNode, name: str, **roles: bool | float) -> NotebookNode:
    """Return a cell with nbgrader's metadata (schema 3), locked unless its roles say otherwise."""
    cell.id = name
    usual = {"grade": False, "solution": False, "locked": True, "task": False}
    cell.metadata["nbgrader"] = {"grade_id": name, "schema_version": 3, **usual, **roles}
    return cell


class Names:
    """A source of readable names that never repeats one."""

    def __init__(self) -> None:
        self.taken: set[str] = set()
        self.exercise = ""

    def of_lesson(self, text: str) -> str:
        """Return a name from the first heading, or else from the previous exercise.

        >>> Names().of_lesson("# Why the sum is divided by $\\\\sqrt{n}$")
        'why-the-sum-is-divided-by-sqrt-n'
        """
        heading = re.search(r"^#+ (.+)$", text, re.MULTILINE)
        if not heading:
            return self.take(f"after-{self.exercise or 'imports'}")
        words = re.findall(r"[a-z0-9]+", heading[1].lower())
        return self.take("-".join(words)[:LONGEST_ID].rstrip("-"))

    def take(self, name: str) -> str:
        """Return the name, with a number added if it is taken.

        >>> names = Names()
        >>> [names.take("imports") for _ in range(3)]
        ['imports', 'imports-2', 'imports-3']
        """
        free, number = name, 1
        while free in self.taken:
            number += 1
            free = f"{name}-{number}"
        self.taken.add(free)
        return free


# --- the kit ----------------------------------------------------------------------------------


def files_of_kit(project: Project) -> dict[str, bytes]:
    """Return the kit's files by their path in the zip."""
    root, course = project.root, project.course
    files = contents(root, files_below(project.exercises))
    for chapter in course.chapters:
        stub = stub_text(lesson_of(project, chapter)).encode()
        files[f"exercises/{chapter.name}.py"] = stub
        files[f"{OWN_FOLDER}/originals/{chapter.name}.py"] = stub  # for `tensorgrade reset`
        files[f"notebooks/{chapter.name}.ipynb"] = released_notebook(project, chapter.name)
    if course.solutions_in_kit:
        files |= files_of_solutions(project)
    wheel, files_of_engine = engine_wheel()
    files[f"{SETUP}/{wheel}"] = zipped(files_of_engine)
    for name, extra in REQUIREMENTS.items():
        needed = [f"./{SETUP}/{wheel}[{extra}]", *course.packages, ""]
        files[f"{SETUP}/{name}"] = "\n".join(needed).encode()
    files["lessons.html"] = lessons_page(course, root, {}).encode()
    lock = root / "requirements.lock"
    files[f"{SETUP}/constraints.txt"] = lock.read_bytes() if lock.exists() else b""
    kit = root / "kit"
    return files | contents(kit, files_below(kit, hidden=True))  # such as .devcontainer


def contents(root: Path, paths: Iterable[Path]) -> dict[str, bytes]:
    """Return the contents of files, in order, by their path below a folder."""
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in sorted(paths)}


def released_notebook(project: Project, chapter: str) -> bytes:
    """Return the notebook that nbgrader made for learners.

    Raise CourseError if it is missing, or was made from another state of the lesson.
    """
    folders = (project.root / "release", project.root / "source")
    made, source = (folder / chapter / f"{chapter}.ipynb" for folder in folders)
    if not made.is_file() or given_cells(made) != given_cells(source):
        what = "older than the lesson" if made.is_file() else "missing"
        raise CourseError(f"{made} is {what}; `nbgrader generate_assignment '*' --force` makes it")
    return made.read_bytes()


def given_cells(notebook: Path) -> list[str]:
    """Return the texts of the cells that nbgrader hands out as they are."""
    cells = nbformat.read(notebook, nbformat.NO_CONVERT).cells
    return [c.source for c in cells if not c.metadata.get("nbgrader", {}).get("solution")]


def files_of_solutions(project: Project) -> dict[str, bytes]:
    """Return the solutions and PyTorch's own modules, by path in the zip."""
    names = [f"{chapter.name}.py" for chapter in project.course.chapters]
    places = [project.root / "solutions" / place for n in names for place in (n, f"torch/{n}")]
    return contents(project.root, (path for place in places for path in files_below(place)))


def engine_wheel() -> tuple[str, dict[str, bytes]]:
    """Return the file name of a wheel of the running engine, and the files in it.

    It has the same content as a built wheel, but needs neither the sources nor a build tool.
    """
    installed = installed_engine()
    info = f"tensorgrade-{installed.version}.dist-info"
    places = [path.name for path in ENGINE.iterdir()]
    files = {f"tensorgrade/{n}": path.read_bytes() for n, path in engine_files(*places).items()}
    for name in ("METADATA", "entry_points.txt", "licenses/LICENSE"):
        files[f"{info}/{name}"] = (installed.read_text(name) or "").encode()
    files[f"{info}/WHEEL"] = WHEEL.encode()
    rows = [f"{name},{digest(content)},{len(content)}" for name, content in files.items()]
    files[f"{info}/RECORD"] = "\n".join([*rows, f"{info}/RECORD,,", ""]).encode()
    return f"tensorgrade-{installed.version}-py3-none-any.whl", files


def installed_engine() -> Distribution:
    """Return pip's record of the engine. Raise CourseError if pip did not install it."""
    for found in distributions(name="tensorgrade"):
        if found.read_text("METADATA"):  # a build's leftovers among the sources have no METADATA
            return found
    raise CourseError("tensorgrade is not installed here; a kit is made of an installed one")


def digest(content: bytes) -> str:
    """Return a file's hash in the form that a wheel's RECORD uses."""
    return "sha256=" + base64.urlsafe_b64encode(sha256(content).digest()).rstrip(b"=").decode()


def zipped(files: dict[str, bytes], folder: str = "") -> bytes:
    """Pack files into a zip and return its bytes, which depend only on names and contents.

    files: contents by path. folder: put before each path, such as `kit/`.
    """
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, data in files.items():
            place = zipfile.ZipInfo(f"{folder}{name}", STAMP)
            # Pass the compression explicitly, because a ZipInfo is uncompressed by default.
            archive.writestr(place, data, zipfile.ZIP_DEFLATED)
    return content.getvalue()


def write_kit(project: Project, out: Path) -> int:
    """Write the kit and return the number of its files.

    Raise CourseError if the course is not built.
    """
    folder, chapters = project.exercises, project.course.chapters
    refuse_unbuilt(project.graders, project.course, [chapter.name for chapter in chapters])
    recorded = [stored_path(folder, c.name, e.name) for c in chapters for e in c.exercises]
    for path in (folder / "course.json", *recorded):
        refuse_missing(path)
    return write_zip(out, files_of_kit(project), f"{out.stem}/")


def write_solutions(project: Project, out: Path) -> int:
    """Write a zip of the solutions, to hand out after the deadline; return its number of files.

    Learners put it into the kit's folder, where `tensorgrade solution` finds it.
    """
    return write_zip(out, files_of_solutions(project))


def write_zip(out: Path, files: dict[str, bytes], folder: str = "") -> int:
    """Write a zip completely or not at all, and return the number of its files. Raise OSError."""
    out.parent.mkdir(parents=True, exist_ok=True)
    write_file(out, zipped(files, folder))
    return len(files)
