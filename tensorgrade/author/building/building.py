"""Build a course: the learners' files, and the recording of each exercise and side.

Each file is written only if its content changes. A recording is written as soon as it is made, so
an interrupted build keeps the finished ones.
"""

import gc
import json
import re
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import BrokenExecutor, as_completed
from difflib import get_close_matches
from pathlib import Path

import torch

from ...attempts.lab import Lab
from ...course import Chapter, CourseError
from ...folders import write_file
from ...originals import keep_answers, store_original
from ...processes import Pool, side_by_side
from ...project import Project
from ...recognition.fingerprints import mistakes_path
from ...views.words import plural
from ..mistakes import Mistake, known, told_apart
from ..proofs.course_errors import course_errors
from ..recording.casebook import recorded_cases
from ..recording.record import has_pairs, is_due, record
from ..recording.references import Recording, recordings_of
from .derive import CHECKS, chapters_with, handout_files, learner_files, stub_of, with_hints

FEW_RUNS = 100  # up to this many runs, starting a pool costs more than it saves
# A progress callback: the exercise, the number of runs done, and the total number of runs.
Tell = Callable[[str, int, int], object]
Say = Callable[[str], object]
RECORDINGS: dict[Path, Recording] = {}  # of the current build, inherited by its forks


def build(project: Project, only: Collection[str], pairs: bool, tell: Tell, say: Say) -> list[str]:
    """Write the files that are missing or were made from something else. Return the errors.

    only: build only these exercises, and the other files of their chapters; all if it is empty.
    pairs: make pairs of mistakes even if they are many. say: called with a line for every file that
    was written, and for every copy of answers that would have been lost.
    """
    torch.set_num_threads(1)  # cases are small, and forking a process that has threads can hang
    gc.freeze()  # otherwise every garbage collection scans all imported modules
    if wrong := course_errors(project, only):
        return wrong
    course, written = with_hints(project), Files(project, say)
    chapters = chapters_with(course, only)
    written.write_all(learner_files(project, course))
    for chapter in chapters:
        written.write_stub(chapter.name, stub_of(project, chapter))
        written.write_all(mistakes_files(project, chapter))
    recordings = recordings_of(project, chapters)
    asked = [one for one in recordings if not only or one.exercise in only]
    due = [one for one in asked if is_due(one, pairs)]
    if wrong := record_all(project, due, pairs, tell, say):
        return [with_place(project, line) for line in dict.fromkeys(wrong)]
    if not only:
        written.delete_others([one.path for one in recordings])
    for chapter in chapters:
        written.write_all(handout_files(project, chapter))
    wrong = [line for chapter in chapters for line in solved_stubs(project, chapter)]
    return wrong if only else wrong + left_out_everywhere(project) + strays(project, written.paths)


class Files:
    """The files of a build. paths: those that it wrote or left unchanged."""

    def __init__(self, project: Project, say: Say):
        self.project, self.say = project, say
        self.paths: list[Path] = []

    def write_all(self, files: Iterator[tuple[Path, bytes]]) -> None:
        """Write files, given with their content, if they changed."""
        for path, content in files:
            self.write(path, content)

    def write(self, path: Path, content: bytes) -> None:
        """Write a file if it changed."""
        self.paths.append(path)
        if not path.is_file() or path.read_bytes() != content:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_file(path, content)
            self.say(f"wrote {path.relative_to(self.project.root)}")

    def write_stub(self, chapter: str, content: bytes) -> None:
        """Write a chapter's stub. Keep a copy of answers that it replaces."""
        path, root = self.project.exercises / f"{chapter}.py", self.project.root
        is_other = path.is_file() and path.read_bytes() != content
        if is_other and (copy := keep_answers(root, path)):
            kept = copy.relative_to(root)
            self.say(f"{path.name} was changed here or is older; a copy is kept: {kept}")
        self.write(path, content)
        store_original(root, path)

    def delete_others(self, recorded: list[Path]) -> None:
        """Delete files in the folders of recordings that no exercise needs any more."""
        for folder in (self.project.graders, self.project.exercises):
            for path in sorted((folder / "references").rglob("*")):
                if path.is_file() and path not in recorded and path not in self.paths:
                    path.unlink()
                    self.say(f"deleted {path.relative_to(self.project.root)}")


def mistakes_files(project: Project, chapter: Chapter) -> Iterator[tuple[Path, bytes]]:
    """Yield the files with messages and prices of a chapter's mistakes, one for each side."""
    by_exercise = {one.name: known(project, one.name) for one in chapter.exercises}
    every = [one for some in by_exercise.values() for one in some]
    about: dict[str, dict] = {"messages": {one.name: one.message for one in every}}
    about["prices"] = {
        name: {one.name: one.price for one in some if one.price is not None}
        for name, some in by_exercise.items()
    }
    text = json.dumps(about, indent=1) + "\n"
    for folder in (project.graders, project.exercises):
        yield mistakes_path(folder, chapter.name), text.encode()


def record_all(
    project: Project, due: list[Recording], pairs: bool, tell: Tell, say: Say
) -> list[str]:
    """Record exercises side by side, the longest first. Return the errors."""
    runs = {one.path: runs_of(one, pairs) for one in due}
    done, total, wrong = 0, sum(runs.values()), []
    RECORDINGS.update((one.path, one) for one in due)
    try:
        with side_by_side(warm=True) as pool:
            due.sort(key=lambda one: -runs[one.path])
            for one, found in finished(due, pairs, pool if total > FEW_RUNS else None):
                done += runs[one.path]
                tell(one.exercise, done, total)
                if not found:
                    say(f"wrote {one.path.relative_to(project.root)}")
                wrong += found
    finally:
        RECORDINGS.clear()
    return wrong


def runs_of(recording: Recording, pairs: bool) -> int:
    """Return the number of runs that a recording takes, for the display of progress."""
    versions = len(recording.singles)
    if pairs and not recording.hidden:
        versions += len(recording.singles) ** 2 // 2
    return (versions + 1) * len(recording.cases)


def finished(
    due: list[Recording], pairs: bool, pool: Pool | None
) -> Iterator[tuple[Recording, list[str]]]:
    """Yield recordings with their errors, in the order in which they finish."""
    if pool is None:
        yield from ((one, record(one, pairs)) for one in due)
        return
    running = {
        pool.submit(
            record_there, one.path, (one.project.root, one.chapter, one.exercise, one.hidden), pairs
        ): one
        for one in due
    }
    for future in as_completed(running):
        try:
            yield running[future], future.result()
        except BrokenExecutor:
            why = "a known mistake in it, or in one built at the same time, ended the process"
            yield running[future], [f"{running[future].exercise}: {why}"]


def record_there(path: Path, names: tuple, pairs: bool) -> list[str]:
    """Record an exercise in a worker. A fork has the recording of its parent process."""
    torch.set_num_threads(1)
    root, *of = names
    return record(RECORDINGS.get(path) or Recording(Project(root), *of), pairs)


def with_place(project: Project, line: str) -> str:
    """Prefix a message about an exercise with the file of its lesson."""
    exercise = re.split(r"\W", line, maxsplit=1)[0]
    lessons = {one.name: c.name for c in project.course.chapters for one in c.exercises}
    if exercise not in lessons or not line.startswith((f"{exercise}:", f"{exercise},")):
        return line
    return f"{project.solution(lessons[exercise])}: {line}"


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


def last_line(project: Project, only: Collection[str]) -> str:
    """Return the last line of a build without problems. only: as in `build`."""
    said = "All derived files are fresh."
    lacking = without_pairs(project)
    if only:
        said = f"{', '.join(sorted(only))}: fresh. Other exercises were not built."
        lacking = [name for name in lacking if name in only]
    if lacking:
        some = ", ".join(lacking[:3]) + (", …" if len(lacking) > 3 else "")
        said += (
            f"\nPairs of mistakes are still to be made for {plural(len(lacking), 'exercise')} "
            f"({some}): `tensorgrade build --pairs`, before a release."
        )
    return said


def without_pairs(project: Project) -> list[str]:
    """Return the exercises whose stored fingerprints lack pairs of mistakes."""
    public = [one for one in recordings_of(project, [*project.course.chapters]) if not one.hidden]
    return [one.exercise for one in public if not has_pairs(one)]


def solved_stubs(project: Project, chapter: Chapter) -> list[str]:
    """Return a message for each exercise whose stub does not raise NotImplementedError."""
    names = [e.name for e in chapter.exercises if not e.like]
    cases = [
        case for name in names for case in recorded_cases(project, chapter.name, name, hidden=False)
    ]
    text = (project.exercises / f"{chapter.name}.py").read_text(encoding="utf-8")
    program = project.program(chapter.name, text)
    seen = zip(cases, Lab(None, project.course.limits).run(program, cases), strict=True)
    solved = {c.exercise for c, o in seen if not o.error or o.error.type != "NotImplementedError"}
    return [f"{chapter.name}: the stub of {name} is solved already" for name in sorted(solved)]


def strays(project: Project, written: list[Path]) -> list[str]:
    """Return a message for each stray file or folder.

    These are unexpected files in the folders of exercises and solutions, and handed-out folders of
    chapters that no longer exist. Other nbgrader assignments are left alone.
    """
    known = {*written, *(project.solution(chapter.name) for chapter in project.course.chapters)}
    places = [*project.exercises.glob("*"), *(project.root / "solutions").glob("*")]
    stray = [p for p in places if p.is_file() and p not in known and not is_by_tools(p)]
    handed_out = project.root.glob(f"source/*/{CHECKS}")
    stray += [path.parent for path in handed_out if path not in known]
    return [f"{path.relative_to(project.root)} does not belong there" for path in sorted(stray)]


def is_by_tools(path: Path) -> bool:
    """Return True if an editor or a test run created the file."""
    return path.name.startswith(".") or path.suffix == ".pyc"
