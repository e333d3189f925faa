"""`tensorgrade grade`: grade what is new, and say which points changed.

It may be interrupted and repeated at any time. Two runs into the same folder do no harm.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console
from rich.progress import track
from rich.table import Table
from rich.text import Text

from ..attempts.maker import choose_device
from ..attempts.setup import Setup
from ..attempts.verdict import Verdict
from ..built import refuse_unbuilt
from ..course import Course, CourseError
from ..exchange.text import printable, short
from ..lateness import BEST
from ..sandbox.holes import is_locked
from ..sources.candidates import candidates_in, files_below
from ..sources.finding import EXPECTED, REPLACED, About, at_most, find_submissions, noted
from ..sources.submitted_files import NOTHING, SubmittedFiles, submission_of
from ..views.words import plural
from . import rules
from .downloads import LONGEST_NOTE
from .grader import Workers, digest_of, graded
from .results import Results
from .rules import Row, Rules

LONGEST_CODE = 6000  # characters
STATUSES = ("passed", "partial", "failed", "not_attempted", "error", "timeout", "killed")
Rows = list[Row]


@dataclass(frozen=True)
class Run:
    """The options of a run.

    jobs: processes on this machine (0: one per core). scheduler: dask's address. learners: the only
    ones to grade, with their teams; all if empty. again: grade them again, even if nothing has
    changed. roster: the learners of the class. chapters: the only ones to grade; all if empty.
    """

    setup: Setup
    jobs: int = 0
    scheduler: str = ""
    learners: frozenset[str] = frozenset()
    again: bool = False
    roster: tuple[str, ...] = ()
    chapters: tuple[str, ...] = ()


def grade_class(
    submitted: Path, out: Path, course: Course, run: Run, console: Console
) -> tuple[Rows, list[str], list[str]]:
    """Grade every ungraded submission.

    Return all rows, including earlier ones, notes for the instructor, and the submissions that this
    machine could not grade. A submission that was graded before and is missing now keeps its rows.

    Raises CourseError for impossible options, and if nothing can be graded.
    """
    if out.resolve() == submitted.resolve():
        raise CourseError(f"{out} holds the submissions; choose another folder as --out")
    # A scheduler's workers choose their own devices.
    device = "cpu" if run.scheduler else choose_device(run.setup.device)
    is_isolated = is_locked(course.isolation, run.setup.isolation, device)
    is_whole = not (run.learners or run.chapters)
    extended = rules.read_extensions(submitted, course)
    found, notes = find(submitted, course, run)
    refuse_unbuilt(run.setup.tests, course, {one.chapter for one in found})
    decided, results = rules.read_rules(out, course), Results(out, writes=True)
    attempts = results.attempts()
    graders = {c.name: digest_of(run.setup.tests, course, c.name) for c in course.chapters}
    had_file = {who for who, own in attempts.items() if not own[-1][0]["file"].startswith(NOTHING)}
    found = [one for one in found if not (one.missing and one.about in had_file)]
    before = {one: attempts.get(one.about, []) for one in found}
    todo = [o for o in found if run.again or not is_graded(o.digest, graders[o.chapter], before[o])]
    facts = {one: facts_on(one, extended.get(one.about)) for one in found}
    results.expect(facts, graders, is_whole)
    others = attempts.keys() - {one.about for one in found} if is_whole else set()
    dues = course.lateness.deadlines
    undated = {o.student for o in found if o.chapter in dues and not (o.missing or o.submitted)}
    how = "to set one, write timestamp.txt in the chapter's folder"
    told = {"not in this run, so earlier results are kept": {who for who, _ in others}}
    notes += noted(told | {f"unknown times, which count as on time; {how}": undated})
    print_notes(console, notes)
    known = f", {len(found) - len(todo)} of them graded before" if len(todo) < len(found) else ""
    say(console, f"{plural(len(found), 'submission')}{known}")
    if decided.lateness.attempts == BEST:
        todo += earlier_files(submitted, before, graders, course)
    ungraded = {*todo}
    for one, verdicts in verdicts_on(todo, course, run, is_isolated, console):
        results.add(graders[one.chapter], {one: [row_of(verdict, one) for verdict in verdicts]})
        ungraded.remove(one)
    shown, rows = results.exported(), results.rows(course)
    moved = rules.changes(shown, rows)
    results.note(moved)
    results.export(rows)
    print_changes(console, shown, rows, moved)
    left = {one.about for one in ungraded}
    last = last_notes(rows, decided, left) if is_whole else []
    return rows, last, sorted(map("/".join, left))


def last_notes(rows: Rows, decided: Rules, left: set[About]) -> list[str]:
    """Return notes on decisions about unknown learners. left: submissions that are not graded."""
    students = {row["student"] for row in rows} | {student for student, _ in left}
    told = {
        rules.EXTENSIONS: {student for student, _ in decided.extensions},
        rules.OVERRIDES: {student for student, _, _ in decided.overrides},
    }
    what = "names learners without results"
    return noted({f"{file} {what}": names - students for file, names in told.items()})


def find(submitted: Path, course: Course, run: Run) -> tuple[list[SubmittedFiles], list[str]]:
    """Return the submissions of a run, and notes for the instructor. Raises CourseError."""
    teams = rules.read_teams(submitted, course)
    only = [course.chapter(name).name for name in run.chapters]
    found, notes = find_submissions(submitted, course, teams, run.roster, only, run.learners)
    if run.again:
        found = [one for one in found if not one.missing]
    missing = run.learners - {one.student for one in found} if run.again else set()
    if missing or not found:
        what = f"{min(missing, default='<student>')}/{' or '.join(run.chapters) or '<chapter>'}/"
        raise CourseError(f"{submitted} holds no {what} folder of this course. {EXPECTED}")
    return found, notes


def is_graded(file: str, graders: str, attempts: list[Rows]) -> bool:
    """Return True if these graders have graded this file, and did not fail on it."""
    same = [rows for rows in attempts if (rows[0]["file"], rows[0]["graders"]) == (file, graders)]
    return bool(same) and not any(map(rules.graders_failed, same[-1]))


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
    found: Mapping[SubmittedFiles, list[Rows]],
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
    todo: list[SubmittedFiles], course: Course, run: Run, is_isolated: bool, console: Console
) -> Iterator[tuple[SubmittedFiles, list[Verdict]]]:
    """Grade each distinct content once, and yield the verdicts for all its submissions.

    Submissions that this machine cannot grade are left out. A terminal shows the progress.
    """
    if not todo:
        return
    same = by_content(todo)
    with workers_for(len(same), course, run) as workers:
        kind = "sandbox" if is_isolated else "none"
        say(console, f"{plural(workers.count, 'worker')}, isolation {kind}")
        done = (
            (o, told) for first, told in graded(list(same), workers, course) for o in same[first]
        )
        yield from track(
            done,
            "grading",
            len(todo),
            auto_refresh=False,  # a thread for the bar would prevent that workers are forked
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )


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


# --- on the terminal -----------------------------------------------------------------------------


def say(console: Console, *lines: str) -> None:
    """Print lines, in which nothing is markup."""
    for line in lines:
        console.print(Text(line), soft_wrap=True)


def print_notes(console: Console, notes: list[str]) -> None:
    """Print notes for the instructor."""
    say(console, *(f"note: {printable(short(note, LONGEST_NOTE))}" for note in at_most(notes)))


def print_changes(console: Console, before: Rows, now: Rows, moved: Rows) -> None:
    """Print the submissions whose points changed, by cause, with their points of all exercises.

    Those with another file that earns no less are left out.
    """
    was, is_now = (rules.grouped(rows, "student", "chapter") for rows in (before, now))
    told = defaultdict(list)
    for why, *about in sorted(rules.grouped(moved, "why", "student", "chapter")):
        old, new = (rules.total(rows[tuple(about)]) for rows in (was, is_now))
        if new < old or (new > old and why != rules.OTHER_FILE):
            told[why].append(f"  {'/'.join(about)}: {old:g} → {new:g}")
    for why, lines in told.items():
        count = plural(len(lines), "submission")
        say(console, f"{why}: points of {count} differ", *at_most(lines))


def print_class(console: Console, course: Course, rows: Rows) -> None:
    """Print the table of a class, its mistakes and its troubles, from the rows that count."""
    console.print(exercise_table(course, rows))
    made = {(row["student"], name) for row in rows for name in row["mistakes"]}
    counts = Counter(name for _, name in sorted(made)).most_common(6)
    most = ", ".join(f"{name} ({count})" for name, count in counts)
    found = f"Most frequent mistakes (learners who made them): {most}"
    console.print(Text(f"\n{found if most else 'No known mistake was recognized.'}"))
    troubled = rules.grouped(filter(rules.in_trouble, rows), "student", "chapter").values()
    told = "  {student}/{chapter} {exercise}: {status}. {message}"
    lines = [told.format(**row | {"message": short(row["message"])}) for row, *_ in troubled]
    if lines:
        title = f"\n{plural(len(lines), 'file')} could not be graded as usual"
        say(console, f"{title} (other learners are not affected):", *at_most(lines))


def exercise_table(course: Course, rows: Rows) -> Table:
    """Return a table with the counts of each status and the mean points of every exercise.

    Excused learners are not counted.
    """
    by_exercise = rules.grouped((row for row in rows if row["max_points"]), "exercise")
    table = Table(box=None, padding=(0, 0, 0, 1), pad_edge=False)
    table.add_column("exercise", no_wrap=True)
    for title in ("pass", "part", "fail", "to do", "err", "time", "kill", "mean"):
        table.add_column(title, justify="right", no_wrap=True)
    for exercise in (exercise for chapter in course.chapters for exercise in chapter.exercises):
        if own := by_exercise[exercise.name,]:
            counts = Counter(row["status"] for row in own)
            mean = sum(row["points"] for row in own) / len(own)
            cells = [str(counts[status] or "·") for status in STATUSES]
            table.add_row(exercise.name, *cells, f"{mean:.1f}/{exercise.points:g}")
    return table
