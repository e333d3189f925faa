"""`tensorgrade grade`: grade a folder of submissions, and write `results.jsonl` and more."""

import os
import zipfile
from collections import defaultdict
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from ..attempts.maker import choose_device
from ..attempts.setup import Setup
from ..attempts.verdict import GRADERS_FAILED, Verdict
from ..author.recording.keys import refuse_unbuilt
from ..course import OLD_LEVELS, Course, CourseError
from ..course_sources import load_course
from ..exchange.text import short
from ..sandbox.holes import is_locked
from ..sandbox.lockdown import is_nobody_here
from ..sources.finding import EXPECTED, TEAMS, find_submissions, named
from ..sources.submitted_files import SubmittedFiles, lacks_zone
from ..views.words import plural
from .dependencies import digest_of
from .exporting import delete_pages
from .extensions import EXTENSIONS, read_extensions
from .ledger import Ledger, about, key
from .overrides import OVERRIDES, read_overrides, unknown
from .results_folder import settings_now
from .retrying_workers import LocalWorkers, Workers, default_count, graded
from .store import About
from .teams import Teams, read_teams
from .what_counts import Rules

LONGEST_NOTE = 300  # characters: two lines of a wide terminal


@dataclass(frozen=True)
class Run:
    """The options of a run.

    jobs: processes on this machine (0: one per core). scheduler: dask's address. forget: learners
    whose earlier rows are deleted. rescue: accept files with nearly the right name or place.
    roster: the learners of the class. chapters: the only ones to grade; all if empty. again: the
    only learner to grade; files that are already graded are graded again. section: the only
    learners to grade; all if empty.
    """

    setup: Setup
    jobs: int = 0
    scheduler: str = ""
    forget: tuple[str, ...] = ()
    rescue: bool = True
    roster: tuple[str, ...] = ()
    chapters: tuple[str, ...] = ()
    again: str = ""
    section: frozenset[str] = frozenset()

    def only(self, submissions: list[SubmittedFiles]) -> list[SubmittedFiles]:
        """Return the submissions of the section."""
        return [one for one in submissions if not self.section or one.student in self.section]


class Progress(Protocol):
    """A receiver of progress callbacks: class_terminal.py, or a substitute."""

    def waits(self) -> None:
        """Receive a notice that this run waits for another one that writes into the folder."""

    def begin(self, total: int, left: int, notes: list[str]) -> None:
        """Receive the numbers of all and of ungraded submissions, and notes for the instructor."""

    def checked_in(self, workers: dict[str, int]) -> None:
        """Receive the number of workers by kind of isolation, when they are ready."""

    def advance(self, submitted_files: SubmittedFiles, verdicts: list[Verdict] | None) -> None:
        """Receive one more submission; None if this machine could not grade it."""

    def not_graded(self) -> str:
        """Return which submissions could not be graded, and why; "" if there are none."""

    def moved(self, moves: list[dict]) -> None:
        """Receive the rows with changed points, as the history records them."""

    def without_effect(self, notes: list[str]) -> None:
        """Receive notes on lines in an instructor's file that had no effect."""


def grade_class(submitted: Path, out: Path, run: Run, progress: Progress) -> list[dict]:
    """Grade every ungraded submission, and return all rows, including earlier ones.

    A submission that was graded before and is missing now keeps its rows.

    Raises CourseError for impossible options, and if nothing can be graded.
    """
    course, isolated = prepare_to_grade(submitted, out, run)
    teams = read_teams(submitted, course)
    only = {course.chapter(name).name for name in run.chapters}
    submissions, notes = find_submissions(
        submitted,
        course,
        run.rescue,
        run.roster,
        lambda all_of: run.only(teams.share(all_of)),
        only,
    )
    if run.roster and teams.strangers:
        why = "who are not on the roster and have no folder"
        raise CourseError(f"{submitted / TEAMS} names {named(teams.strangers)}, {why}")
    notes += teams.notes
    notes += few_submitted(submissions)
    notes += old_level(course)
    notes += without_zone(submitted, submissions, course.lateness.zone)
    if run.again:
        submissions = teams.with_teammates(run.again, submissions)
    if not submissions:
        what = f"{run.again or '<student>'}/{' or '.join(run.chapters) or '<chapter>'}/"
        raise CourseError(f"{submitted} holds no {what} folder of this course. {EXPECTED}")
    chapters = {submitted_files.chapter for submitted_files in submissions}
    refuse_unbuilt(run.setup.tests, chapters)
    ledger = ledger_of(submitted, out, course, run, teams, progress)
    submissions = [h for h in submissions if not (h.missing and ledger.holds(h, run.forget))]
    notes += unknown_times(submissions, course)
    others = ledger.others(submissions, run.forget)
    is_whole = not (run.again or run.section)
    notes += kept(ledger, others) if is_whole and others else []
    strange = unknown_learners(ledger, submissions, others) if is_whole else []
    todo = ledger.prepare(submissions, run.forget, again=bool(run.again))
    delete_pages(out, run.forget)
    notes += strange + ledger.notes + ledger.old_overrides(submissions, points_in(course))
    if isolated and ledger.has_earlier:
        notes += graded_without_isolation(ledger, todo)
    progress.begin(len(submissions), len(todo), [short(note, LONGEST_NOTE) for note in notes])
    if todo:
        grade_contents(todo, course, run, ledger, progress)
    rows = ledger.finish(course.exercise_names, submissions)
    if ledger.moves:
        progress.moved(ledger.moved())
    progress.without_effect(strange)
    return rows


def why_no_folder(submitted: Path) -> str:
    """Return what is at a path instead of the folder of submissions, and what to do."""
    if zipfile.is_zipfile(submitted):
        then = "sort it into a folder with `tensorgrade collect` first, and grade that folder"
        return f"{submitted} is a zip; {then}"
    return (
        f"{submitted} is not a folder" if submitted.exists() else f"there is no folder {submitted}"
    )


def prepare_to_grade(submitted: Path, out: Path, run: Run) -> tuple[Course, bool]:
    """Return the course, and True if learner code is isolated. Raises CourseError.

    Impossible options and a course that cannot be loaded are reported here.
    """
    if run.jobs < 0:
        raise CourseError(f"--jobs must be a number of processes or 0, not {run.jobs}")
    if run.forget and (run.chapters or run.section):
        raise CourseError(
            "--forget deletes a learner's results in all chapters; "
            "run it without --chapter and --section"
        )
    if not submitted.is_dir():
        raise CourseError(why_no_folder(submitted))
    if out.resolve() == submitted.resolve():
        raise CourseError(f"{out} holds the submissions; choose another folder as --out")
    course = load_course(run.setup.tests)
    if run.scheduler:
        return course, run.setup.isolation != "none"
    device = choose_device(run.setup.device)
    locked = is_locked(course.isolation, run.setup.isolation, device)
    if locked and is_nobody_here():
        os.umask(0o077)  # learner code runs as another user, who must not read what is written now
    return course, locked


def ledger_of(
    submitted: Path, out: Path, course: Course, run: Run, teams: Teams, progress: Progress
) -> Ledger:
    """Return the results in a folder, as soon as no other run writes. Raises CourseError."""
    digests = {c.name: digest_of(run.setup.tests, c.name) for c in course.chapters}
    exercises = {c.name: [e.name for e in c.exercises] for c in course.chapters}
    settings = settings_now(out, course.lateness)
    overrides = read_overrides(out, course)
    # What an instructor decides has priority over what a course system says.
    extensions = read_extensions(submitted, course) | read_extensions(out, course)
    rules = Rules(course.lateness, overrides, extensions, teams.of, settings=settings)
    ledger = Ledger(out, digests, rules, GRADERS_FAILED, exercises, progress.waits)
    ledger.belongs_to(course.name)
    if run.forget:
        ledger.must_know(run.forget)
    return ledger


def points_in(course: Course) -> dict[tuple[str, str], float]:
    """Return the points of each exercise, by chapter and name."""
    return {(c.name, e.name): float(e.points) for c in course.chapters for e in c.exercises}


def unknown_learners(
    ledger: Ledger, submissions: list[SubmittedFiles], others: set[About]
) -> list[str]:
    """Return notes on unknown learners in instructors' files.

    others: (student, chapter) of earlier rows that stay.
    """
    students = {one.student for one in submissions} | {student for student, _ in others}
    extended = [student for student, _ in ledger.rules.extensions]
    decided = [student for student, *_ in ledger.rules.overrides]
    return unknown(EXTENSIONS, extended, students) + unknown(OVERRIDES, decided, students)


FEW, ENOUGH = 0.1, 10  # fewer than this share, of at least so many learners


def few_submitted(submissions: list[SubmittedFiles]) -> list[str]:
    """Return a note on chapters that hardly any learner submitted; a stray file may be why."""
    notes = []
    for chapter in sorted({submitted_files.chapter for submitted_files in submissions}):
        own = [
            submitted_files for submitted_files in submissions if submitted_files.chapter == chapter
        ]
        there = [submitted_files.student for submitted_files in own if not submitted_files.missing]
        if len(own) >= ENOUGH and len(there) < FEW * len(own):
            others = plural(len(own) - len(there), "other learner")
            notes.append(
                f"only {named(there)} submitted {chapter}, so {others} get 0 points for it. If "
                "that is a stray file, name the chapters to grade with --chapter"
            )
    return notes


def old_level(course: Course) -> list[str]:
    """Return a note on an isolation level of an earlier version in course_config.py."""
    if course.isolation not in OLD_LEVELS:
        return []
    there = f"isolation={course.isolation!r} in course_config.py"
    return [f'{there} is a level of earlier versions. It means isolation="sandbox" now']


def unknown_times(submissions: list[SubmittedFiles], course: Course) -> list[str]:
    """Return a note on submissions that count as on time because their time is unknown."""
    due = course.lateness.deadlines
    own = [h for h in submissions if h.chapter in due and not h.missing and not h.submitted]
    if not own:
        return []
    told = f"the times of {plural(len(own), 'submission')} are unknown, so they count as on time"
    students = named(sorted({h.student for h in own}))
    return [f"{told}: {students}. To set a time, write timestamp.txt in the chapter's folder"]


def without_zone(submitted: Path, submissions: list[SubmittedFiles], zone: str) -> list[str]:
    """Return a note on times without a zone, if the course has one that is not UTC."""
    if zone in ("", "UTC"):
        return []
    own = sorted({h.student for h in submissions if lacks_zone(submitted / h.student / h.chapter)})
    why = "so it is read as UTC, as nbgrader does; write the zone after the time"
    return [f"timestamp.txt names no time zone, {why}: {named(own)}"] if own else []


def kept(ledger: Ledger, others: set[About]) -> list[str]:
    """Return notes on earlier rows that stay although nothing was submitted for them now.

    others: (student, chapter) of them.
    """
    students = named(sorted({student for student, _ in others}))
    kept_of = f"not in this run, so earlier results are kept: {students}"
    notes = [f"{kept_of}; `--forget NAME` deletes a learner's results"]
    newest = {one: ledger.attempts[one][-1] for one in others}
    if outdated := {a for a in others if newest[a].graders != ledger.digests.get(a[1])}:
        students = named(sorted({student for student, _ in outdated}))
        of_them = f"{len(outdated)} of these {plural(len(others), 'submission')}"
        notes.append(f"{of_them} come from an older version of the graders: {students}")
    return notes


def graded_without_isolation(ledger: Ledger, todo: list[SubmittedFiles]) -> list[str]:
    """Return a note on rows that were graded without isolation and that this run keeps."""
    loose = {key(row)[:2] for row in ledger.rows() if row.get("isolation") == "none"}
    those = loose - {about(submitted_files) for submitted_files in todo}
    if not those:
        return []
    count = plural(len(those), "submission")
    rows = f"results of {count} come from `--isolation none` and are kept"
    again = "`--forget NAME` grades one learner again, a new --out grades everyone"
    return [f"{rows}: {named(sorted({student for student, _ in those}))}; {again}"]


def grade_contents(
    todo: list[SubmittedFiles], course: Course, run: Run, ledger: Ledger, progress: Progress
) -> None:
    """Grade each distinct content once, and write the verdicts for all its submissions."""
    same = by_content(todo)
    with workers_for(len(same), course, run) as workers:
        progress.checked_in(workers.check_in())
        for batch in graded(list(same), workers, course):
            ungraded = [h for first, v in batch if v is None for h in same[first]]
            full = [(h, verdicts_for(h, v)) for first, v in batch if v for h in same[first]]
            ledger.write(full)
            for submitted_files, verdicts in [*full, *((h, None) for h in ungraded)]:
                progress.advance(submitted_files, verdicts)


def workers_for(contents: int, course: Course, run: Run) -> Workers:
    """Return worker processes on this machine, or a scheduler's workers."""
    if not run.scheduler:
        return LocalWorkers(default_count(contents, run.jobs), run.setup)
    from .cluster import ClusterWorkers

    return ClusterWorkers(run.scheduler, run.setup, course)


def by_content(submissions: list[SubmittedFiles]) -> dict[SubmittedFiles, list[SubmittedFiles]]:
    """Return the first submission of each content, with all submissions of that content."""
    groups: dict[tuple, list[SubmittedFiles]] = defaultdict(list)
    for submitted_files in submissions:
        kind = submitted_files.filename.rsplit(".", 1)[-1]
        content = submitted_files.content, submitted_files.script, submitted_files.reason
        groups[submitted_files.chapter, kind, *content].append(submitted_files)
    return {group[0]: group for group in groups.values()}


def verdicts_for(submitted_files: SubmittedFiles, verdicts: list[Verdict]) -> list[Verdict]:
    """Return the verdicts under the name of another learner, who submitted the same content."""
    return [replace(verdict, student=submitted_files.student) for verdict in verdicts]
