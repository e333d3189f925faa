"""The learner's kit: one zip with everything to learn and check, and nothing that is hidden.

The engine is included as a wheel for learners to install. It contains no course's answers, so a kit
holds the same engine as an instructor's machine.
"""

import io
import zipfile
from base64 import urlsafe_b64encode
from hashlib import sha256
from importlib.metadata import Distribution, distributions
from pathlib import Path

import nbformat

from ..course import Chapter, Course, CourseError
from ..exchange.stored import refuse_missing, stored_path
from ..folders import ENGINE, OWN_FOLDER, engine_files, files_below, write_file
from ..originals import original_of
from ..project import Project
from ..views.lessons import lessons_page
from .building.derive import script_for_learners
from .building.script import stub_text
from .recording.keys import refuse_unbuilt

NOTHING_PINNED = "# The course has no requirements.lock: any versions will do.\n"
STAMP = (2020, 1, 1, 0, 0, 0)  # a constant date, so that the same kit has the same bytes
SETUP = ".setup"  # the folder for what is only needed to install the kit
# The files for `pip install -r`: the engine, with the extras for one kind of learner.
REQUIREMENTS = {"requirements.txt": "learner", "requirements-notebooks.txt": "notebooks"}
WHEEL = "Wheel-Version: 1.0\nGenerator: tensorgrade\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def files_of_kit(project: Project) -> dict[str, bytes]:
    """Return the kit's files by their path in the zip."""
    files = {}
    for path in sorted(files_below(project.exercises)):
        files[path.relative_to(project.root).as_posix()] = path.read_bytes()
    for chapter in project.course.chapters:
        stub = stub_of(project, chapter)
        files[f"exercises/{chapter.name}.py"] = stub
        files[f"{OWN_FOLDER}/originals/{chapter.name}.py"] = stub  # for `tensorgrade reset`
        files[f"notebooks/{chapter.name}.ipynb"] = released_notebook(project, chapter.name)
    if project.course.solutions_in_kit:
        files |= files_of_solutions(project)
    wheel, files_of_engine = engine_wheel()
    files[f"{SETUP}/{wheel}"] = zipped(files_of_engine)
    for name, extra in REQUIREMENTS.items():
        needed = [f"./{SETUP}/{wheel}[{extra}]", *public_course(project).packages]
        files[f"{SETUP}/{name}"] = ("\n".join(needed) + "\n").encode()
    files["lessons.html"] = lessons_page(public_course(project), project.root, {}).encode()
    lock = project.root / "requirements.lock"
    pinned = lock.read_text(encoding="utf-8") if lock.exists() else NOTHING_PINNED
    files[f"{SETUP}/constraints.txt"] = pinned.encode()
    kit = project.root / "kit"
    for path in sorted(files_below(kit, hidden=True)):  # such as .devcontainer
        files[path.relative_to(kit).as_posix()] = path.read_bytes()
    return files


def stub_of(project: Project, chapter: Chapter) -> bytes:
    """Return a chapter's stub from the last build. `exercises/` may contain answers by now."""
    original = original_of(project.root, chapter.name)
    if original.is_file():
        return original.read_bytes()
    return stub_text(script_for_learners(project, chapter)).encode()


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
    folder, files = project.root / "solutions", {}
    for chapter in project.course.chapters:
        places = (f"{chapter.name}.py", f"torch/{chapter.name}.py")
        for path in (path for place in places for path in files_below(folder / place)):
            files[path.relative_to(project.root).as_posix()] = path.read_bytes()
    return files


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
    return "sha256=" + urlsafe_b64encode(sha256(content).digest()).rstrip(b"=").decode()


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


def public_course(project: Project) -> Course:
    """Return the course in its public form for learners."""
    return Course.from_json((project.exercises / "course.json").read_text(encoding="utf-8"))


def write_kit(project: Project, out: Path) -> int:
    """Write the kit and return the number of its files.

    Raise CourseError if the course is not built.
    """
    if not (project.exercises / "course.json").exists():
        raise CourseError("there is no exercises/course.json yet; run `tensorgrade build` first")
    refuse_unbuilt(project.graders, [chapter.name for chapter in project.course.chapters])
    for chapter in project.course.chapters:
        for exercise in chapter.exercises:
            refuse_missing(stored_path(project.exercises, chapter.name, exercise.name))
    files = files_of_kit(project)
    write_zip(out, zipped(files, f"{out.stem}/"))
    return len(files)


def write_solutions(project: Project, out: Path) -> int:
    """Write a zip of the solutions, to hand out after the deadline; return its number of files.

    Learners put it into the kit's folder, where `tensorgrade solution` finds it.
    """
    files = files_of_solutions(project)
    write_zip(out, zipped(files))
    return len(files)


def write_zip(out: Path, content: bytes) -> None:
    """Write a zip completely or not at all. Raise CourseError, such as on a full disk."""
    out.parent.mkdir(parents=True, exist_ok=True)
    try:
        write_file(out, content)
    except OSError as error:
        raise CourseError(f"{out} cannot be written: {error.strerror}") from None
