"""What `build --check` proves of a course, besides that its derived files are fresh."""

import ast
import subprocess
import sys
from pathlib import Path
from types import MethodType, SimpleNamespace

from ...attempts.in_process import InProcess
from ...course import Chapter, Course
from ...exchange.references import Seen
from ...judging.checks import Checks
from ...judging.course_checks import CourseChecks, load_checks
from ...project import Project
from ..building.derive import with_hints
from ..building.derived import Derived
from ..building.script import Script, read_script
from ..recording.adopted import LONGEST_OF_TWO
from ..recording.casebook import recorded_cases

FEWEST_HINTS = 2
SMALLEST_SEED = 1 << 64


def complaints(project: Project, files: list[Derived]) -> list[str]:
    """One sentence for each thing that is not as it should be."""
    found = [
        f"{file.path.relative_to(project.root)} is stale" for file in files if not file.fresh()
    ]
    found += guessable_seed(project.course) + long_sentences(project)
    for chapter in with_hints(project).chapters:
        script = read_script(project.solution(chapter.name))
        found += chapter_complaints(project, chapter, script)
        for exercise in chapter.exercises:
            found += missing_groups(project, chapter.name, exercise.name)
    return found + strays(project, files)


def guessable_seed(course: Course) -> list[str]:
    """A sentence where the seed is one that could be found by trying.

    Learner code sees numbers that are derived from it. Whoever tries out all short seeds until one
    gives those numbers has every hidden case.
    """
    if course.seed is not None and course.seed >= SMALLEST_SEED:
        return []
    return ["course_config.py: the seed can be guessed; take one of 20 digits or more, at random"]


def long_sentences(project: Project) -> list[str]:
    """A sentence for each mistake whose message is too long for two of them to fit into a row."""
    messages = {mistake.name: mistake.message for mistake in project.mistakes}
    return [
        f"{name}: its message has {len(message)} characters; {LONGEST_OF_TWO} are the most"
        for name, message in messages.items()
        if len(message) > LONGEST_OF_TWO
    ]


def chapter_complaints(project: Project, chapter: Chapter, script: Script) -> list[str]:
    """What is wrong with a chapter's exercises."""
    found = []
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


class Asked(Checks):
    """Stands for an exercise's attempt, and notes the groups of cases that its tests ask for.

    own: the course's checks.
    """

    def __init__(self, name: str, own: CourseChecks):
        self.name = name
        self.groups: list[str] = []
        self.seen: list[Seen] = []
        for check, function in own.checks.items():
            setattr(self, check, MethodType(function, self))

    def group(self, group: str) -> list:
        """No cases: there is nothing to judge."""
        self.groups.append(group)
        return []


def missing_groups(project: Project, chapter: str, exercise: str) -> list[str]:
    """A sentence for each group that a test asks for and that learners have no case in."""
    has = {case.group for case in recorded_cases(project, chapter, exercise, hidden=False)}
    tests = vars(project.grader(chapter, exercise)).items()
    own, found = load_checks(project.graders), []
    for name, test in tests:
        if any(mark.name == "exercise" for mark in getattr(test, "pytestmark", ())):
            asked = Asked(exercise, own)
            test(SimpleNamespace(**{exercise: asked}))
            found += [
                f"{chapter}: {name} asks for cases in the group {group!r}, and learners have none"
                for group in asked.groups
                if group not in has
            ]
    return found


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


def has_docstring(script: Script, name: str) -> bool:
    """Whether an exercise's definition says what it is for."""
    if name not in script.exercises:
        return False
    definitions = ast.parse(script.exercises[name].source).body
    return any(getattr(d, "name", "") == name and ast.get_docstring(d) for d in definitions)


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
