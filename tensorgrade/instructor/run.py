"""`tensorgrade grade`: grade what is new, and say which points changed.

It may be interrupted and repeated at any time. Two runs into the same folder do no harm.
"""

import zipfile
from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from ..attempts.maker import choose_device
from ..attempts.setup import Setup
from ..attempts.verdict import GRADERS_FAILED, Verdict
from ..built import refuse_unbuilt
from ..course import OLD_LEVELS, Course, CourseError
from ..lateness import BEST, in_zone
from ..project import load_course
from ..sandbox.holes import is_locked
from ..sources.candidates import candidates_in, files_below
from ..sources.finding import EXPECTED, TEAMS, find_submissions, named
from ..sources.submitted_files import NOTHING, SubmittedFiles, lacks_zone, submission_of
from ..views.words import plural
from .class_terminal import ClassProgress
from .decisions import read_extensions, read_rules, unknown_learners
from .dependencies import digest_of
from .groups import definition_in
from .results import Attempt, Results
from .rules import About, Extension, Row, Rules, changes, losses
from .submitted_folder import REPLACED
from .teams import Teams, read_teams
from .workers import Workers, default_count, graded


@dataclass(frozen=True)
class Run:
    """The options of a run.

    jobs: processes on this machine (0: one per core). scheduler: dask's address. students: the only
    learners to grade; files that are already graded are graded again. rescue: accept files with
    nearly the right name or place. roster: the learners of the class. chapters: the only ones to
    grade; all if empty. section: the only learners to grade; all if empty.
    """

    setup: Setup
    jobs: int = 0
    scheduler: str = ""
    students: tuple[str, ...] = ()
    rescue: bool = True
    roster: tuple[str, ...] = ()
    chapters: tuple[str, ...] = ()
    section: frozenset[str] = frozenset()

    def only(self, submissions: list[SubmittedFiles], teams: Teams) -> list[SubmittedFiles]:
        """Return the submissions of the section, and of the learners to grade with their teams."""
        own = [one for one in submissions if not self.section or one.student in self.section]
        if not self.students:
            return own
        again = [one for name in self.students for one in teams.with_teammates(name, own)]
        return [one for one in own if one in again]


STAMPS = ("file", "graders", "submitted", "time_note", "notebook", "team", "extension")


@dataclass(frozen=True)
class Task:
    """A file of a learner to grade.

    stamp: what its rows say besides what graders find, see STAMPS. place: the number of an older
    attempt at this file, if the file is an earlier one of the learner.
    """

    files: SubmittedFiles
    stamp: Row
    place: int | None = None

    @property
    def about(self) -> About:
        """The student and the chapter."""
        return self.files.student, self.files.chapter

    def stamped(self, rows: list[Row]) -> list[Row]:
        """Return the rows of an attempt with this stamp."""
        return [{n: v for n, v in row.items() if n not in STAMPS} | self.stamp for row in rows]


def grade_class(submitted: Path, out: Path, run: Run, progress: ClassProgress) -> list[Row]:
    """Grade every ungraded submission, and return all rows, including earlier ones.

    A submission that was graded before and is missing now keeps its rows.

    Raises CourseError for impossible options, and if nothing can be graded.
    """
    course = prepare_to_grade(submitted, out, run)
    teams, extended = read_teams(submitted, course), read_extensions(submitted, course)
    found, notes = find(submitted, course, run, teams)
    refuse_unbuilt(run.setup.tests, course, {one.chapter for one in found})
    rules, results = read_rules(out, course), Results(out, writes=True)
    results.belongs_to(course.name)
    attempts = results.attempts()
    graders = {c.name: digest_of(run.setup.tests, course, c.name) for c in course.chapters}
    tasks = [Task(one, stamp(one, graders, teams, extended)) for one in found]
    tasks = [one for one in tasks if not (one.files.missing and has_file(attempts.get(one.about)))]
    todo, seen = sort_out(tasks, attempts, again=bool(run.students))
    results.add(course.name, seen)
    is_whole, asked = not (run.students or run.section or run.chapters), {t.about for t in tasks}
    results.expect([one.about for one in todo], None if is_whole else asked)
    others = attempts.keys() - asked if is_whole else set()
    strange = unknown_learners(rules, {a[0] for a in others | asked}) if is_whole else []
    notes += kept(others, attempts, graders) if others else []
    notes += notes_on_times(submitted, tasks, attempts, course)
    progress.begin(len(tasks), len(todo), notes + strange)
    if rules.lateness.attempts == BEST:
        todo += outdated(submitted, tasks, attempts, course)
    if todo:
        grade_contents(todo, course, run, results, progress)
    rows = settle(results, rules, course, progress)
    progress.last_notes = strange + notes_on_graders(rows, tasks, graders)
    return rows


def prepare_to_grade(submitted: Path, out: Path, run: Run) -> Course:
    """Return the course. Raises CourseError for impossible options and a course with errors."""
    if run.jobs < 0:
        raise CourseError(f"--jobs must be a number of processes or 0, not {run.jobs}")
    if not submitted.is_dir():
        raise CourseError(why_no_folder(submitted))
    if out.resolve() == submitted.resolve():
        raise CourseError(f"{out} holds the submissions; choose another folder as --out")
    course = load_course(run.setup.tests)
    if not run.scheduler:
        is_locked(course.isolation, run.setup.isolation, choose_device(run.setup.device))
    return course


def why_no_folder(submitted: Path) -> str:
    """Return what is at a path instead of the folder of submissions, and what to do."""
    if zipfile.is_zipfile(submitted):
        then = "sort it into a folder with `tensorgrade collect` first, and grade that folder"
        return f"{submitted} is a zip; {then}"
    what = "is not a folder" if submitted.exists() else ""
    return f"{submitted} {what}" if what else f"there is no folder {submitted}"


def find(
    submitted: Path, course: Course, run: Run, teams: Teams
) -> tuple[list[SubmittedFiles], list[str]]:
    """Return the submissions of a run, and notes for the instructor. Raises CourseError."""
    only = {course.chapter(name).name for name in run.chapters}
    found, notes = find_submissions(
        submitted,
        course,
        run.rescue,
        run.roster,
        lambda all_of: run.only(teams.share(all_of), teams),
        only,
    )
    if run.roster and teams.strangers:
        why = "who are not on the roster and have no folder"
        raise CourseError(f"{submitted / TEAMS} names {named(teams.strangers)}, {why}")
    there = {one.student for one in found if not (run.students and one.missing)}
    if missing := sorted({*run.students} - there) or ([] if found else ["<student>"]):
        what = f"{missing[0]}/{' or '.join(run.chapters) or '<chapter>'}/"
        raise CourseError(f"{submitted} holds no {what} folder of this course. {EXPECTED}")
    if run.students:
        found = [one for one in found if not one.missing]
    return found, notes + teams.notes + old_level(course)


def old_level(course: Course) -> list[str]:
    """Return a note on an isolation level of an earlier version in course_config.py."""
    if course.isolation not in OLD_LEVELS:
        return []
    there = f"isolation={course.isolation!r} in course_config.py"
    return [f'{there} is a level of earlier versions. It means isolation="sandbox" now']


def has_file(own: list[Attempt] | None) -> bool:
    """Return True if the newest of a learner's attempts is about a file."""
    return own is not None and not own[-1].file.startswith(NOTHING)


def stamp(
    one: SubmittedFiles,
    graders: dict[str, str],
    teams: Teams,
    extended: Mapping[About, Extension],
) -> Row:
    """Return what each row of an attempt says about its submission, besides what graders find.

    A row of a notebook says so, because its line counts from the start of a cell. If there is a
    script too, it may be the one that counts.
    """
    is_notebook = one.filename.endswith(".ipynb") and not one.script
    given = extended.get((one.student, one.chapter))
    team = teams.of.get((one.student, one.chapter))
    more: Row = {"team": team, "extension": asdict(given) if given else None}
    more |= {"notebook": is_notebook, "time_note": one.time_note}
    told = {"submitted": one.submitted or None, "file": one.digest, "graders": graders[one.chapter]}
    return told | {name: value for name, value in more.items() if value}


def sort_out(
    tasks: list[Task], attempts: dict[About, list[Attempt]], again: bool
) -> tuple[list[Task], list[list[Row]]]:
    """Return what to grade, and the rows of new attempts that need no grading.

    These are of files that today's graders have judged, but that were not the newest, or that have
    another time now. again: grade all, even if nothing has changed.
    """
    todo, seen = [], []
    for one in tasks:
        own, wanted = attempts.get(one.about, []), (one.stamp["file"], one.stamp["graders"])
        same = [attempt.rows for attempt in own if (attempt.file, attempt.graders) == wanted]
        if again or not same or any(r.get("message_id") in GRADERS_FAILED for r in same[-1]):
            todo.append(one)
        elif own[-1].rows != (rows := one.stamped(same[-1])):
            seen.append(rows)
    return todo, seen


def outdated(
    submitted: Path, tasks: list[Task], attempts: dict[About, list[Attempt]], course: Course
) -> list[Task]:
    """Return earlier files of these learners that `collect` has kept and only old graders judged.

    If the best attempt counts, today's graders must judge these files too.
    """
    found = []
    for one in tasks:
        graders, last = one.stamp["graders"], {a.file: a for a in attempts.get(one.about, [])}
        old = {f: a for f, a in last.items() if f != one.files.digest and a.graders != graders}
        for files in earlier_files(submitted, one.about, course) if old else []:
            if attempt := old.pop(files.digest, None):
                mark = {n: v for n, v in attempt.rows[0].items() if n in STAMPS}
                found.append(Task(files, mark | {"graders": graders}, attempt.number))
    return found


def earlier_files(submitted: Path, about: About, course: Course) -> list[SubmittedFiles]:
    """Return a learner's earlier files for a chapter, which `collect` has kept."""
    student, chapter = about
    found = []
    for folder in sorted((submitted / REPLACED / student).glob(f"{chapter}-*")):
        candidates = candidates_in(files_below(folder), [chapter], course.limits)
        one, _ = submission_of(student, chapter, candidates, course.limits)
        found += [one] if one else []
    return found


def notes_on_graders(rows: list[Row], tasks: list[Task], graders: dict[str, str]) -> list[str]:
    """Return a note on earlier files that count as earlier graders have judged them."""
    files = {one.about: one.files.digest for one in tasks}
    old = {
        row["student"]
        for row in rows
        if (file := files.get((row["student"], row["chapter"]))) and row["file"] != file
        if row["graders"] != graders[row["chapter"]]
    }
    why = "earlier files count as earlier graders have judged them, because they are no longer in"
    return [f"{why} SUBMITTED: {named(sorted(old))}"] if old else []


def kept(
    others: Collection[About], attempts: dict[About, list[Attempt]], graders: dict[str, str]
) -> list[str]:
    """Return notes on earlier rows that stay although nothing was submitted for them now."""
    students = named(sorted({student for student, _ in others}))
    notes = [f"not in this run, so earlier results are kept: {students}"]
    if old := {a for a in others if attempts[a][-1].graders != graders.get(a[1])}:
        of_them = f"{len(old)} of these {plural(len(others), 'submission')}"
        students = named(sorted({student for student, _ in old}))
        notes.append(f"{of_them} come from an older version of the graders: {students}")
    return notes


def notes_on_times(
    submitted: Path,
    tasks: list[Task],
    attempts: dict[About, list[Attempt]],
    course: Course,
) -> list[str]:
    """Return notes on unknown times, on times without a zone, and on files that are older now."""
    zone, dues = course.lateness.zone, course.lateness.deadlines
    there = [task.files for task in tasks if not task.files.missing]
    late = {one.student for one in there if one.chapter in dues and not one.submitted}
    dated = there if zone not in ("", "UTC") else []
    bare = {one.student for one in dated if lacks_zone(submitted / one.student / one.chapter)}
    older = {
        f"{one.student}/{one.chapter} ({in_zone(one.submitted, zone)}, was {in_zone(then, zone)})"
        for one in there
        for own in attempts.get((one.student, one.chapter), [])[-1:]
        if own.file != one.digest and one.submitted < (then := own.rows[0]["submitted"] or "")
        if one.submitted
    }
    notes = {
        "unknown times, which count as on time; to set one, write timestamp.txt in the chapter's "
        "folder": late,
        "timestamp.txt names no time zone, so it is read as UTC, as nbgrader does; write the zone "
        "after the time": bare,
        "files are older than those that were graded before, and replace them": older,
    }
    return [f"{note}: {named(sorted(names))}" for note, names in notes.items() if names]


def grade_contents(
    todo: list[Task], course: Course, run: Run, results: Results, progress: ClassProgress
) -> None:
    """Grade each distinct content once, and store the verdicts for all its submissions."""
    same = by_content(todo)
    with workers_for(len(same), course, run) as workers:
        progress.checked_in(workers.check_in())
        for first, verdicts in graded(list(same), workers, course):
            for one in same[first]:
                if verdicts is not None:
                    rows = [row_of(verdict, one.files.student) for verdict in verdicts]
                    results.add(course.name, [one.stamped(rows)], one.place)
                progress.advance(one.files, verdicts)


def row_of(verdict: Verdict, student: str) -> Row:
    """Return a learner's row, with the code of a wrong answer without a known mistake."""
    row = replace(verdict, student=student).row()
    code = definition_in(verdict.code, verdict.exercise) if verdict.group else ""
    return row | {"code": code} if code else row


def workers_for(contents: int, course: Course, run: Run) -> Workers:
    """Return worker processes on this machine, or a scheduler's workers."""
    if not run.scheduler:
        return Workers(default_count(contents, run.jobs), run.setup)
    from .cluster import ClusterWorkers

    return ClusterWorkers(run.scheduler, run.setup, course)


def by_content(tasks: list[Task]) -> dict[SubmittedFiles, list[Task]]:
    """Return the first submission of each content, with all tasks of that content."""
    groups: dict[tuple, list[Task]] = defaultdict(list)
    for task in tasks:
        one = task.files
        kind = one.filename.rsplit(".", 1)[-1]
        groups[one.chapter, kind, one.content, one.script, one.reason].append(task)
    return {group[0].files: group for group in groups.values()}


def settle(results: Results, rules: Rules, course: Course, progress: ClassProgress) -> list[Row]:
    """Compute the rows that count, show and store what changed, and write `results.jsonl`."""
    before, rows = results.exported(), results.rows(rules, course.exercise_names)
    moved = changes(before, rows)
    results.note(moved)
    results.export(rows)
    progress.changed(losses(before, rows, moved))
    return rows
