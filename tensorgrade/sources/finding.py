"""Find every learner and their submissions for each chapter that is graded.

A chapter is graded if at least one learner submitted something for it. Every learner with a folder
in SUBMITTED then gets a submission for that chapter. If a learner submitted nothing, that
submission has no content and states the reason.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..course import Course, CourseError
from .candidates import Found, candidates_in, files_below, shown
from .submitted_files import (
    NOT_SUBMITTED,
    STAMP,
    SubmittedFiles,
    escaped,
    submission_of,
    submission_time,
)

About = tuple[str, str]  # student, chapter
MOST_NAMED = 10
TEAMS = "teams.csv"  # next to the learners' folders
OURS = (TEAMS, "extensions.csv", "collected.csv")  # other files there that we read or write
REPLACED = ".replaced"  # earlier folders there
PEOPLE = "people.csv"  # next to SUBMITTED
COURSES_OWN = ("course_config.py", "exercises/course.json", "course.json")
EXPECTED = (
    "Give the folder that holds a folder for each learner, with <student>/<chapter>/<chapter>.py "
    "or .ipynb; `tensorgrade collect` makes it from a download"
)
MOST_TOLD = 20  # notes; further ones are only counted


@dataclass
class Learner:
    """One learner's folder and the submissions in it.

    folder: the folder's name. trouble: why the folder cannot be read, in a sentence. found: what
    its files may be. submissions: by chapter. stray: files and folders that belong to no chapter.
    told: a sentence on files that count although they are misnamed or misplaced, for each chapter.
    """

    folder: str
    trouble: str = ""
    found: Found = field(default_factory=Found)
    submissions: dict[str, SubmittedFiles] = field(default_factory=dict)
    stray: list[str] = field(default_factory=list)
    told: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        """Return the learner's name as rows show it."""
        return escaped(self.folder)

    def submitted_files(self, chapter: str) -> SubmittedFiles:
        """Return the submission for a chapter, or an empty one with the reason."""
        stray = f" In the learner's folder there is {', '.join(self.stray[:5])}."
        reason = NOT_SUBMITTED + (stray if self.stray else "") + not_opened(self.found.unopened)
        reason, missing = self.trouble or reason, not self.trouble
        nothing = SubmittedFiles(self.name, chapter, reason=reason, missing=missing)
        return self.submissions.get(chapter, nothing)


def not_opened(paths: list[str]) -> str:
    """Return a sentence on archives; "" without any."""
    advice = "Upload the file itself, or an undamaged zip that holds it directly."
    return f" Not opened: {', '.join(paths[:5])}. {advice}" if paths else ""


def find_submissions(
    submitted: Path,
    course: Course,
    teams: Mapping[About, str],
    roster: Collection[str] = (),
    chapters: Collection[str] = (),
    only: Collection[str] = (),
) -> tuple[list[SubmittedFiles], list[str]]:
    """Return all submissions in a fixed order, and notes for the instructor.

    teams: of learners' chapters. roster: the learners of the class; each of them gets a submission.
    chapters, only: the only chapters, and the only learners with their teams; all if empty. Raises
    CourseError if SUBMITTED cannot be read, is a course, or is one folder too high or too deep.
    """
    if own := [name for name in COURSES_OWN if (submitted / name).exists()]:
        raise CourseError(f"{submitted} is a course, because it holds {own[0]}. {EXPECTED}")
    if (submitted / PEOPLE).is_file():
        raise CourseError(f"{submitted} holds {PEOPLE}, so it is one folder too high. {EXPECTED}")
    try:
        paths = sorted(path for path in submitted.iterdir() if path.name[0] != ".")
        folders = {path for path in paths if path.is_dir()}
    except OSError as error:
        why = f"{submitted} cannot be read: {error.strerror}. {EXPECTED}"
        raise CourseError(why) from None
    outside = [shown(p.name) for p in paths if p not in folders and p.name not in OURS]
    learners = [learner_in(path, course) for path in paths if path in folders]
    listed, here = {escaped(name) for name in roster}, {learner.name for learner in learners}
    check_depth(submitted, learners, {chapter.name for chapter in course.chapters}, listed)
    learners += [Learner(name) for name in set(roster) if escaped(name) not in here]
    learners.sort(key=lambda learner: learner.folder)
    every = [one for learner in learners for one in learner.submissions.values()]
    wanted = chapters or {one.chapter for one in every}
    graded = sorted({one.chapter for one in every if not one.missing and one.chapter in wanted})
    submissions = [learner.submitted_files(chapter) for learner in learners for chapter in graded]
    submissions, notes_on_teams = shared(submissions, teams)
    if only:
        asked = {(one.team, one.chapter) for one in submissions if one.student in only and one.team}
        submissions = [o for o in submissions if o.student in only or (o.team, o.chapter) in asked]
    notes = noted({"not on the roster": here - listed if listed else ()})
    notes += notes_on(learners, outside, submissions) + notes_on_teams
    return submissions, notes + [sentence for learner in learners for sentence in learner.told]


def shared(
    submissions: list[SubmittedFiles], teams: Mapping[About, str]
) -> tuple[list[SubmittedFiles], list[str]]:
    """Return the submissions, with one file for all members of a team, and notes.

    The newest file that can be graded counts, also for members without a file or a folder.
    """
    own = {one.about: one for one in submissions}
    students, chapters = {one.student for one in submissions}, {c for _, c in own}
    members = defaultdict(list)
    for (student, chapter), team in sorted(teams.items()):
        members[team, chapter].append(student)
    what = f"have no folder, and their team's points; if a name is wrong, correct {TEAMS}"
    notes = noted({what: {student for student, _ in teams} - students})
    for (team, chapter), together in sorted(members.items()):
        if chapter not in chapters:
            continue
        nothing = SubmittedFiles("", chapter, reason=NOT_SUBMITTED, missing=True)
        there = [own.get((student, chapter), nothing) for student in together]
        # The newest one that can be graded.
        counts = max(there, key=lambda o: (not o.missing, not o.reason, o.submitted))
        if len({one.digest for one in there if not one.missing}) > 1:
            what = f"members of team {team} submitted different files for {chapter}"
            notes.append(f"{what}; the one of {counts.student} counts for all")
        own |= {(name, chapter): replace(counts, student=name, team=team) for name in together}
    return [own[about] for about in sorted(own)], notes


def learner_in(folder: Path, course: Course) -> Learner:
    """Return a learner with all their submissions; an unreadable folder becomes their trouble."""
    learner = Learner(folder.name)
    try:
        if folder.is_symlink():
            raise OSError(0, "it is a link")
        names = sorted(path.name for path in folder.iterdir() if path.name[0] != ".")
        chapters = [chapter.name for chapter in course.chapters]
        found = candidates_in(files_below(folder), chapters, course.limits)
        for chapter in chapters:
            read, told = submission_of(learner.name, chapter, found, course.limits)
            if read is None and chapter in names:
                read = nothing_in(learner.name, folder / chapter, found)
            if read is not None:
                at = submission_time(folder / chapter)
                learner.submissions[chapter] = replace(read, submitted=at)
            learner.told += [told] if told else []
        used = [one.path for one in found.candidates] + found.unopened
        known = {*chapters, *(path.partition("/")[0] for path in used)}
        learner.stray = [shown(name) for name in names if name not in known]
        learner.found = found
    except Exception as error:  # an unexpected error affects only this learner
        why = getattr(error, "strerror", None) or type(error).__name__
        learner.trouble = f"The learner's folder cannot be read: {why}."
    return learner


def nothing_in(student: str, folder: Path, found: Found) -> SubmittedFiles:
    """Return an empty submission with what is there in place of a chapter's file."""
    chapter = folder.name
    try:
        if folder.is_symlink():
            raise OSError(0, "it is a link")
        paths = sorted(path for path in folder.iterdir() if path.name[0] != ".")
    except OSError as error:
        why = f"The folder {chapter} cannot be read: {error.strerror}."
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

    Otherwise a whole class would be graded as one learner. It is too high if no file is in its
    place, and a folder that is not on the roster holds several folders with the same chapter.
    """
    deep: dict[tuple[str, str], set[str]] = defaultdict(set)
    is_class = False
    for learner in learners:
        for one in learner.found.candidates:
            first, *rest = one.path.split("/")
            is_class |= not rest or first in chapters
            if ".zip/" not in one.path.lower():
                deep[learner.folder, one.chapter].add(shown(first))
    several = {folder: names for (folder, _), names in deep.items() if len(names) > 1}
    is_class |= any(folder not in several and folder not in chapters for folder, _ in deep)
    unlisted = [folder for folder in several if escaped(folder) not in roster]
    if unlisted and not is_class:
        folder, names = shown(unlisted[0]), named(sorted(several[unlisted[0]]))
        why = f"{folder} seems to hold a folder for each learner: {names}"
        advice = f"Grade {submitted / folder} instead"
        raise CourseError(f"{why}. {advice}, or give a --roster that lists it as a learner")
    there = {learner.name for learner in learners if learner.submissions}
    if there and there <= chapters:
        raise CourseError(f"{submitted} holds chapters, so it is one folder too deep. {EXPECTED}")


def notes_on(
    learners: list[Learner], outside: list[str], submissions: list[SubmittedFiles]
) -> list[str]:
    """Return notes on submissions that are missing, unopened or stray."""
    unknown = {learner.name for learner in learners if learner.found.unopened}
    missing = [one for one in submissions if one.missing and one.student not in unknown]
    told: dict[str, list[str]] = defaultdict(list)
    for one in sorted(missing, key=lambda one: one.chapter):
        told[f"no submission for {one.chapter}"].append(one.student)
    archives = [f"{one.name}/{where}" for one in learners for where in one.found.unopened]
    stray = outside + [f"{one.name}/{name}" for one in learners for name in one.stray]
    more = {"archives that are not opened": archives, "left out, because of no chapter": stray}
    return noted(told | more)


def noted(told: Mapping[str, Collection[str]]) -> list[str]:
    """Return each note that is about somebody, with the names."""
    return [f"{note}: {named(sorted(names))}" for note, names in told.items() if names]


def at_most(lines: list[str]) -> list[str]:
    """Return the first lines, and the number of remaining ones."""
    more = [f"… and {len(lines) - MOST_TOLD} more like these"] if len(lines) > MOST_TOLD else []
    return lines[:MOST_TOLD] + more


def named(students: list[str]) -> str:
    """Return the first few names, and the number of remaining ones."""
    more = f" and {len(students) - MOST_NAMED} more" if len(students) > MOST_NAMED else ""
    return ", ".join(students[:MOST_NAMED]) + more
