"""What is proved of a course once its derived files are made: they are fresh, its stubs are still
to do, nothing else lies among them, and its solutions pass their own tests.
"""

import subprocess
import sys
from pathlib import Path

from ...attempts.in_process import InProcess
from ...course import Chapter
from ...project import Project
from ..building.derived import Derived
from ..building.reference_files import without_pairs
from ..recording.casebook import recorded_cases


def complaints(project: Project, files: list[Derived]) -> list[str]:
    """One sentence for each thing that is not as it should be."""
    found = [
        f"{file.path.relative_to(project.root)} is stale" for file in files if not file.fresh()
    ]
    for chapter in project.course.chapters:
        found += solved_stubs(project, chapter)
    return found + strays(project, files)


def proofs_of_a_release(project: Project) -> list[str]:
    """What has to hold besides before learners get anything."""
    found = [
        f"pairs of mistakes in {exercise} are still to be made: tensorgrade build --pairs"
        for exercise in without_pairs(project)
    ]
    return found + failing_solutions(project)


def failing_solutions(project: Project) -> list[str]:
    """A sentence where the solutions do not pass the hidden tests and the learner's own checks."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "graders",
        "exercises",
        "--attempt",
        "solutions",
    ]
    run = subprocess.run(command, cwd=project.root, capture_output=True, text=True)
    return [f"the solutions fail their own tests:\n{run.stdout[-2000:]}"] if run.returncode else []


def solved_stubs(project: Project, chapter: Chapter) -> list[str]:
    """Exercises whose stub, when it is run, does not say that it is still to do."""
    names = [exercise.name for exercise in project.course.chapter(chapter.name).exercises]
    cases = [
        case for name in names for case in recorded_cases(project, chapter.name, name, hidden=False)
    ]
    source = (project.exercises / f"{chapter.name}.py").read_text(encoding="utf-8")
    backend = InProcess(project.submission(chapter.name, source))
    backend.load()
    seen = zip(cases, backend.run(cases), strict=True)
    solved = {c.exercise for c, o in seen if not o.error or o.error.type != "NotImplementedError"}
    return [f"{chapter.name}: the stub of {name} is solved already" for name in sorted(solved)]


def strays(project: Project, files: list[Derived]) -> list[str]:
    """Files in the folders of exercises and graders that nothing put there."""
    known = {file.path for file in files}
    known |= {project.solution(chapter.name) for chapter in project.course.chapters}
    places = [
        *project.exercises.glob("*"),
        *project.exercises.glob("references/*"),
        *project.graders.glob("references/*"),
        *(project.root / "solutions").glob("*"),
    ]
    return [
        f"{path.relative_to(project.root)} does not belong there"
        for path in sorted(places)
        if path.is_file() and path not in known and not hidden(path)
    ]


def hidden(path: Path) -> bool:
    """Whether an editor or a test run made it."""
    return path.name.startswith(".") or path.suffix == ".pyc"
