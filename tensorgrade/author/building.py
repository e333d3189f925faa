"""Build a course: the learners' files, and the recording of each exercise and side.

Each file is written only if its content changes. A recording is written as soon as it is made, so
an interrupted build keeps the finished ones.
"""

import gc
import json
from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import BrokenExecutor, as_completed
from contextlib import suppress
from difflib import get_close_matches
from pathlib import Path

import torch

from ..built import built_path, sources_of, with_chapters
from ..course import Chapter, CourseError
from ..exchange.references import stored_form as stored_references
from ..exchange.stored import read_part, store
from ..exchange.stored_key import key_in
from ..folders import keep_copy, original_of, write_file
from ..judging.checks import FILE
from ..processes import side_by_side
from ..project import Project
from ..recognition.fingerprints import mistakes_path
from ..recognition.fingerprints import stored_form as stored_fingerprints
from ..views.words import plural
from .errors import course_errors
from .handouts import CHECKS, handout_files
from .keys import key_of, texts_of
from .lessons import lesson_of, stub_text
from .mistakes import known, shared_mistakes, told_apart
from .pairs import singles_of, with_pairs
from .recording import Recording, recordings_of

# A progress callback: the exercise, the number of runs done, and the total number of runs.
Tell = Callable[[str, int, int], object]
Say = Callable[[str], object]
IN_WORKER: list[Project] = []  # the project of a worker process


def build(project: Project, names: Collection[str], pairs: bool, tell: Tell, say: Say) -> list[str]:
    """Write the files that are missing or were made from something else. Return the errors.

    names: build only these chapters, and those of these exercises; all if it is empty. pairs: make
    pairs of mistakes even if they are many. say: called with a line for every file that was
    written, and for every copy of answers that would have been lost. Raise CourseError for an
    unknown name.
    """
    torch.set_num_threads(1)  # cases are small, and forking a process that has threads can hang
    gc.freeze()  # otherwise every garbage collection scans all imported modules
    chapters = chapters_with(project, names)
    if wrong := course_errors(project, chapters):
        return wrong
    course, files = project.course, Files(project, say)
    files.write(project.exercises / "course.json", course.public_json().encode())
    if (own := project.graders / FILE).exists():
        files.write(project.exercises / FILE, own.read_bytes())
    for chapter in chapters:
        files.write_stub(chapter)
        for path, content in mistakes_files(project, chapter):
            files.write(path, content)
    recordings, made = recordings_of(project, chapters), built_path(project.graders)
    sources = {one.name: sources_of(project.root, course, one.name) for one in chapters}
    due = [one for one in recordings if is_due(one, pairs)]
    if wrong := record_all(project, due, pairs, tell, say):
        return list(dict.fromkeys(wrong))
    write_changed(made, with_chapters(project.graders, sources))
    is_whole = len(chapters) == len(course.chapters)
    if is_whole:
        files.delete_others([made, *(one.path for one in recordings)])
    for chapter in chapters:
        for path, content in handout_files(project, chapter):
            files.write(path, content)
    wrong = list(solved_stubs(recordings))
    if is_whole:
        wrong += [*left_out_everywhere(project), *strays(project, files.paths)]
    return wrong


def chapters_with(project: Project, names: Collection[str]) -> list[Chapter]:
    """Return the named chapters, and those of named exercises, in order; all without names.

    Raise CourseError for an unknown name.
    """
    chapters = project.course.chapters
    named = {one.name: {one.name, *(e.name for e in one.exercises)} for one in chapters}
    every = set().union(*named.values())
    for name in names:
        if name not in every:
            close = get_close_matches(name, every) or named
            raise CourseError(f"there is no {name}; there is {', '.join(close)}")
    return [one for one in chapters if not names or named[one.name] & set(names)]


class Files:
    """The files of a build. paths: those that it wrote or left unchanged."""

    def __init__(self, project: Project, say: Say):
        self.project, self.say = project, say
        self.paths: list[Path] = []

    def write(self, path: Path, content: bytes) -> None:
        """Write a file if it changed."""
        self.paths.append(path)
        if write_changed(path, content):
            self.say(f"wrote {path.relative_to(self.project.root)}")

    def write_stub(self, chapter: Chapter) -> None:
        """Write a chapter's stub, and its original. Keep a copy of answers that it replaces."""
        root, path = self.project.root, self.project.exercises / f"{chapter.name}.py"
        content = stub_text(lesson_of(self.project, chapter)).encode()
        original = original_of(root, chapter.name)
        built = [content, *([original.read_bytes()] if original.is_file() else [])]
        if path.is_file() and path.read_bytes() not in built:
            kept = keep_copy(root, path).relative_to(root)
            self.say(f"{path.name} was changed here or is older; a copy is kept: {kept}")
        self.write(path, content)
        write_changed(original, content)

    def delete_others(self, recorded: list[Path]) -> None:
        """Delete files in the folders of recordings that no exercise needs any more."""
        for folder in (self.project.graders, self.project.exercises):
            for path in sorted((folder / "references").rglob("*")):
                if path.is_file() and path not in recorded and path not in self.paths:
                    path.unlink()
                    self.say(f"deleted {path.relative_to(self.project.root)}")


def write_changed(path: Path, content: bytes) -> bool:
    """Write a file if it has another content. Return True if it was written."""
    if path.is_file() and path.read_bytes() == content:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    write_file(path, content)
    return True


def mistakes_files(project: Project, chapter: Chapter) -> Iterator[tuple[Path, bytes]]:
    """Yield the files with messages and prices of a chapter's mistakes, one for each side."""
    by_exercise = {one.name: known(project, one.name) for one in chapter.exercises}
    every = [one for some in by_exercise.values() for one in some]
    prices = {
        name: {one.name: one.price for one in some if one.price is not None}
        for name, some in by_exercise.items()
    }
    about = {"messages": {one.name: one.message for one in every}, "prices": prices}
    for folder in (project.graders, project.exercises):
        yield mistakes_path(folder, chapter.name), f"{json.dumps(about, indent=1)}\n".encode()


# --- recordings -------------------------------------------------------------------------------


def is_due(recording: Recording, pairs: bool) -> bool:
    """Return True if a recording is missing, damaged or outdated, or lacks the requested pairs."""
    if key_in(recording.path) != key_of(recording):
        return True
    return pairs and not recording.hidden and not has_pairs(recording)


def has_pairs(recording: Recording) -> bool:
    """Return True if the stored fingerprints of an exercise include its pairs of mistakes."""
    with suppress(CourseError):
        return bool(read_part(recording.path, "has_pairs"))
    return False


def record_all(
    project: Project, due: list[Recording], pairs: bool, tell: Tell, say: Say
) -> list[str]:
    """Record exercises side by side, the longest first. Return the errors."""
    runs = {one: runs_of(one, pairs) for one in due}
    done, wrong = 0, []
    with side_by_side(None, enter, project, warm=True) as pool:
        running = {
            pool.submit(record_there, one.chapter, one.exercise, one.hidden, pairs): one
            for one in sorted(due, key=lambda one: -runs[one])
        }
        for future in as_completed(running):
            one = running[future]
            done += runs[one]
            tell(one.exercise, done, sum(runs.values()))
            try:
                found = future.result()
            except BrokenExecutor:
                why = "a known mistake in it, or in one built at the same time, ended the process"
                found = [f"{one.lesson}: {one.exercise}: {why}"]
            if not found:
                say(f"wrote {one.path.relative_to(project.root)}")
            wrong += found
    return wrong


def runs_of(recording: Recording, pairs: bool) -> int:
    """Return the number of runs that a recording takes, for the display of progress."""
    versions = len(recording.mistakes)
    if pairs and not recording.hidden:
        versions += len(recording.mistakes) ** 2 // 2
    return (versions + 1) * len(recording.cases)


def enter(project: Project) -> None:
    """Set the project of a worker process."""
    torch.set_num_threads(1)
    IN_WORKER.append(project)


def record_there(chapter: str, exercise: str, hidden: bool, pairs: bool) -> list[str]:
    """Record an exercise and a side of the worker's project."""
    return record(Recording(IN_WORKER[0], chapter, exercise, hidden), pairs)


def record(recording: Recording, pairs: bool) -> list[str]:
    """Record an exercise and a side into its file. Return the errors, one sentence each.

    pairs: make pairs of mistakes even if they are many.
    """
    try:
        texts_of(recording)  # before it runs
        found = singles_of(recording)
        prints, has_all = found.all[1:], True
        if not recording.hidden:  # grading makes the pair that it needs
            prints, has_all = with_pairs(recording, found, pairs)
        parts, tensors = stored_references(recording.with_unfixed)
        parts |= {"fingerprints": stored_fingerprints(prints), "has_pairs": has_all}
        if recording.hidden:  # the solution with the edits of its mistakes, for grading
            edits = {name: one.edits for name, one in recording.mistakes.items()}
            parts["sources"] = {"text": recording.source, "edits": edits}
        store(recording.path, key_of(recording), parts, tensors)
    except CourseError as error:
        return str(error).splitlines()
    except Exception as error:  # raised by the course's own code, such as a signature
        said = f"recording it ends in {type(error).__name__}: {error}"
        return [f"{recording.lesson}: {recording.exercise}: {said}"]
    return []


# --- what is said at the end ------------------------------------------------------------------


def solved_stubs(recordings: list[Recording]) -> Iterator[str]:
    """Yield a message for each exercise whose stub does not raise NotImplementedError."""
    for one in (one for one in recordings if not one.hidden and not one.bugs):
        stub = (one.project.exercises / f"{one.chapter}.py").read_text(encoding="utf-8")
        _, seen = one.run(stub, one.cases)
        if any(not o.error or o.error.type != "NotImplementedError" for o in seen):
            yield f"{one.lesson}: the stub of {one.exercise} is solved already"


def left_out_everywhere(project: Project) -> list[str]:
    """Return a sentence for each shared mistake that the hidden cases of no exercise tell apart."""
    names = project.course.exercise_names
    kept = {one.name for name in names for one in told_apart(project, name)}
    return [
        f"{place}: {name} is left out everywhere: in each exercise it changes nothing, or "
        "looks like an earlier mistake"
        for name, place in {one.name: one.place for one in shared_mistakes(project)}.items()
        if name not in kept
    ]


def strays(project: Project, written: list[Path]) -> list[str]:
    """Return a message for each stray file or folder.

    These are unexpected files in the folders of exercises and solutions, and handed-out folders of
    chapters that no longer exist. Other nbgrader assignments are left alone. Files of editors and
    test runs may be there.
    """
    known = {*written, *(project.solution(chapter.name) for chapter in project.course.chapters)}
    places = [*project.exercises.glob("[!.]*"), *(project.root / "solutions").glob("[!.]*")]
    stray = [p for p in places if p.is_file() and p.suffix != ".pyc" and p not in known]
    handed_out = project.root.glob(f"source/*/{CHECKS}")
    stray += [path.parent for path in handed_out if path not in known]
    return [f"{path.relative_to(project.root)} does not belong there" for path in sorted(stray)]


def last_line(project: Project, names: Collection[str]) -> str:
    """Return the last line of a build without problems. names: as in `build`."""
    chapters = chapters_with(project, names)
    said = "All derived files are fresh."
    if names:
        said = f"{', '.join(one.name for one in chapters)}: fresh. Other chapters were not built."
    if lacking := without_pairs(project, chapters):
        some = ", ".join(lacking[:3]) + (", …" if len(lacking) > 3 else "")
        said += (
            f"\nPairs of mistakes are still to be made for {plural(len(lacking), 'exercise')} "
            f"({some}): `tensorgrade build --pairs`, before a release."
        )
    return said


def without_pairs(project: Project, chapters: Iterable[Chapter]) -> list[str]:
    """Return the exercises whose stored fingerprints lack pairs of mistakes."""
    public = [one for one in recordings_of(project, chapters) if not one.hidden]
    return [one.exercise for one in public if not has_pairs(one)]
