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
from .candidates import Candidate, Found, candidates_in, files_below, shown
from .submitted_files import (
    NOT_SUBMITTED,
    STAMP,
    SubmittedFiles,
    escaped,
    is_seen,
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
MOST_STRAY = 20  # notes on stray files, and on misplaced ones; further ones are only counted


@dataclass
class Learner:
    """One learner's folder and the submissions found in it.

    folder: the folder's name. trouble: why the folder cannot be read, in a sentence. submissions:
    by chapter. stray: files and folders that belong to no chapter. told: sentences on files that
    count although they are misnamed, misplaced or encoded in another way. damaged: paths of zips
    that cannot be opened. holds: folders that may be learners' folders.
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
        reason = NOT_SUBMITTED
        if self.stray:
            reason += f" In the learner's folder there is {', '.join(self.stray[:5])}."
        if self.damaged:
            reason += f" {DAMAGED.format(', '.join(self.damaged[:5]))}"
        return SubmittedFiles(self.name, chapter, reason=reason, missing=True)


DAMAGED = "Damaged, so that nothing in it counts: {}."
UNOPENED = "Not opened: {}. Upload the file itself, or a zip that holds it directly."


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
    if (submitted / PEOPLE).is_file():
        raise CourseError(f"{submitted} holds {PEOPLE}, so it is one folder too high. {EXPECTED}")
    chapters = [chapter.name for chapter in course.chapters]
    learners, outside = find_learners(submitted, course, rescue)
    check_depth(submitted, learners, chapters, {escaped(name) for name in roster})
    here = {learner.name for learner in learners}
    there = {learner.name for learner in learners if learner.submissions}
    if there and there <= set(chapters):
        raise CourseError(f"{submitted} holds chapters, so it is one folder too deep. {EXPECTED}")
    absent = [Learner(name) for name in sorted(set(roster)) if escaped(name) not in here]
    learners = sorted([*learners, *absent], key=lambda learner: learner.folder)
    found = [(chapter, one) for learner in learners for chapter, one in learner.submissions.items()]
    graded = sorted({c for c, own in found if not own.missing and (not only or c in only)})
    submissions = [learner.submitted_files(chapter) for learner in learners for chapter in graded]
    submissions = share(submissions) if share else submissions
    strangers = here - {escaped(name) for name in roster} if roster else set()
    notes = notes_on_learners(learners, here & set(chapters), strangers)
    return submissions, notes + notes_on_submissions(learners, outside, submissions)


def find_learners(
    submitted: Path, course: Course, rescue: bool = True
) -> tuple[list[Learner], list[str]]:
    """Return all learners with a folder, and the names of other entries. Raises CourseError."""
    try:
        entries = inside(submitted)
    except OSError as error:
        raise CourseError(f"{submitted} cannot be read: {error.strerror}") from None
    chapters = {chapter.name for chapter in course.chapters}
    learners = [learner_in(e, course, rescue) for e in entries if is_learner(e, chapters)]
    others = [e.name for e in entries if not is_learner(e, chapters) and e.name[0] != "."]
    return learners, [shown(name) for name in others if name not in OURS]


def inside(folder: str | Path) -> list[os.DirEntry]:
    """Return a folder's entries, sorted by name. Raises OSError."""
    with os.scandir(folder) as entries:
        return sorted(entries, key=lambda entry: entry.name)


def is_learner(entry: os.DirEntry, chapters: Collection[str]) -> bool:
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


def learner_in(entry: os.DirEntry, course: Course, rescue: bool) -> Learner:
    """Return a learner with all their submissions; an unreadable folder becomes their trouble."""
    learner = Learner(entry.name)
    try:
        if entry.is_symlink():
            learner.trouble = "The learner's folder is a link, not a folder."
        else:
            look_into(learner, Path(entry.path), course, rescue)
    except OSError as error:
        learner.trouble = f"The learner's folder cannot be read: {error.strerror}."
    except Exception as error:  # an unexpected error affects only this learner
        learner.trouble = f"Reading this submission ended in a {type(error).__name__}."
    return learner


def look_into(learner: Learner, folder: Path, course: Course, rescue: bool) -> None:
    """Find all submissions in a learner's folder. Raises OSError."""
    entries = {entry.name: entry for entry in inside(folder)}
    chapters = [chapter.name for chapter in course.chapters]
    found = candidates_in(files_below(folder, chapters), chapters, course.limits)
    if not rescue:
        found = Found([one for one in found.candidates if one.is_exact])
    for chapter in chapters:
        read, sentence = submission_of(learner.name, chapter, found, course.limits)
        if read is None and chapter in entries:
            read = nothing_in(learner.name, entries[chapter], found)
        if read is not None:
            at, note = submission_time(folder / chapter)
            learner.submissions[chapter] = replace(read, submitted=at, time_note=note)
        learner.told += [sentence] if sentence else []
    used = {one.file.path.partition("/")[0] for one in found.candidates}
    known = {*chapters, *used, *found.damaged}
    learner.stray = [shown(n) for n in entries if n not in known and not n.startswith(".")]
    learner.damaged = found.damaged
    learner.holds = folders_in(found.candidates, chapters)


def nothing_in(student: str, entry: os.DirEntry, found: Found) -> SubmittedFiles:
    """Return an empty submission with what is there in place of a chapter's file."""
    chapter = entry.name
    if entry.is_symlink() or not entry.is_dir():
        kind = "link" if entry.is_symlink() else "file"
        return SubmittedFiles(student, chapter, reason=f"{chapter} is a {kind}, not a folder.")
    try:
        names = [one.name for one in inside(entry.path) if one.name[0] != "."]
    except OSError as error:
        why = f"The folder cannot be read: {error.strerror}."
        return SubmittedFiles(student, chapter, reason=why)
    names = [shown(name) for name in names if name != STAMP]
    if not names:
        return SubmittedFiles(student, chapter, reason=NOT_SUBMITTED, missing=True)
    there = f"there is {', '.join(names[:5])}"
    reason = f"There is no file {chapter}.py or {chapter}.ipynb; {there}."
    for paths, sentence in ((found.damaged, DAMAGED), (found.closed, UNOPENED)):
        if own := [path for path in paths if path.startswith(f"{chapter}/")]:
            reason += f" {sentence.format(', '.join(own[:5]))}"
    return SubmittedFiles(student, chapter, reason=reason, no_file=True)


def check_depth(
    submitted: Path, learners: list[Learner], chapters: Collection[str], roster: Collection[str]
) -> None:
    """Raise CourseError if learners' folders are one folder deeper than expected.

    Otherwise a whole class would be graded as one learner. A single learner with several folders of
    versions stops no class: then other learners' files are in their places.
    """
    deeper = [one for one in learners if one.holds and one.name not in roster]
    others = [one for one in learners if not one.holds and one.folder not in chapters]
    if not deeper or any(not h.missing for one in others for h in one.submissions.values()):
        return
    folders = [str(submitted / shown(one.folder)) for one in deeper]
    raise CourseError(
        f"{deeper[0].name} seems to hold a folder for each learner: {named(deeper[0].holds)}. "
        f"Grade {named(folders)} instead. If {deeper[0].name} is one learner, give a --roster "
        "that lists this name"
    )


def folders_in(candidates: list[Candidate], chapters: Collection[str]) -> list[str]:
    """Return the folders that may be learners' folders, as paths in the one that holds them.

    Each of at least two holds a file of the same chapter. If any file of a chapter is in its place,
    or directly in the learner's folder, the folders only hold other versions.
    """
    first = [
        (one.chapter, one.file.path.split("/"))
        for one in candidates
        if ".zip/" not in one.file.path.lower()
    ]
    if any(len(parts) == 1 or parts[0] in chapters for _, parts in first):
        return []
    for chapter in sorted({chapter for chapter, _ in first}):
        if len(found := {parts[0] for one, parts in first if one == chapter}) > 1:
            return sorted(map(shown, found))
    return []


def notes_on_learners(
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
    notes = []
    if wrong := [one for one in submissions if one.time_note]:
        students = named(sorted({one.student for one in wrong}))
        notes.append(f"{wrong[0].time_note}: {students}")
    unknown = {learner.name for learner in learners if learner.damaged}
    for chapter in sorted({one.chapter for one in submissions}):
        own = [one for one in submissions if one.chapter == chapter and one.missing]
        if absent := [one.student for one in own if one.student not in unknown]:
            notes.append(f"no submission for {chapter} by {named(absent)}")
    if zips := [f"{one.name}/{where}" for one in learners for where in one.damaged]:
        notes.append(f"damaged zips, in which nothing counts: {named(zips)}")
    stray = outside + [f"{one.name}/{name}" for one in learners for name in one.stray]
    why = "is not a learner's file for a chapter; it was left out"
    notes += [f"{name} {why}" for name in stray[:MOST_STRAY]]
    if len(stray) > MOST_STRAY:
        notes.append(f"{len(stray) - MOST_STRAY} more files and folders were left out")
    return notes + notes_on_alike(learners)


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
