"""What `build --check` proves of a course, besides that its derived files are fresh."""

import ast
import subprocess
import sys
from pathlib import Path

from ..backends.in_process import InProcess
from ..project import Project
from .derive import Derived, with_hints
from .script import Script, read_script

FEWEST_HINTS = 2
HAND_WRITTEN = {"conftest.py", "__init__.py"}


def complaints(project: Project, files: list[Derived]) -> list[str]:
    """One sentence for each thing that is not as it should be."""
    found = [f"{file.path.relative_to(project.root)} is stale" for file in files if not file.fresh()]
    for chapter in with_hints(project).chapters:
        script = read_script(project.solution(chapter.name))
        found += chapter_complaints(project, chapter, script)
    return found + strays(project, files)


def chapter_complaints(project: Project, chapter, script: Script) -> list[str]:
    """What is wrong with a chapter's exercises."""
    found = []
    names = [exercise.name for exercise in chapter.exercises]
    if list(script.exercises) != names:
        found.append(f"{chapter.name}: the source has {list(script.exercises)}, the course {names}")
    for exercise in chapter.exercises:
        where = f"{chapter.name}: {exercise.name}"
        if len(exercise.hints) < FEWEST_HINTS:
            found.append(f"{where} has fewer than {FEWEST_HINTS} hints")
        if exercise.points <= 0:
            found.append(f"{where} has no points")
        if not any(exercise.name in mistake.edits for mistake in project.mistakes):
            found.append(f"{where} has no mistake that proves its grader")
        if not has_docstring(script, exercise.name):
            found.append(f"{where} has no docstring")
    return found + solved_stubs(project, chapter)


def failing_solutions(project: Project) -> list[str]:
    """A sentence where the solutions do not pass the hidden tests and the learner's own checks."""
    command = [sys.executable, "-m", "pytest", "-q", "graders", "exercises", "--attempt", "solutions"]
    run = subprocess.run(command, cwd=project.root, capture_output=True, text=True)
    return [f"the solutions fail their own tests:\n{run.stdout[-2000:]}"] if run.returncode else []


def has_docstring(script: Script, name: str) -> bool:
    """Whether an exercise's definition says what it is for."""
    if name not in script.exercises:
        return False
    definitions = ast.parse(script.exercises[name].source).body
    return any(getattr(d, "name", "") == name and ast.get_docstring(d) for d in definitions)


def solved_stubs(project: Project, chapter) -> list[str]:
    """Exercises whose stub, when it is run, does not say that it is still to do."""
    from ..casebook import CaseBook

    book = CaseBook(chapter.name, hidden=False)
    project.cases_of(chapter.name)(book)
    source = (project.exercises / f"{chapter.name}.py").read_text(encoding="utf-8")
    backend = InProcess(project.submission(chapter.name, source))
    backend.load()
    seen = zip(book.cases, backend.run(book.cases))
    solved = {c.exercise for c, o in seen if not o.error or o.error["type"] != "NotImplementedError"}
    return [f"{chapter.name}: the stub of {name} is solved already" for name in sorted(solved)]


def strays(project: Project, files: list[Derived]) -> list[str]:
    """Files in the folders of exercises and graders that nothing put there."""
    chapters = [chapter.name for chapter in project.course.chapters]
    known = {file.path for file in files}
    known |= {folder / f"test_{c}.py" for folder in (project.exercises, project.graders) for c in chapters}
    places = [*project.exercises.glob("*"), *project.exercises.glob("references/*"),
              *project.graders.glob("*.py"), *project.graders.glob("references/*"),
              *(project.root / "solutions").glob("*")]
    known |= {project.solution(c) for c in chapters}
    return [
        f"{path.relative_to(project.root)} does not belong there"
        for path in sorted(places)
        if path.is_file() and path not in known and path.name not in HAND_WRITTEN and not hidden(path)
    ]


def hidden(path: Path) -> bool:
    """Whether an editor or a test run made it."""
    return path.name.startswith(".") or path.suffix == ".pyc"
