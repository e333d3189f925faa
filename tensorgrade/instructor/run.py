"""`tensorgrade grade`: grade what is new, and say which points changed.

It may be interrupted and repeated at any time. Two runs into the same folder do no harm.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console

from ..attempts.maker import choose_device
from ..attempts.setup import Setup
from ..attempts.verdict import Verdict
from ..built import refuse_unbuilt
from ..course import Course, CourseError
from ..lateness import BEST
from ..project import load_course
from ..sandbox.holes import is_locked
from ..sources.candidates import candidates_in, files_below
from ..sources.finding import EXPECTED, About, find_submissions, named
from ..sources.submitted_files import NOTHING, SubmittedFiles, submission_of
from ..views.words import plural
from .class_terminal import graders_failed, print_changes, print_notes, say, with_progress
from .decisions import read_extensions, read_rules, read_teams, unknown_learners
from .dependencies import digest_of
from .results import Attempt, Results
from .rules import Row, changes
from .submitted_folder import REPLACED
from .workers import Workers, default_count, graded

Attempts = Mapping[About, list[Attempt]]
LONGEST_CODE = 6000  # characters


@dataclass(frozen=True)
class Run:
    """The options of a run.

    jobs: processes on this machine (0: one per core). scheduler: dask's address. learners: the only
    ones to grade, with their teams; all if empty. again: grade them again, even if nothing has
    changed. rescue: accept files with nearly the right name or place. roster: the learners of the
    class. chapters: the only ones to grade; all if empty.
    """

    setup: Setup
    jobs: int = 0
    scheduler: str = ""
    learners: frozenset[str] = frozenset()
    again: bool = False
    rescue: bool = True
    roster: tuple[str, ...] = ()
    chapters: tuple[str, ...] = ()

    @property
    def is_whole(self) -> bool:
        """Return True if the run is on the whole class."""
        return not (self.learners or self.chapters)


def grade_class(
    submitted: Path, out: Path, run: Run, console: Console
) -> tuple[list[Row], list[str], list[str]]:
    """Grade every ungraded submission.

    Return all rows, including earlier ones, notes for the instructor, and the submissions that this
    machine could not grade. A submission that was graded before and is missing now keeps its rows.

    Raises CourseError for impossible options, and if nothing can be graded.
    """
    course, isolation = prepare_to_grade(submitted, out, run)
    extended = read_extensions(submitted, course)  # from Moodle
    found, notes = find(submitted, course, run)
    refuse_unbuilt(run.setup.tests, course, {one.chapter for one in found})
    rules, results = read_rules(out, course), Results(out, writes=True)
    results.belongs_to(course.name)
    attempts = results.attempts()
    graders = {c.name: digest_of(run.setup.tests, course, c.name) for c in course.chapters}
    # A file that was graded before and is missing now keeps its rows.
    had_file = {whose for whose, own in attempts.items() if not own[-1].file.startswith(NOTHING)}
    found = [one for one in found if not (one.missing and about(one) in had_file)]
    todo = [one for one in found if run.again or not is_done(one, attempts, graders)]
    results.expect(
        {one: facts_on(one, extended.get(about(one))) for one in found}, todo, run.is_whole
    )
    others = attempts.keys() - set(map(about, found)) if run.is_whole else set()
    print_notes(console, notes + notes_on_files(found, others, course))
    done = f", {len(found) - len(todo)} of them graded before" if len(todo) < len(found) else ""
    say(console, f"{plural(len(found), 'submission')}{done}")
    if rules.lateness.attempts == BEST:
        todo += earlier_files(submitted, found, attempts, graders, course)
    verdicts_of = verdicts_on(todo, course, run, isolation, console)
    for one, verdicts in with_progress(console, verdicts_of, len(todo)):
        told = {one: [row_of(verdict, one) for verdict in verdicts]}
        results.add(course.name, graders[one.chapter], told)
    before, rows, waiting = results.exported(), results.rows(course), results.waiting()
    moved = changes(before, rows)
    results.note(moved)
    results.export(rows)
    print_changes(console, before, rows, moved)
    asked = {*others, *map(about, found)}
    strange = unknown_learners(rules, {student for student, _ in asked}) if run.is_whole else []
    last = strange + note_on_graders(rows, asked - waiting, graders)
    return rows, last, sorted({"/".join(about(one)) for one in todo if about(one) in waiting})


def prepare_to_grade(submitted: Path, out: Path, run: Run) -> tuple[Course, str]:
    """Return the course and the kind of isolation.

    Raises CourseError for impossible options and a course with errors.
    """
    if run.jobs < 0:
        raise CourseError(f"--jobs must be a number of processes or 0, not {run.jobs}")
    if submitted.is_file():
        then = "sort a download into a folder with `tensorgrade collect` first, and grade that"
        raise CourseError(f"{submitted} is not a folder; {then}")
    if not submitted.is_dir():
        raise CourseError(f"there is no folder {submitted}")
    if out.resolve() == submitted.resolve():
        raise CourseError(f"{out} holds the submissions; choose another folder as --out")
    course = load_course(run.setup.tests)
    # A scheduler's workers choose their own devices.
    device = "cpu" if run.scheduler else choose_device(run.setup.device)
    is_isolated = is_locked(course.isolation, run.setup.isolation, device)
    return course, "sandbox" if is_isolated else "none"


def find(submitted: Path, course: Course, run: Run) -> tuple[list[SubmittedFiles], list[str]]:
    """Return the submissions of a run, and notes for the instructor. Raises CourseError."""
    teams, only = read_teams(submitted, course), {course.chapter(n).name for n in run.chapters}
    found, notes = find_submissions(
        submitted, course, teams, run.rescue, run.roster, only, run.learners
    )
    if run.again:
        found = [one for one in found if not one.missing]
    missing = run.learners - {one.student for one in found} if run.again else set()
    if missing or not found:
        what = f"{min(missing, default='<student>')}/{' or '.join(run.chapters) or '<chapter>'}/"
        raise CourseError(f"{submitted} holds no {what} folder of this course. {EXPECTED}")
    return found, notes


def about(one: SubmittedFiles) -> About:
    """Return the student and the chapter of a submission."""
    return one.student, one.chapter


def is_done(one: SubmittedFiles, attempts: Attempts, graders: Mapping[str, str]) -> bool:
    """Return True if these graders have judged a submission, and did not fail on it."""
    wanted = one.digest, graders[one.chapter]
    same = [a.rows for a in attempts.get(about(one), []) if (a.file, a.graders) == wanted]
    return bool(same) and not any(map(graders_failed, same[-1]))


def facts_on(one: SubmittedFiles, extension: Row | None) -> Row:
    """Return what each row of a submission says besides what graders find.

    A row of a notebook says so, because its line counts from the start of a cell. If there is a
    script too, it may be the one that counts.
    """
    is_notebook = one.filename.endswith(".ipynb") and not one.script
    more: Row = {"team": one.team, "extension": extension, "notebook": is_notebook}
    told = {name: value for name, value in more.items() if value}
    return {"submitted": one.submitted or None} | told


def earlier_files(
    submitted: Path,
    found: list[SubmittedFiles],
    attempts: Attempts,
    graders: Mapping[str, str],
    course: Course,
) -> list[SubmittedFiles]:
    """Return earlier files of these learners that `collect` has kept and only old graders judged.

    If the best attempt counts, today's graders must judge these files too.
    """
    old = {}
    for one in found:
        last = {a.file: a.graders for a in attempts.get(about(one), []) if a.file != one.digest}
        for folder in (submitted / REPLACED / one.student).glob(f"{one.chapter}-*"):
            candidates = candidates_in(files_below(folder), [one.chapter], course.limits)
            files, _ = submission_of(*about(one), candidates, course.limits)
            today = graders[one.chapter]
            if files and last.get(files.digest, today) != today:
                old[about(one), files.digest] = files
    return list(old.values())


def notes_on_files(
    found: list[SubmittedFiles], others: Collection[About], course: Course
) -> list[str]:
    """Return notes on learners without a file and on unknown times.

    others: graded submissions that are not in SUBMITTED.
    """
    due = [one for one in found if one.chapter in course.lateness.deadlines]
    notes = {
        "not in this run, so earlier results are kept": {student for student, _ in others},
        "unknown times, which count as on time; to set one, write timestamp.txt in the chapter's "
        "folder": {one.student for one in due if not (one.missing or one.submitted)},
    }
    return [f"{note}: {named(sorted(names))}" for note, names in notes.items() if names]


def note_on_graders(
    rows: list[Row], asked: Collection[About], graders: Mapping[str, str]
) -> list[str]:
    """Return a note on files that count as earlier graders have judged them."""
    old = {
        row["student"]
        for row in rows
        if (row["student"], row["chapter"]) in asked
        and row["graders"] != graders.get(row["chapter"])
    }
    why = "files that are no longer in SUBMITTED count as earlier graders have judged them"
    return [f"{why}: {named(sorted(old))}"] if old else []


def verdicts_on(
    todo: list[SubmittedFiles], course: Course, run: Run, isolation: str, console: Console
) -> Iterator[tuple[SubmittedFiles, list[Verdict]]]:
    """Grade each distinct content once, and yield the verdicts for all its submissions.

    Submissions that this machine cannot grade are left out.
    """
    if not todo:
        return
    same = by_content(todo)
    with workers_for(len(same), course, run) as workers:
        say(console, f"{plural(workers.count, 'worker')}, isolation {isolation}")
        for first, verdicts in graded(list(same), workers, course):
            for one in same[first] if verdicts is not None else []:
                yield one, verdicts or []


def row_of(verdict: Verdict, one: SubmittedFiles) -> Row:
    """Return a learner's row, with the code of a wrong answer without a known mistake."""
    row = replace(verdict, student=one.student).row()
    # The text is a learner's, so it is searched and never parsed.
    definition = rf"^(?:def|class) {verdict.exercise}\b.*(?:\n(?:[ \t)\]}}#].*|))*"
    found = re.findall(definition, verdict.code, re.MULTILINE) if verdict.group else []
    return row | {"code": found[-1].strip()[:LONGEST_CODE]} if found else row


def workers_for(contents: int, course: Course, run: Run) -> Workers:
    """Return worker processes on this machine, or a scheduler's workers."""
    if not run.scheduler:
        return Workers(default_count(contents, run.jobs), run.setup)
    from .cluster import ClusterWorkers

    return ClusterWorkers(run.scheduler, run.setup, course)


def by_content(todo: list[SubmittedFiles]) -> dict[SubmittedFiles, list[SubmittedFiles]]:
    """Return the first submission of each content, with all submissions of that content."""
    groups: dict[tuple[str, str, str], list[SubmittedFiles]] = defaultdict(list)
    for one in todo:
        kind = one.filename.rsplit(".", 1)[-1]
        groups[one.chapter, kind, one.digest].append(one)
    return {group[0]: group for group in groups.values()}
