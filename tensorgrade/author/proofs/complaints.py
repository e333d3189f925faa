"""A build from its first complaint to its last: look through, make, write, prove.

What can be seen before anything is run is in slips.py. What is proved afterwards: derived files are
fresh, stubs are still to do, nothing else lies among them, and solutions pass their own tests.
"""

import gc
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path

import torch

from ...attempts.in_process import InProcess
from ...attempts.pipeline import verdict
from ...attempts.points import SMALL
from ...attempts.verdict import Status
from ...course import Chapter, CourseError, Exercise
from ...project import Project
from ...recognition.mistakes import place_of
from ...testing.collected import CollectedTests
from ...views.words import plural
from ..building.derive import CHECKS, derive
from ..building.derived import Derived
from ..building.made_parts import Tell, Wish
from ..building.reference_files import without_pairs
from ..kept import Kept
from ..proved import Proved, keep_proved, proved_before, seen_in, seen_now, unproved
from ..recording.bugs import bug_with, candidates
from ..recording.casebook import recorded_cases
from ..recording.origin import case_digest, digest, engine_digest
from .made_attempts import MadeAttempts
from .slips import place_of_mistake, slips


@dataclass(frozen=True)
class Built:
    """How a build came out. said: its last line. wrong: what is not as it should be."""

    said: str = ""
    wrong: tuple[str, ...] = ()


def rebuild(project: Project, wish: Wish, tell: Tell, wrote: Callable[[str], object]) -> Built:
    """Make and write what is missing or stale. What was proved before and is the same since then
    is not looked at again.

    wrote: is told of every file that was written. Raises CourseError where something cannot be
    made.
    """
    torch.set_num_threads(1)  # cases are small, and are drawn from here on
    gc.freeze()  # else every collection goes through all that was imported
    proved, seen = proved_before(project.root), seen_now(project.root)
    left = unproved(project, proved, seen)
    asked = wish.exercises
    if left and not asked and proved.pairs >= wish.pairs:
        wish = replace(wish, exercises=left)
    if wrong := slips(project, wish):
        return Built(wrong=tuple(wrong))
    files = derived(project, wish, tell)
    for file in files:
        if not file.fresh():
            file.write()
            wrote(str(file.path.relative_to(project.root)))
    wrong = complaints(project, files, wish, Kept(project.root))
    if not wrong and (not wish.exercises or (left is not None and left <= wish.exercises)):
        seen |= seen_in(project.root, [file.path for file in files])
        said = last_line(project, frozenset())
        keep_proved(project.root, Proved(seen, not without_pairs(project), said))
    return Built(last_line(project, asked), tuple(wrong))


def check(project: Project, wish: Wish, tell: Tell) -> Built:
    """Make what is wished for anew and compare; write nothing.

    Pairs of mistakes that are not wished for are taken for fresh where all is the same that they
    were made from: cases, edits, the solution's code, and what each of the two gives alone.
    """
    if wrong := slips(project, wish):
        return Built(wrong=tuple(wrong))
    files = derived(project, replace(wish, anew=True), tell)
    wrong = complaints(project, files, wish) + proofs_of_a_release(project, wish.exercises)
    return Built(last_line(project, wish.exercises, proved=True), tuple(wrong))


def derived(project: Project, wish: Wish, tell: Tell) -> list[Derived]:
    """The derived files. Raises CourseError, each line with the file that it is about."""
    try:
        return derive(project, wish, tell)
    except CourseError as error:
        lines = [with_place(project, line) for line in str(error).splitlines()]
        raise CourseError("\n".join(lines)) from None


def with_place(project: Project, line: str) -> str:
    """A sentence on an exercise, or on a mistake in one, behind the file in which that stands."""
    exercise, *words = re.findall(r"\w+", line) or [""]
    lessons = {one.name: c.name for c in project.course.chapters for one in c.exercises}
    if exercise not in lessons or not line.startswith((f"{exercise}:", f"{exercise},")):
        return line
    place = place_of_mistake(project, words[0]) if words else ""
    return (place or f"{project.solution(lessons[exercise])}: ") + line


def exercises_of(project: Project, names: list[str]) -> frozenset[str]:
    """The exercises that are named, or that are in the chapters that are. Raises CourseError."""
    chapters = {chapter.name: chapter for chapter in project.course.chapters}
    exercises = [one.name for chapter in chapters.values() for one in chapter.exercises]
    found: set[str] = set()
    for name in names:
        if name not in chapters and name not in exercises:
            close = get_close_matches(name, [*chapters, *exercises]) or chapters
            raise CourseError(f"there is no {name}; there is {', '.join(close)}")
        found |= {one.name for one in chapters[name].exercises} if name in chapters else {name}
    return frozenset(found)


PROVED = (
    " The solutions pass, and bugs are judged as they should be; what else the tests notice, "
    "`tensorgrade kill-matrix` says."
)


def last_line(project: Project, asked: frozenset[str], proved: bool = False) -> str:
    """What a build says at its end, where nothing is wrong. asked: the exercises, if named."""
    said = "All derived files are fresh."
    lacking = without_pairs(project)
    if asked:
        names = ", ".join(sorted(asked))
        said = f"{names}: fresh. Other exercises were left as they are."
        lacking = [name for name in lacking if name in asked]
    said += PROVED * proved
    if lacking:
        some = ", ".join(lacking[:3]) + (", …" if len(lacking) > 3 else "")
        said += (
            f"\nPairs of mistakes are still to be made for {plural(len(lacking), 'exercise')} "
            f"({some}): `tensorgrade build --pairs`, before a release."
        )
    return said


def complaints(
    project: Project,
    files: list[Derived],
    wish: Wish = Wish(),  # noqa: B008
    kept: Kept | None = None,
) -> list[str]:
    """One sentence for each thing that is not as it should be, as far as a wish is about it.

    kept: where it may stand that a stub was looked at before.
    """
    found = [
        f"{file.path.relative_to(project.root)} is {'stale' if file.path.exists() else 'missing'}"
        for file in files
        if not file.fresh()
    ]
    for chapter in filter(wish.is_about, project.course.chapters):
        found += solved_stubs(project, chapter, kept)
    return found if wish.exercises else found + strays(project, files)


def proofs_of_a_release(project: Project, only: frozenset[str] = frozenset()) -> list[str]:
    """What has to hold besides before learners get anything. only: of these exercises, if any."""
    found = [
        f"pairs of mistakes in {exercise} are still to be made: tensorgrade build --pairs"
        for exercise in without_pairs(project)
        if not only or exercise in only
    ]
    return found + failing_solutions(project) + list(unproved_bugs(project, only))


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


def unproved_bugs(project: Project, only: frozenset[str] = frozenset()) -> Iterator[str]:
    """A sentence for each exercise with a bug that is not judged as it should be.

    Tried with every mistake that the seed could draw, on learners' cases and on hidden ones.
    """
    asked = [
        (chapter, exercise)
        for chapter in project.course.chapters
        for exercise in chapter.exercises
        if project.bug(chapter.name, exercise.name) and (not only or exercise.name in only)
    ]
    for tests in (project.graders, project.exercises) if asked else ():
        collected, made = CollectedTests(tests), MadeAttempts(project, tests)
        for chapter, exercise in asked:
            for said in judged_otherwise(collected, made, chapter, exercise):
                yield f"{tests.name}: {said}"


def judged_otherwise(
    collected: CollectedTests, made: MadeAttempts, chapter: Chapter, exercise: Exercise
) -> Iterator[str]:
    """What is wrong with what tests make of code with a bug: as given, mended or written anew."""
    name, most, right = exercise.name, exercise.points, made.source(chapter.name)
    anew = written_anew(made.project, right, chapter.name, name)
    for mistake in candidates(made.project, chapter.name, name):
        bug = bug_with(made.project, chapter.name, name, mistake)
        for how, source, status, points in (
            ("as it is given", bug, Status.NOT_ATTEMPTED, 0.0),
            ("mended", right, Status.PASSED, most),
            ("written anew", anew, Status.PARTIAL, most * (1 - SMALL)),
        ):
            attempt = made.attempt(chapter.name, source, {name: bug})
            results = collected.results(attempt, name)
            got = verdict("", exercise, attempt.exercises[name], results)
            if (got.status, got.points) != (status, points):
                yield (
                    f"{name} with {mistake.name}, {how}, is {got.status} with {got.points:g} "
                    f"points; it should be {status} with {points:g}"
                )


def written_anew(project: Project, text: str, chapter: str, name: str) -> str:
    """A solution with an exercise written as the one that it is judged as."""
    bug = project.bug(chapter, name)
    assert bug is not None, "others are not given with a bug"
    first, last = place_of(text, bug.of)
    definition = "\n".join(text.splitlines()[first:last])
    return f"{text}\n\n" + re.sub(rf"\b{bug.of}\b", name, definition) + "\n"


def solved_stubs(project: Project, chapter: Chapter, kept: Kept | None = None) -> list[str]:
    """Exercises whose stub, when it is run, does not say that it is still to do."""
    names = [e.name for e in chapter.exercises if not project.bug(chapter.name, e.name)]
    cases = [
        case for name in names for case in recorded_cases(project, chapter.name, name, hidden=False)
    ]
    source = (project.exercises / f"{chapter.name}.py").read_text(encoding="utf-8")
    submission, name = project.submission(chapter.name, source), f"{chapter.name}/stub.txt"
    looked_at = digest(engine_digest(), repr(submission), *map(case_digest, cases))
    if kept and kept.text(name) == looked_at:
        return []
    backend = InProcess(submission)
    backend.load()
    seen = zip(cases, backend.run(cases), strict=True)
    solved = {c.exercise for c, o in seen if not o.error or o.error.type != "NotImplementedError"}
    if kept and not solved:
        kept.keep_text(name, looked_at)
    return [f"{chapter.name}: the stub of {name} is solved already" for name in sorted(solved)]


def strays(project: Project, files: list[Derived]) -> list[str]:
    """Files in the folders of exercises and graders that nothing put there, and handed out
    folders of what is no chapter now; other assignments of nbgrader's are left alone.
    """
    known = {file.path for file in files}
    known |= {project.solution(chapter.name) for chapter in project.course.chapters}
    known |= {project.root / "solutions" / name for name in project.course.beside}
    places = [
        *project.exercises.glob("*"),
        *project.exercises.glob("references/*"),
        *project.graders.glob("references/*"),
        *(project.root / "solutions").glob("*"),
    ]
    stray = [p for p in places if p.is_file() and p not in known and not hidden(p)]
    handed_out = (p for at in ("source", "release") for p in project.root.glob(f"{at}/*/{CHECKS}"))
    stray += [path.parent for path in handed_out if path not in known]
    return [f"{path.relative_to(project.root)} does not belong there" for path in sorted(stray)]


def hidden(path: Path) -> bool:
    """Whether an editor or a test run made it."""
    return path.name.startswith(".") or path.suffix == ".pyc"
