"""The files that a chapter's grades depend on, and a digest of them."""

from pathlib import Path

from ..course import Course
from ..exchange.stored_key import SUFFIX, key_in
from ..folders import JUDGED_WITH, digest_of_files, engine_files


def graders_files(graders: Path, chapter: str = "*") -> dict[str, Path]:
    """Return the files that grading a chapter (or all) needs, by path from the course's root.

    Files next to the chapters' folders are shared, because grader files import them. Public cases
    count too: pairs of mistakes are looked up on them. Grading does not read `mistakes.py`.
    """
    root = graders.parent
    patterns = {
        graders: (f"{chapter}/*.py", "*.py", f"references/{chapter}/*"),
        root / "exercises": (f"given/{chapter}/*.py", f"references/{chapter}/*"),
    }
    found = {path for folder, names in patterns.items() for n in names for path in folder.glob(n)}
    return {
        str(path.relative_to(root)): path
        for path in sorted(found)
        if path.is_file() and path.name != "mistakes.py"
    }


def parcel_of(graders: Path, course: Course, chapter: str = "*") -> dict[str, bytes]:
    """Return the content of these files and the course, as they travel to other machines.

    The course is included without its seed and without the rest of `course_config.py`, which may
    hold a gradebook's password.
    """
    files = {name: path.read_bytes() for name, path in graders_files(graders, chapter).items()}
    return files | {"graders/course.json": course.public_json().encode()}


def digest_of(graders: Path, course: Course, chapter: str = "*") -> str:
    """Return a digest of everything that affects the grades of a chapter, or of all.

    It changes with a hidden test, a recording, a mistake's message, a setting that affects grading,
    or the engine's code that decides results (JUDGED_WITH). Titles and dates do not matter.
    """
    files = graders_files(graders, chapter)
    # A key stands for a whole file, whose copy of the lesson's text does not matter.
    keys = [f"{name} {key_in(path)}" for name, path in files.items() if path.suffix == SUFFIX]
    files = {name: path for name, path in files.items() if path.suffix != SUFFIX}
    files |= {f"engine/{name}": path for name, path in engine_files(*JUDGED_WITH).items()}
    names = ("seed", "tolerances", "limits", "isolation", "packages")
    settings = {name: getattr(course, name) for name in names}
    exercises = [
        (exercise.name, exercise.points, exercise.like)
        for one in course.chapters
        for exercise in one.exercises
        if chapter in ("*", one.name)
    ]
    return digest_of_files(files, repr((settings, exercises)), *keys)[:16]
