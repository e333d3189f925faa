"""Find every learner and their submissions for each chapter that is graded.

A chapter is graded if at least one learner submitted something for it. Every learner with a folder
in SUBMITTED then gets a submission for that chapter. If a learner submitted nothing, that
submission has no content and states the reason.
"""

from collections import defaultdict
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..course import Course, CourseError
from .candidates import File, Found, candidates_in, files_below, shown
from .submitted_files import (
    NOT_SUBMITTED,
    STAMP,
    SubmittedFiles,
    escaped,
    submission_of,
    submission_time,
)

MOST_NAMED = 10
TEAMS = "teams.csv"  # next to the learners' folders
OURS = (TEAMS, "extensions.csv", "collected.csv")  # other files there that we read or write
PEOPLE = "people.csv"  # next to SUBMITTED
COURSES_OWN = ("course_config.py", "exercises/course.json", "course.json")
EXPECTED = (
    "Give the folder that holds a folder for each learner, with "
    "<student>/<chapter>/<chapter>.py or .ipynb"
)
MOST_TOLD = 20  # notes on misplaced files; further ones are only counted


@dataclass
class Learner:
    """One learner's folder and the submissions found in it.

    folder: the folder's name. trouble: why the folder cannot be read, in a sentence. submissions:
    by chapter. stray: files and folders that belong to no chapter. told: a sentence on files that
    count although they are misnamed or misplaced, for each chapter. unopened: paths of archives.
    holds: folders that may be learners' folders.
    """

    folder: str
    trouble: str = ""
    submissions: dict[str, SubmittedFiles] = field(default_factory=dict)
    stray: list[str] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    unopened: list[str] = field(default_factory=list)
    holds: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        """Return the learner's name as rows show it."""
        return escaped(self.folder)

    def submitted_files(self, chapter: str) -> SubmittedFiles:
        """Return the submission for a chapter, or an empty one with the reason."""
        if chapter in self.submissions:
            return self.submissions[chapter]
        if self.trouble:
            return SubmittedFiles(self.name, chapter, reason=self.trouble)
        stray = f" In the learner's folder there is {', '.join(self.stray[:5])}."
        reason = NOT_SUBMITTED + (stray if self.stray else "") + not_opened(self.unopened)
        return SubmittedFiles(self.name, chapter, reason=reason, missing=True)


def not_opened(paths: list[str]) -> str:
    """Return a sentence on archives; "" without any."""
    if not paths:
        return ""
    advice = "Upload the file itself, or an undamaged zip that holds it directly."
    return f" Not opened: {', '.join(paths[:5])}. {advice}"


def find_submissions(
    submitted: Path,
    course: Course,
    rescue: bool = True,
    roster: Collection[str] = (),
    share: Callable[[list[SubmittedFiles]], list[SubmittedFiles]] | None = None,
    only: Collection[str] = (),
) -> tuple[list[SubmittedFiles], list[str]]:
    """Return all submissions in a fixed order, and notes for the instructor.

    rescue: accept files whose name or place is nearly right. roster: the learners of the class;
    each of them gets a submission. share: gives a team's submission to all its members. only: the
    only chapters; all if empty. Raises CourseError if SUBMITTED cannot be read, is a course, or is
    one folder too high or too deep.
    """
    if own := [name for name in COURSES_OWN if (submitted / name).exists()]:
        raise CourseError(f"{submitted} is a course, because it holds {own[0]}. {EXPECTED}")
    if (submitted / PEOPLE).is_file():
        raise CourseError(f"{submitted} holds {PEOPLE}, so it is one folder too high. {EXPECTED}")
    learners, outside = find_learners(submitted, course, rescue)
    listed, here = {escaped(name) for name in roster}, {learner.name for learner in learners}
    check_depth(submitted, learners, {chapter.name for chapter in course.chapters}, listed)
    learners += [Learner(name) for name in set(roster) if escaped(name) not in here]
    learners.sort(key=lambda learner: learner.folder)
    found = [(chapter, one) for learner in learners for chapter, one in learner.submissions.items()]
    graded = sorted({c for c, own in found if not own.missing and (not only or c in only)})
    submissions = [learner.submitted_files(chapter) for learner in learners for chapter in graded]
    submissions = share(submissions) if share else submissions
    told = [sentence for learner in learners for sentence in learner.told]
    notes = told[:MOST_TOLD]
    if len(told) > MOST_TOLD:
        notes.append(f"{len(told) - MOST_TOLD} more files like these")
    if listed and here - listed:
        notes.append(f"not on the roster: {named(sorted(here - listed))}")
    return submissions, notes + notes_on(learners, outside, submissions)


def find_learners(
    submitted: Path, course: Course, rescue: bool = True
) -> tuple[list[Learner], list[str]]:
    """Return all learners with a folder, and the names of other entries. Raises CourseError."""
    try:
        paths = sorted(path for path in submitted.iterdir() if path.name[0] != ".")
        folders = [path for path in paths if path.is_dir()]
    except OSError as error:
        raise CourseError(f"{submitted} cannot be read: {error.strerror}") from None
    others = [shown(path.name) for path in sorted({*paths} - {*folders})]
    learners = [learner_in(folder, course, rescue) for folder in folders]
    return learners, [name for name in others if name not in OURS]


def learner_in(folder: Path, course: Course, rescue: bool) -> Learner:
    """Return a learner with all their submissions; an unreadable folder becomes their trouble."""
    learner = Learner(folder.name)
    try:
        if folder.is_symlink():
            learner.trouble = "The learner's folder is a link, not a folder."
        else:
            look_into(learner, folder, course, rescue)
    except Exception as error:  # an unexpected error affects only this learner
        why = getattr(error, "strerror", None) or type(error).__name__
        learner.trouble = f"The learner's folder cannot be read: {why}."
    return learner


def look_into(learner: Learner, folder: Path, course: Course, rescue: bool) -> None:
    """Find all submissions in a learner's folder. Raises OSError."""
    names = sorted(path.name for path in folder.iterdir() if path.name[0] != ".")
    chapters = [chapter.name for chapter in course.chapters]
    found = candidates_in(files_below(folder), chapters, course.limits)
    if not rescue:
        found = Found([one for one in found.candidates if one.is_exact])
    for chapter in chapters:
        read, sentence = submission_of(learner.name, chapter, found, course.limits)
        if read is None and chapter in names:
            read = nothing_in(learner.name, folder / chapter, found)
        if read is not None:
            at, note = submission_time(folder / chapter)
            learner.submissions[chapter] = replace(read, submitted=at, time_note=note)
        learner.told += [sentence] if sentence else []
    used = [one.path for one in found.candidates] + found.unopened
    known = {*chapters, *(path.partition("/")[0] for path in used)}
    learner.stray = [shown(name) for name in names if name not in known]
    learner.unopened = found.unopened
    learner.holds = folders_in(found.candidates, chapters)


def nothing_in(student: str, folder: Path, found: Found) -> SubmittedFiles:
    """Return an empty submission with what is there in place of a chapter's file."""
    chapter = folder.name
    if folder.is_symlink() or not folder.is_dir():
        kind = "link" if folder.is_symlink() else "file"
        return SubmittedFiles(student, chapter, reason=f"{chapter} is a {kind}, not a folder.")
    try:
        paths = sorted(path for path in folder.iterdir() if path.name[0] != ".")
    except OSError as error:
        why = f"The folder cannot be read: {error.strerror}."
        return SubmittedFiles(student, chapter, reason=why)
    names = [shown(path.name) for path in paths if path.name != STAMP]
    if not names:
        return SubmittedFiles(student, chapter, reason=NOT_SUBMITTED, missing=True)
    reason = f"There is no file {chapter}.py or {chapter}.ipynb; there is {', '.join(names[:5])}."
    reason += not_opened([path for path in found.unopened if path.startswith(f"{chapter}/")])
    return SubmittedFiles(student, chapter, reason=reason, no_file=True)


def check_depth(
    submitted: Path, learners: list[Learner], chapters: set[str], roster: Collection[str]
) -> None:
    """Raise CourseError if SUBMITTED is one folder too high or too deep.

    Otherwise a whole class would be graded as one learner. A single learner with several folders of
    versions stops no class: then other learners' files are in their places.
    """
    deeper = [one for one in learners if one.holds and one.name not in roster]
    others = [one for one in learners if not one.holds and one.folder not in chapters]
    if deeper and all(own.missing for one in others for own in one.submissions.values()):
        first, folders = deeper[0], [str(submitted / shown(one.folder)) for one in deeper]
        raise CourseError(
            f"{first.name} seems to hold a folder for each learner: {named(first.holds)}. Grade "
            f"{named(folders)} instead. If {first.name} is one learner, give a --roster that lists "
            "this name"
        )
    there = {learner.name for learner in learners if learner.submissions}
    if there and there <= chapters:
        raise CourseError(f"{submitted} holds chapters, so it is one folder too deep. {EXPECTED}")


def folders_in(candidates: list[File], chapters: Collection[str]) -> list[str]:
    """Return the folders that may be learners' folders, as paths in the one that holds them.

    Each of at least two holds a file of the same chapter. If any file of a chapter is in its place,
    or directly in the learner's folder, the folders only hold other versions.
    """
    folders: dict[str, set[str]] = defaultdict(set)
    for one in candidates:
        first, *rest = one.path.split("/")
        if ".zip/" not in one.path.lower():
            folders[one.chapter].add(shown(first) if rest and first not in chapters else "")
    most = max(folders.values(), key=len, default=set())
    in_place = any("" in names for names in folders.values())
    return [] if in_place or len(most) < 2 else sorted(most)


def notes_on(
    learners: list[Learner], outside: list[str], submissions: list[SubmittedFiles]
) -> list[str]:
    """Return notes on times, and on submissions that are missing, unopened or stray."""
    notes = []
    if wrong := [one for one in submissions if one.time_note]:
        notes.append(f"{wrong[0].time_note}: {named(sorted({one.student for one in wrong}))}")
    unknown = {learner.name for learner in learners if learner.unopened}
    for chapter in sorted({one.chapter for one in submissions}):
        own = [one for one in submissions if one.chapter == chapter and one.missing]
        if absent := [one.student for one in own if one.student not in unknown]:
            notes.append(f"no submission for {chapter} by {named(absent)}")
    if archives := [f"{one.name}/{where}" for one in learners for where in one.unopened]:
        notes.append(f"archives that are not opened: {named(archives)}")
    stray = outside + [f"{one.name}/{name}" for one in learners for name in one.stray]
    return notes + ([f"left out, because of no chapter: {named(stray)}"] if stray else [])


def named(students: list[str]) -> str:
    """Return the first few names, and the number of remaining ones."""
    more = f" and {len(students) - MOST_NAMED} more" if len(students) > MOST_NAMED else ""
    return ", ".join(students[:MOST_NAMED]) + more
