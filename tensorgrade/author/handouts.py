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
from importlib.metadata import distributions
from itertools import chain, count
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_notebook

from ..built import refuse_unbuilt
from ..cells import Cell
from ..course import Chapter, CourseError, Exercise
from ..exchange.stored import refuse_missing, stored_path
from ..folders import ENGINE, OWN_FOLDER, engine_files, files_below
from ..judging.checks import FILE
from ..project import Project
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
DUE = "**Due: {due}.** If you have an extension, its date counts instead."
CHECKS = "checks.zip"
FASTEST = 1  # a level of compression: the usual one takes 60 % longer and saves 3 %
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
    name, place = chapter.name, project.root / "source" / chapter.name
    pictures = project.root / "solutions" / "pictures"
    notebook = notebook_text(lesson_of(project, chapter), chapter, pictures)
    yield place / f"{name}.ipynb", notebook.encode()
    needed = ("course.json", FILE, f"references/{name}/*", f"given/{name}/*.py")
    paths = (path for pattern in needed for path in project.exercises.glob(pattern))
    yield place / CHECKS, zipped(contents(project.root, paths))


def notebook_text(lesson: list[Cell], chapter: Chapter, pictures: Path) -> str:
    """Return the text of the notebook for `source/`. pictures: the folder with the drawings."""
    cells = list(notebook_cells(lesson, chapter, pictures))
    first_lesson = next((cell for cell in cells if cell.cell_type == "markdown"), None)
    if chapter.due and first_lesson:
        heading, line_end, rest = first_lesson.source.partition("\n")
        first_lesson.source = f"{heading}\n\n{DUE.format(due=chapter.due)}{line_end}{rest}"
    first_code = next(i for i, cell in enumerate(cells) if cell.cell_type == "code")
    cells.insert(first_code, locked(new_cell("code", TOOLS), "tools"))
    taken: set[str] = set()
    for cell in cells:  # a name that is taken gets a number
        numbered = (f"{cell.id}-{number}" for number in count(2))
        cell.id = next(name for name in chain([cell.id], numbered) if name not in taken)
        taken.add(cell.id)
        if "nbgrader" in cell.metadata:
            cell.metadata["nbgrader"]["grade_id"] = cell.id
    # `new_notebook` raises an error if a cell is wrong.
    return nbformat.writes(new_notebook(cells=cells, metadata=KERNEL)) + "\n"


def notebook_cells(lesson: list[Cell], chapter: Chapter, pictures: Path) -> Iterator[NotebookNode]:
    """Yield the notebook's cells. Several may have the same name.

    Hints are left out, because a check shows them one by one.
    """
    exercise = ""  # the previous one
    for cell in lesson:
        if cell.is_text and "hints" not in cell.marks:
            name = slug(cell.source) or f"after-{exercise or 'imports'}"
            yield locked(lesson_cell(cell.source, pictures), name)
        elif "exercise" in cell.marks:
            exercise = cell.marks["exercise"]
            yield from exercise_cells(cell, chapter.exercise(exercise))
        elif "active" in cell.marks:  # for experiments: neither locked nor graded
            yield new_cell("code", cell.source, f"try-{exercise}" if exercise else "pictures")
        elif "hints" not in cell.marks:
            yield locked(new_cell("code", cell.source), "imports")


def lesson_cell(source: str, pictures: Path) -> NotebookNode:
    """Return a lesson cell with its pictures embedded. Raise CourseError if one is missing."""
    cell = new_cell("markdown", PICTURE.sub(r"![\1](attachment:\2)", source))
    for match in PICTURE.finditer(source):
        path = pictures / match[2]
        if not path.exists():
            raise CourseError(f"{path} is missing, a picture of a lesson")
        content = base64.b64encode(path.read_bytes()).decode()
        cell.setdefault("attachments", {})[match[2]] = {"image/png": content}
    return cell


def exercise_cells(cell: Cell, exercise: Exercise) -> list[NotebookNode]:
    """Return the cell to write in, the check to run any number of times, and the graded cell."""
    name, written = exercise.name, new_cell("code", right_code(cell.source))
    if given := given_code(cell.source):
        written.metadata["given"] = given
    check, graded = (new_cell("code", text.format(name=name)) for text in (CHECK, POINTS))
    return [
        locked(written, name, solution=True, locked=False),
        locked(check, f"check-{name}"),
        locked(graded, f"points-{name}", grade=True, points=exercise.points),
    ]


def new_cell(kind: str, source: str, name: str = "") -> NotebookNode:
    """Return a cell. nbformat's own functions validate each cell, and then the notebook again."""
    cell = NotebookNode(cell_type=kind, id=name, metadata=NotebookNode(), source=source)
    if kind == "code":
        cell.update(execution_count=None, outputs=[])
    return cell


def locked(cell: NotebookNode, name: str, **roles: bool | float) -> NotebookNode:
    """Return a cell with nbgrader's metadata (schema 3), locked unless its roles say otherwise."""
    cell.id = name
    usual = {"grade": False, "solution": False, "locked": True, "task": False}
    cell.metadata["nbgrader"] = {"grade_id": name, "schema_version": 3, **usual, **roles}
    return cell


def slug(text: str) -> str:
    """Return the first heading of a text as a name; empty if it has none.

    >>> slug("# Why the sum is divided by $\\\\sqrt{n}$")
    'why-the-sum-is-divided-by-sqrt-n'
    """
    heading = re.search(r"^#+ (.+)$", text, re.MULTILINE)
    words = re.findall(r"[a-z0-9]+", heading[1].lower()) if heading else []
    return "-".join(words)[:50].rstrip("-")


# --- the kit ----------------------------------------------------------------------------------


def files_of_kit(project: Project) -> dict[str, bytes]:
    """Return the kit's files by their path in the zip.

    Raise CourseError if the course is not built or not released.
    """
    from ..views.lessons import lessons_page  # a build needs none of what this imports

    root, course = project.root, project.course
    refuse_unbuilt(project.graders, course, [chapter.name for chapter in course.chapters])
    refuse_missing(project.exercises / "course.json")
    files = contents(root, files_below(project.exercises))
    for chapter in course.chapters:
        for exercise in chapter.exercises:
            refuse_missing(stored_path(project.exercises, chapter.name, exercise.name))
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

    def given_cells(notebook: Path) -> list[str]:  # which nbgrader hands out unchanged
        cells = nbformat.read(notebook, nbformat.NO_CONVERT).cells
        return [c.source for c in cells if not c.metadata.get("nbgrader", {}).get("solution")]

    folders = (project.root / "release", project.root / "source")
    made, source = (folder / chapter / f"{chapter}.ipynb" for folder in folders)
    if not made.is_file() or given_cells(made) != given_cells(source):
        what = "older than the lesson" if made.is_file() else "missing"
        raise CourseError(f"{made} is {what}; `nbgrader generate_assignment '*' --force` makes it")
    return made.read_bytes()


def files_of_solutions(project: Project) -> dict[str, bytes]:
    """Return the solutions and PyTorch's own modules, by path in the zip.

    Learners put them into the kit's folder, where `tensorgrade solution` finds them.
    """
    names = [f"{chapter.name}.py" for chapter in project.course.chapters]
    places = [project.root / "solutions" / place for n in names for place in (n, f"torch/{n}")]
    return contents(project.root, (path for place in places for path in files_below(place)))


def engine_wheel() -> tuple[str, dict[str, bytes]]:
    """Return the file name of a wheel of the running engine, and the files in it.

    It has the same content as a built wheel, but needs neither the sources nor a build tool. Raise
    CourseError if pip did not install the engine.
    """
    # A build's leftovers among the sources have no METADATA.
    found = [one for one in distributions(name="tensorgrade") if one.read_text("METADATA")]
    if not found:
        raise CourseError("tensorgrade is not installed here; a kit is made of an installed one")
    engine = f"tensorgrade-{found[0].version}"
    places = engine_files(*(path.name for path in ENGINE.iterdir()))
    files = {f"tensorgrade/{name}": path.read_bytes() for name, path in places.items()}
    for name in ("METADATA", "entry_points.txt", "licenses/LICENSE"):
        files[f"{engine}.dist-info/{name}"] = (found[0].read_text(name) or "").encode()
    files[f"{engine}.dist-info/WHEEL"] = WHEEL.encode()
    record, rows = f"{engine}.dist-info/RECORD", []
    for name, content in files.items():
        digest = base64.urlsafe_b64encode(sha256(content).digest()).rstrip(b"=").decode()
        rows.append(f"{name},sha256={digest},{len(content)}")
    files[record] = "\n".join([*rows, f"{record},,", ""]).encode()
    return f"{engine}-py3-none-any.whl", files


def zipped(files: dict[str, bytes], folder: str = "") -> bytes:
    """Pack files into a zip and return its bytes, which depend only on names and contents.

    files: contents by path. folder: put before each path, such as `kit/`.
    """
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, data in files.items():
            place = zipfile.ZipInfo(f"{folder}{name}", STAMP)
            # Pass the compression explicitly, because a ZipInfo is uncompressed by default.
            archive.writestr(place, data, zipfile.ZIP_DEFLATED, FASTEST)
    return content.getvalue()
