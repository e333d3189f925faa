"""`tensorgrade grade`: grade what is new, and say which points changed.

It may be interrupted and repeated at any time. Two runs into the same folder do no harm.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console

from ..attempts.maker import choose_device
from ..attempts.setup import Setup
from ..attempts.verdict import Verdict
from ..built import refuse_unbuilt
from ..course import Course, CourseError
from ..lateness import BEST
from ..sandbox.holes import is_locked
from ..sources.candidates import candidates_in, files_below
from ..sources.finding import EXPECTED, About, find_submissions, named
from ..sources.submitted_files import NOTHING, SubmittedFiles, submission_of
from ..views.words import plural
from .class_terminal import graders_failed, print_changes, print_notes, say, with_progress
from .decisions import EXTENSIONS, OVERRIDES, read_extensions, read_rules, read_teams
from .dependencies import digest_of
from .grader import Workers, graded
from .results import Results
from .rules import Row, Rules, changes, key
from .submitted_folder import REPLACED

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
    submitted: Path, out: Path, course: Course, run: Run, console: Console
) -> tuple[list[Row], list[str], list[str]]:
    """Grade every ungraded submission.

    Return all rows, including earlier ones, notes for the instructor, and the submissions that this
    machine could not grade. A submission that was graded before and is missing now keeps its rows.

    Raises CourseError for impossible options, and if nothing can be graded.
    """
    if out.resolve() == submitted.resolve():
        raise CourseError(f"{out} holds the submissions; choose another folder as --out")
    isolation, extended = isolation_of(course, run), read_extensions(submitted, course)
    found, notes = find(submitted, course, run)
    refuse_unbuilt(run.setup.tests, course, {one.chapter for one in found})
    rules, results = read_rules(out, course), Results(out, writes=True)
    attempts = results.attempts()
    graders = {c.name: digest_of(run.setup.tests, course, c.name) for c in course.chapters}
    had_file = {who for who, own in attempts.items() if not own[-1][0]["file"].startswith(NOTHING)}
    found = [one for one in found if not (one.missing and one.about in had_file)]
    before = {one: attempts.get(one.about, []) for one in found}
    todo = [o for o in found if run.again or not is_graded(o.digest, graders[o.chapter], before[o])]
    facts = {one: facts_on(one, extended.get(one.about)) for one in found}
    results.expect(facts, graders, run.is_whole)
    others = attempts.keys() - {one.about for one in found} if run.is_whole else set()
    dues = course.lateness.deadlines
    undated = {o.student for o in found if o.chapter in dues and not (o.missing or o.submitted)}
    print_notes(console, notes + noted((KEPT, {who for who, _ in others}), (UNDATED, undated)))
    known = f", {len(found) - len(todo)} of them graded before" if len(todo) < len(found) else ""
    say(console, f"{plural(len(found), 'submission')}{known}")
    if rules.lateness.attempts == BEST:
        todo += earlier_files(submitted, before, graders, course)
    found_in = verdicts_on(todo, course, run, isolation, console)
    ungraded = {*todo}
    for one, verdicts in with_progress(console, found_in, len(todo)):
        results.add(graders[one.chapter], {one: [row_of(verdict, one) for verdict in verdicts]})
        ungraded.remove(one)
    rows = told_changes(results, course, console)
    left = {one.about for one in ungraded}
    last = last_notes(rows, rules, graders, left) if run.is_whole else []
    return rows, last, sorted(map("/".join, left))


def last_notes(
    rows: list[Row], rules: Rules, graders: Mapping[str, str], left: set[About]
) -> list[str]:
    """Return notes on what counts in a whole class. left: the submissions that are not graded."""
    students = {row["student"] for row in rows} | {student for student, _ in left}
    outdated = {
        row["student"]
        for row in rows
        if row["graders"] != graders.get(row["chapter"]) and key(row)[:2] not in left
    }
    return noted(
        (OUTDATED, outdated),
        (f"{EXTENSIONS} {STRANGE}", {student for student, _ in rules.extensions} - students),
        (f"{OVERRIDES} {STRANGE}", {student for student, *_ in rules.overrides} - students),
    )


def told_changes(results: Results, course: Course, console: Console) -> list[Row]:
    """Return the rows that count now, after storing and printing what changed."""
    before, rows = results.exported(), results.rows(course)
    moved = changes(before, rows)
    results.note(moved)
    results.export(rows)
    print_changes(console, before, rows, moved)
    return rows


KEPT = "not in this run, so earlier results are kept"
UNDATED = (
    "unknown times, which count as on time; to set one, write timestamp.txt in the chapter's folder"
)
STRANGE = "names learners without results"
OUTDATED = "files that are no longer in SUBMITTED count as earlier graders have judged them"


def noted(*about: tuple[str, set[str]]) -> list[str]:
    """Return each note that is about somebody, with the names."""
    return [f"{note}: {named(sorted(names))}" for note, names in about if names]


def isolation_of(course: Course, run: Run) -> str:
    """Return the kind of isolation. Raises CourseError for impossible options."""
    # A scheduler's workers choose their own devices.
    device = "cpu" if run.scheduler else choose_device(run.setup.device)
    is_isolated = is_locked(course.isolation, run.setup.isolation, device)
    return "sandbox" if is_isolated else "none"


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


def is_graded(file: str, graders: str, attempts: list[list[Row]]) -> bool:
    """Return True if these graders have graded this file, and did not fail on it."""
    same = [rows for rows in attempts if (rows[0]["file"], rows[0]["graders"]) == (file, graders)]
    return bool(same) and not any(map(graders_failed, same[-1]))


def facts_on(one: SubmittedFiles, extension: Row | None) -> Row:
    """Return what each row of a submission says besides what graders find.

    A row of a notebook says so, because its line counts from the start of a cell. If there is a
    script too, it may be the one that counts.
    """
    is_notebook = one.filename.endswith(".ipynb") and not one.script
    more = (("team", one.team), ("extension", extension), ("notebook", is_notebook))
    return {"submitted": one.submitted or None} | {name: value for name, value in more if value}


def earlier_files(
    submitted: Path,
    found: Mapping[SubmittedFiles, list[list[Row]]],
    graders: Mapping[str, str],
    course: Course,
) -> list[SubmittedFiles]:
    """Return earlier files of these learners that `collect` has kept and only old graders judged.

    If the best attempt counts, today's graders must judge these files too. found: the newest files,
    with all attempts at each chapter.
    """
    old = {}
    for one, attempts in found.items():
        last = {rows[0]["file"]: rows[0]["graders"] for rows in attempts}
        for folder in (submitted / REPLACED / one.student).glob(f"{one.chapter}-*"):
            candidates = candidates_in(files_below(folder), [one.chapter], course.limits)
            files, _ = submission_of(*one.about, candidates, course.limits)
            today = graders[one.chapter]
            if files and last.get(files.digest, today) != today and files.digest != one.digest:
                old[one.about, files.digest] = files
    return list(old.values())


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
            yield from ((one, verdicts) for one in same[first])


def row_of(verdict: Verdict, one: SubmittedFiles) -> Row:
    """Return a learner's row, with the code of a wrong answer without a known mistake."""
    row = verdict.row() | {"student": one.student}
    # The text is a learner's, so it is searched and never parsed.
    definition = rf"^(?:def|class) {verdict.exercise}\b.*(?:\n(?:[ \t)\]}}#].*|))*"
    found = re.findall(definition, verdict.code, re.MULTILINE) if verdict.group else []
    return row | {"code": found[-1].strip()[:LONGEST_CODE]} if found else row


def workers_for(contents: int, course: Course, run: Run) -> Workers:
    """Return worker processes on this machine, or a scheduler's workers."""
    if run.scheduler:
        from .cluster import ClusterWorkers

        return ClusterWorkers(run.scheduler, run.setup, course)
    return Workers(contents, run.jobs, run.setup)


def by_content(todo: list[SubmittedFiles]) -> dict[SubmittedFiles, list[SubmittedFiles]]:
    """Return the first submission of each content, with all submissions of that content."""
    groups: dict[SubmittedFiles, list[SubmittedFiles]] = defaultdict(list)
    for one in todo:
        groups[replace(one, student="", submitted="", team="")].append(one)
    return {group[0]: group for group in groups.values()}
