"""A build from start to finish: validate the files, make, write and prove.

course_errors.py finds the errors that are visible before anything runs. The proofs come
afterwards: derived files are fresh, stubs are unsolved, the folders contain no other files, and the
solutions pass their own tests.
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

from ...attempts.lab import Lab
from ...attempts.pipeline import verdict
from ...attempts.points import SMALL
from ...attempts.verdict import Status
from ...built_code import read_built, record_built
from ...course import Chapter, CourseError, Exercise
from ...originals import keep_answers, store_original
from ...project import Project, made_from
from ...recognition.edits import place_of
from ...testing.collected import CollectedTests
from ...views.words import plural
from ..building.derive import CHECKS, derive
from ..building.derived import Derived
from ..building.parts import BuildOptions, Tell
from ..building.reference_files import without_pairs
from ..cache import BUILT, BUILT_WITH_PAIRS, cache, contents, contents_of, key_of
from ..mistakes import Mistake, known, told_apart
from ..recording.bugs import given_code, mistake_given
from ..recording.casebook import recorded_cases
from .course_errors import course_errors
from .made_attempts import MadeAttempts


@dataclass(frozen=True)
class Built:
    """The result of a build. said: its last line. wrong: the problems that it found."""

    said: str = ""
    wrong: tuple[str, ...] = ()


def rebuild(
    project: Project, options: BuildOptions, tell: Tell, say: Callable[[str], object]
) -> Built:
    """Make and write the files that are missing or stale.

    say: called with a line for every file that was written, and for every copy of answers that
    would have been lost. Raise CourseError if something cannot be made.
    """
    torch.set_num_threads(1)  # cases are small, and drawing them starts here
    gc.freeze()  # otherwise every garbage collection scans all imported modules
    found, before = contents(project.root), read_built(project.root, project.graders)
    if wrong := course_errors(project, options):
        return Built(wrong=tuple(wrong))
    paths = []
    stubs = [project.exercises / f"{chapter.name}.py" for chapter in project.course.chapters]
    for file in derived(project, options, tell):
        paths.append(file.path)
        if not file.fresh():
            if file.path in stubs and (copy := keep_answers(project.root, file.path)):
                kept = copy.relative_to(project.root)
                say(f"{file.path.name} was changed here or is older; a copy is kept: {kept}")
            file.write()
            if file.path != made_from(project.graders):  # which is written after each chapter
                say(f"wrote {file.path.relative_to(project.root)}")
        if file.path in stubs:
            store_original(project.root, file.path)
    record_built(project, before, options.exercises)
    wrong = wrong_files(project, paths, options)
    wrong += [] if options.exercises else left_out_everywhere(project)
    said = last_line(project, options.exercises)
    if not wrong and not options.exercises:
        key = key_of(found | contents_of(project.root, paths))
        cache(project.root, BUILT, key, said)
        if not without_pairs(project):
            cache(project.root, BUILT_WITH_PAIRS, key, said)
    return Built(said, tuple(wrong))


def check(project: Project, options: BuildOptions, tell: Tell) -> Built:
    """Rebuild the requested files in memory and compare; write nothing.

    Pairs of mistakes that are not requested count as fresh if their sources are unchanged:
    the cases, the edits, the solution's code, and the results of each single mistake.
    """
    if wrong := course_errors(project, options):
        return Built(wrong=tuple(wrong))
    files = list(derived(project, replace(options, anew=True), tell))
    wrong = stale(project, files) + wrong_files(project, [file.path for file in files], options)
    if not wrong:  # the proofs use these files
        wrong = proofs_of_a_release(project, options.exercises)
    return Built(last_line(project, options.exercises, proved=True), tuple(wrong))


def derived(project: Project, options: BuildOptions, tell: Tell) -> Iterator[Derived]:
    """Yield the derived files. Raise CourseError with the file for each problem."""
    try:
        yield from derive(project, options, tell)
    except CourseError as error:
        lines = [with_place(project, line) for line in str(error).splitlines()]
        raise CourseError("\n".join(lines)) from None


def with_place(project: Project, line: str) -> str:
    """Prefix a message about an exercise with the file of its lesson."""
    exercise = re.split(r"\W", line, maxsplit=1)[0]
    lessons = {one.name: c.name for c in project.course.chapters for one in c.exercises}
    if exercise not in lessons or not line.startswith((f"{exercise}:", f"{exercise},")):
        return line
    return f"{project.solution(lessons[exercise])}: {line}"


def exercises_of(project: Project, names: list[str]) -> frozenset[str]:
    """Return the named exercises, and those of the named chapters.

    Raise CourseError for an unknown name.
    """
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
    " The solutions pass, and bugs are graded as expected; `tensorgrade kill-matrix` shows which "
    "mistakes the tests detect."
)


def last_line(project: Project, asked: frozenset[str], proved: bool = False) -> str:
    """Return the last line of a build without problems. asked: the exercises, if named.

    proved: the solutions and the find-the-bug exercises were tested too.
    """
    said = "All derived files are fresh."
    lacking = without_pairs(project)
    if asked:
        names = ", ".join(sorted(asked))
        said = f"{names}: fresh. Other exercises were not built."
        lacking = [name for name in lacking if name in asked]
    said += PROVED * proved
    if lacking:
        some = ", ".join(lacking[:3]) + (", …" if len(lacking) > 3 else "")
        said += (
            f"\nPairs of mistakes are still to be made for {plural(len(lacking), 'exercise')} "
            f"({some}): `tensorgrade build --pairs`, before a release."
        )
    return said


def stale(project: Project, files: list[Derived]) -> list[str]:
    """Return one sentence for each file that is missing or outdated."""
    return [
        f"{file.path.relative_to(project.root)} is {'stale' if file.path.exists() else 'missing'}"
        for file in files
        if not file.fresh()
    ]


def wrong_files(project: Project, derived: list[Path], options: BuildOptions) -> list[str]:
    """Return one sentence for each solved stub, and for each file that does not belong there."""
    chapters = filter(options.is_about, project.course.chapters)
    found = [line for chapter in chapters for line in solved_stubs(project, chapter)]
    return found if options.exercises else found + strays(project, derived)


def left_out_everywhere(project: Project) -> list[str]:
    """Return a sentence for each shared mistake that the hidden cases of no exercise tell apart."""
    fitted: dict[str, Mistake] = {}
    kept: set[str] = set()
    for name in project.course.exercise_names:
        fitted |= {one.name: one for one in known(project, name) if one.shared}
        kept |= {one.name for one in told_apart(project, name)}
    return [
        f"{one.place}: {one.name} is left out everywhere: in each exercise it changes nothing, or "
        "looks like an earlier mistake"
        for one in fitted.values()
        if one.name not in kept
    ]


def proofs_of_a_release(project: Project, only: frozenset[str] = frozenset()) -> list[str]:
    """Return the problems that block a release, apart from stale files.

    only: limit the checks to these exercises, if any are named.
    """
    found = [
        f"pairs of mistakes in {exercise} are still to be made: tensorgrade build --pairs"
        for exercise in without_pairs(project)
        if not only or exercise in only
    ]
    return found + failing_solutions(project) + list(unproved_bugs(project, only))


def failing_solutions(project: Project) -> list[str]:
    """Return a message if the solutions fail the hidden tests or the learner's own checks."""
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
    """Yield a sentence for each find-the-bug exercise that is judged wrongly, on either side."""
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
    """Yield a sentence for each wrong verdict on code with a bug: as given, fixed or rewritten."""
    name, most, right = exercise.name, exercise.points, made.source(chapter.name)
    anew = rewritten(made.project, right, chapter.name, name)
    mistake = mistake_given(made.project, chapter.name, name)
    assert mistake is not None, "others are not given with a bug"
    given = given_code(made.project, chapter.name, name, mistake)
    for how, source, status, points in (
        ("as it is given", given, Status.NOT_ATTEMPTED, 0.0),
        ("repaired", right, Status.PASSED, most),
        ("rewritten", anew, Status.PARTIAL, most * (1 - SMALL)),
    ):
        attempt = made.attempt(chapter.name, source, {name: given})
        results = collected.results(attempt, name)
        got = verdict("", exercise, attempt.exercises[name], results)
        if (got.status, got.points) != (status, points):
            yield (
                f"{name}, {how}, is {got.status} with {got.points:g} points; it should be "
                f"{status} with {points:g}"
            )


def rewritten(project: Project, text: str, chapter: str, name: str) -> str:
    """Return a solution in which a find-the-bug exercise is rewritten instead of fixed.

    The new definition is a copy of the exercise whose tests judge it.
    """
    bug = project.bug(chapter, name)
    assert bug is not None, "others are not given with a bug"
    first, last = place_of(text, bug.of)
    definition = "\n".join(text.splitlines()[first:last])
    return f"{text}\n\n" + re.sub(rf"\b{bug.of}\b", name, definition) + "\n"


def solved_stubs(project: Project, chapter: Chapter) -> list[str]:
    """Return a message for each exercise whose stub does not raise NotImplementedError."""
    path = project.exercises / f"{chapter.name}.py"
    if not path.exists():  # reported as missing
        return []
    names = [e.name for e in chapter.exercises if not project.bug(chapter.name, e.name)]
    cases = [
        case for name in names for case in recorded_cases(project, chapter.name, name, hidden=False)
    ]
    program = project.program(chapter.name, path.read_text(encoding="utf-8"))
    seen = zip(cases, Lab(None, project.course.limits).run(program, cases), strict=True)
    solved = {c.exercise for c, o in seen if not o.error or o.error.type != "NotImplementedError"}
    return [f"{chapter.name}: the stub of {name} is solved already" for name in sorted(solved)]


def strays(project: Project, derived: list[Path]) -> list[str]:
    """Return a message for each stray file or folder.

    These are unexpected files in the folders of exercises, graders and solutions, and handed-out
    folders of chapters that no longer exist. Other nbgrader assignments are left alone.
    """
    known = {*derived, *(project.solution(chapter.name) for chapter in project.course.chapters)}
    places = [
        *project.exercises.glob("*"),
        *project.exercises.glob("references/*"),
        *project.graders.glob("references/*"),
        *(project.root / "solutions").glob("*"),
    ]
    stray = [p for p in places if p.is_file() and p not in known and not hidden(p)]
    handed_out = project.root.glob(f"source/*/{CHECKS}")
    stray += [path.parent for path in handed_out if path not in known]
    return [f"{path.relative_to(project.root)} does not belong there" for path in sorted(stray)]


def hidden(path: Path) -> bool:
    """Return True if an editor or a test run created the file."""
    return path.name.startswith(".") or path.suffix == ".pyc"
