"""Find every learner and their submissions for each chapter that is graded.

A chapter is graded if at least one learner submitted something for it. Every learner with a folder
in SUBMITTED then gets a submission for that chapter. If a learner submitted nothing, that
submission has no content and states the reason.
"""

import os
import unicodedata
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..course import Course, CourseError
from .near_misses import Version, archives_in, rescued, versions_in
from .submitted_files import (
    NOT_SUBMITTED,
    SubmittedFiles,
    escaped,
    is_seen,
    read_submission_folder,
    recognize_format,
    rests_on_file,
    shown,
    submission_time,
)

SUFFIXES = (".py", ".ipynb")
MOST_NAMED = 10
TEAMS = "teams.csv"  # next to the learners' folders
COURSES_OWN = ("course_config.py", "exercises/course.json", "course.json")
EXPECTED = (
    "Give the folder that holds a folder for each learner, with "
    "<student>/<chapter>/<chapter>.py or .ipynb"
)
MOST_STRAY = 20  # notes on stray files, and on misplaced ones; further ones are only counted


@dataclass
class Learner:
    """One learner's folder and the submissions found in it.

    folder: the folder's name. trouble: why the folder cannot be read, in a sentence. submissions:
    by chapter. stray: files and folders that belong to no chapter. told: sentences on files that
    count although they are misnamed, misplaced or encoded in another way. damaged: paths
    of zips that cannot be opened. holds: folders with files of the same chapter, if there are
    several and no file is in its place: then they may be learners' folders.
    """

    folder: str
    trouble: str = ""
    submissions: dict[str, SubmittedFiles] = field(default_factory=dict)
    stray: list[str] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    damaged: list[str] = field(default_factory=list)
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
        return SubmittedFiles(
            self.name, chapter, reason=f"{NOT_SUBMITTED}{self.instead}", missing=True
        )

    @property
    def instead(self) -> str:
        """Return sentences on other files in the folder, which may explain a missing chapter."""
        stray = f" In the learner's folder there is {', '.join(self.stray[:5])}."
        damaged = f" Damaged, so that nothing in it counts: {', '.join(self.damaged[:5])}."
        return (stray if self.stray else "") + (damaged if self.damaged else "")


def find_submissions(
    submitted: Path,
    course: Course,
    rescue: bool = True,
    roster: Collection[str] = (),
    share: Callable[[list[SubmittedFiles]], list[SubmittedFiles]] | None = None,
    only: Collection[str] = (),
) -> tuple[list[SubmittedFiles], list[str]]:
    """Return all submissions in a fixed order, and notes for the instructor.

    The notes name missing submissions, stray files and similar names of learners.
    rescue: accept files whose name or place is nearly right. roster: the learners of the class;
    each of them gets a submission. share: gives a team's submission to all its members. only: the
    only chapters; all if empty. Raises CourseError if SUBMITTED cannot be read, is a course, or
    holds learners one folder deeper.
    """
    if own := [name for name in COURSES_OWN if (submitted / name).exists()]:
        raise CourseError(f"{submitted} is a course, because it holds {own[0]}. {EXPECTED}")
    chapters = {chapter.name for chapter in course.chapters}
    learners, outside = find_learners(submitted, course, chapters)
    if rescue:
        for learner in learners:
            look_closer(learner, submitted / learner.folder, course, chapters)
    check_depth(submitted, learners, chapters, roster)
    here = {learner.name for learner in learners}
    absent = [Learner(name) for name in sorted(set(roster)) if escaped(name) not in here]
    learners = sorted([*learners, *absent], key=lambda learner: learner.folder)
    found = [(chapter, one) for learner in learners for chapter, one in learner.submissions.items()]
    graded = sorted({c for c, own in found if not own.missing and (not only or c in only)})
    submissions = [learner.submitted_files(chapter) for learner in learners for chapter in graded]
    submissions = share(submissions) if share else submissions
    strangers = here - {escaped(name) for name in roster} if roster else set()
    notes = notes_on_misplaced(learners, here & chapters, strangers)
    return submissions, notes + notes_on_submissions(learners, outside, submissions)


def check_depth(
    submitted: Path, learners: list[Learner], chapters: set[str], roster: Collection[str]
) -> None:
    """Raise CourseError if learners' folders are one folder deeper than expected.

    Otherwise a whole class would be graded as one learner. A single learner with several folders of
    versions stops no class: then other learners' files are in their places.
    """
    listed = {escaped(name) for name in roster}
    deeper = [one for one in learners if one.holds and one.name not in listed]
    others = [one for one in learners if not one.holds and one.folder not in chapters]
    if not deeper or any(not h.missing for one in others for h in one.submissions.values()):
        return
    folders = [str(submitted / shown(one.folder)) for one in deeper]
    raise CourseError(
        f"{deeper[0].name} seems to hold a folder for each learner: {named(deeper[0].holds)}. "
        f"Grade {named(folders)} instead. If {deeper[0].name} is one learner, give a --roster "
        "that lists this name"
    )


def folders_in(versions: list[Version], chapters: set[str]) -> list[str]:
    """Return the folders that may be learners' folders, as paths in the one that holds them.

    Each of at least two holds a file of the same chapter. If any file of a chapter is in its place,
    or directly in the learner's folder, the folders only hold other versions.
    """
    first = [(version.chapter, version.where.split("/")) for version in versions]
    if any(len(parts) == 1 or parts[0] in chapters for _, parts in first):
        return []
    for chapter in sorted({chapter for chapter, _ in first}):
        if len(found := {parts[0] for one, parts in first if one == chapter}) > 1:
            return sorted(map(shown, found))
    return []


def look_closer(learner: Learner, folder: Path, course: Course, chapters: set[str]) -> None:
    """Accept files whose name or place is nearly right, and add a sentence to `learner.told`.

    An error affects only this learner.
    """
    if learner.trouble:
        return
    try:
        zips, closed = archives_in(folder, course.limits)
        learner.damaged += zips
        learner.stray = [name for name in learner.stray if name not in zips]
        add_reason(learner, zips, "Damaged, so that nothing in it counts: {}.")
        add_reason(learner, closed, UNOPENED)
        found = versions_in(folder, chapters, course.limits)
        learner.holds = folders_in([one for one in found if not one.member], chapters)
        for chapter in sorted({version.chapter for version in found}):
            own = [version for version in found if version.chapter == chapter]
            if not all(version.exact for version in own):
                take(learner, folder, own, course)
    except Exception as error:  # an unexpected error affects only this learner
        why = f"the search for misplaced files failed ({type(error).__name__})"
        learner.told.append(f"{learner.name}: {why}")
    for chapter, submitted_files in learner.submissions.items():
        learner.submissions[chapter], sentence = recognize_format(submitted_files)
        learner.told += [f"{learner.name}: {sentence}"] if sentence else []


UNOPENED = "Not opened: {}. Upload the file itself, or a zip that holds it directly."


def add_reason(learner: Learner, paths: list[str], sentence: str) -> None:
    """Add a sentence on some files to the reason of each chapter without a file."""
    for chapter, submitted_files in learner.submissions.items():
        own = [where for where in paths if where.startswith(f"{chapter}/")]
        if own and submitted_files.no_file:
            reason = f"{submitted_files.reason} {sentence.format(', '.join(own[:5]))}"
            learner.submissions[chapter] = replace(submitted_files, reason=reason)


def take(learner: Learner, folder: Path, versions: list[Version], course: Course) -> None:
    """Store the versions of a chapter's files that count as the learner's submission for it."""
    chapter = versions[0].chapter
    submitted_files, sentence = rescued(learner.name, versions, course.limits)
    at, note = submission_time(folder / chapter, [version.path for version in versions])
    by_file = rests_on_file(folder / chapter, at)
    learner.submissions[chapter] = replace(
        submitted_files, submitted=at, time_note=note, by_file=by_file
    )
    learner.told += [sentence] if sentence else []
    used = {shown(version.where.split("/")[0]) for version in versions}
    learner.stray = [name for name in learner.stray if name not in used]


def notes_on_misplaced(
    learners: list[Learner], chapters: set[str], strangers: set[str]
) -> list[str]:
    """Return notes on files that count although they are misplaced, and on unexpected folders.

    chapters: the names of learners' folders that are named like a chapter. strangers: the names of
    learners who have a folder but are not on the roster.
    """
    told = [sentence for learner in learners for sentence in learner.told]
    notes = told[:MOST_STRAY]
    if len(told) > MOST_STRAY:
        notes.append(f"{len(told) - MOST_STRAY} more files like these")
    if strangers:
        notes.append(f"not on the roster: {named(sorted(strangers))}")
    if chapters:  # the instructor probably passed one learner's folder as SUBMITTED
        notes.append(
            f"taken for learners, though named like chapters: {named(sorted(chapters))}. SUBMITTED "
            "is the folder that holds a folder for each learner"
        )
    return notes


def notes_on_submissions(
    learners: list[Learner], outside: list[str], submissions: list[SubmittedFiles]
) -> list[str]:
    """Return notes on times, and on submissions that are missing, damaged or stray."""
    unknown = {learner.name for learner in learners if learner.damaged}
    notes = notes_on_times(submissions)
    notes += notes_on_missing([h for h in submissions if h.student not in unknown])
    if zips := [f"{one.name}/{where}" for one in learners for where in one.damaged]:
        notes.append(f"damaged zips, in which nothing counts: {named(zips)}")
    stray = outside + [f"{one.name}/{name}" for one in learners for name in one.stray]
    return notes + notes_on_stray(stray) + notes_on_alike(learners)


def find_learners(
    submitted: Path, course: Course, chapters: set[str]
) -> tuple[list[Learner], list[str]]:
    """Return all learners with a folder, and the names of other entries. Raises CourseError."""
    try:
        entries = inside(submitted)
    except OSError as error:
        raise CourseError(f"{submitted} cannot be read: {error.strerror}") from None
    learners = [learner_in(e, course, chapters) for e in entries if is_learner(e, chapters)]
    outside = [e.name for e in entries if not is_learner(e, chapters) and e.name[0] != "."]
    outside = [name for name in outside if name != TEAMS]
    return learners, [shown(name) for name in outside]


def inside(folder: str | Path) -> list[os.DirEntry]:
    """Return a folder's entries, sorted by name. Raises OSError."""
    with os.scandir(folder) as entries:
        return sorted(entries, key=lambda entry: entry.name)


def is_learner(entry: os.DirEntry, chapters: set[str]) -> bool:
    """Return True if an entry is a learner's folder.

    A visible entry that cannot be examined counts as one. A hidden folder counts only if it
    contains a chapter.
    """
    try:
        if not entry.name.startswith("."):
            return entry.is_dir()
        return entry.is_dir(follow_symlinks=False) and any(
            found.name in chapters for found in inside(entry.path)
        )
    except OSError:
        return not entry.name.startswith(".")


def learner_in(entry: os.DirEntry, course: Course, chapters: set[str]) -> Learner:
    """Return a learner with all their submissions; an unreadable folder becomes their trouble."""
    learner = Learner(entry.name)
    if entry.is_symlink():
        learner.trouble = "The learner's folder is a link, not a folder."
        return learner
    try:
        entries = inside(entry.path)
    except OSError as error:
        learner.trouble = f"The learner's folder cannot be read: {error.strerror}."
        return learner
    for found in entries:
        if found.name in chapters:
            learner.submissions[found.name] = submission_in(learner.name, found, course)
    for found in entries:
        if found.name not in chapters and not found.name.startswith("."):
            put_aside(learner, found.name, chapters)
    return learner


def submission_in(student: str, entry: os.DirEntry, course: Course) -> SubmittedFiles:
    """Return the submission in the entry that has a chapter's name."""
    if entry.is_symlink() or not entry.is_dir():
        kind = "link" if entry.is_symlink() else "file"
        return SubmittedFiles(
            student, entry.name, reason=f"{entry.name} is a {kind}, not a folder."
        )
    try:
        return read_submission_folder(student, Path(entry.path), course.limits)
    except Exception as error:  # an unexpected error affects only this submission
        kind = type(error).__name__
        return SubmittedFiles(
            student, entry.name, reason=f"Reading this submission ended in a {kind}."
        )


def put_aside(learner: Learner, name: str, chapters: set[str]) -> None:
    """Record an entry of a learner's folder that belongs to no chapter as stray.

    If it is a chapter's file and the chapter's folder is missing, the reason of the submission says
    where the file belongs.
    """
    learner.stray.append(shown(name))
    chapter, suffix = os.path.splitext(name)
    if chapter in chapters and suffix in SUFFIXES and chapter not in learner.submissions:
        reason = f"{name} is next to the chapter's folder; it belongs in {chapter}/{name}."
        learner.submissions[chapter] = SubmittedFiles(learner.name, chapter, reason=reason)


def notes_on_missing(submissions: list[SubmittedFiles]) -> list[str]:
    """Return a note for each chapter on the learners who did not submit it."""
    chapters = sorted({submitted_files.chapter for submitted_files in submissions})
    missing = {
        c: [h.student for h in submissions if h.chapter == c and h.missing] for c in chapters
    }
    return [
        f"no submission for {chapter} by {named(students)}"
        for chapter, students in missing.items()
        if students
    ]


def notes_on_times(submissions: list[SubmittedFiles]) -> list[str]:
    """Return a note on impossible times, which were replaced."""
    replaced = [submitted_files for submitted_files in submissions if submitted_files.time_note]
    if not replaced:
        return []
    students = named(sorted({submitted_files.student for submitted_files in replaced}))
    return [f"impossible times were replaced, of {students}: {replaced[0].time_note}"]


def notes_on_stray(names: list[str]) -> list[str]:
    """Return notes on files and folders that belong to no chapter or no learner."""
    notes = [
        f"{name} is not a learner's file for a chapter; it was left out"
        for name in names[:MOST_STRAY]
    ]
    more = len(names) - MOST_STRAY
    return [*notes, f"{more} more files and folders were left out"] if more > 0 else notes


def notes_on_alike(learners: list[Learner]) -> list[str]:
    r"""Return notes on learners whose names look the same.

    >>> notes_on_alike([Learner(name) for name in ("Jose\u0301", "Jo\u00adsé ", "Jo")])
    ["these names look alike: 'Jose\\u0301', 'Jo\\xads\\xe9 '"]
    """
    groups: dict[str, list[str]] = {}
    for learner in learners:
        plain = unicodedata.normalize("NFKC", learner.folder)
        seen = " ".join("".join(filter(is_seen, plain)).split())
        groups.setdefault(seen, []).append(ascii(learner.folder))
    return [f"these names look alike: {named(g)}" for g in groups.values() if len(g) > 1]


def named(students: list[str]) -> str:
    """Return the first few names, and the number of remaining ones."""
    more = f" and {len(students) - MOST_NAMED} more" if len(students) > MOST_NAMED else ""
    return ", ".join(students[:MOST_NAMED]) + more
