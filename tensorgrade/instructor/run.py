"""`tensorgrade grade`: a folder of submissions in, `results.jsonl` and more out."""

import os
from collections import defaultdict
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Protocol

from ..attempts.answers import private_paths
from ..attempts.setup import Setup
from ..attempts.verdict import Verdict
from ..course import Course, CourseError
from ..course_sources import load_course
from ..exchange.text import short
from ..isolation.ladder import choose_rung, must_be_closed
from ..project import check_seed
from ..sources.finding import find_handins, named
from ..sources.handins import Handin
from ..views.words import plural
from .dependencies import digest_of
from .grader import GRADERS_FAILED
from .ledger import Ledger
from .overrides import read_overrides, unknown
from .workers import LocalWorkers, Workers, default_count, graded

LONGEST_NOTE = 300  # characters: two lines of a wide terminal


@dataclass(frozen=True)
class Run:
    """How to grade.

    jobs: processes on this machine (0: one a core). scheduler: dask's address. forget: learners
    whose rows of before are dropped. rescue: take files that are nearly named or placed as they
    should be. roster: who is in the class.
    """

    setup: Setup
    jobs: int = 0
    scheduler: str = ""
    forget: tuple[str, ...] = ()
    rescue: bool = True
    roster: tuple[str, ...] = ()


class Progress(Protocol):
    """Who is told how far a class is: class_terminal.py, or whoever stands in its place."""

    def begin(self, total: int, left: int, notes: list[str]) -> None:
        """So many hand-ins there are, so many are left; notes on what was left out."""

    def checked_in(self, rungs: dict[str, int]) -> None:
        """The workers are ready: how many on which rung of isolation."""

    def advance(self, handin: Handin, verdicts: list[Verdict]) -> None:
        """One more is graded."""

    def moved(self, moves: list[dict]) -> None:
        """Rows whose points other graders or other dates moved, as the history has them."""


def grade_class(submitted: Path, out: Path, run: Run, progress: Progress) -> list[dict]:
    """Grade every hand-in that is not graded yet; returns all rows, those of before too.

    What is missing today and was graded before keeps its rows.

    Raises CourseError for impossible options, and if nothing can be graded.
    """
    if run.jobs < 0:
        raise CourseError(f"--jobs is a number of processes or 0, not {run.jobs}")
    if not submitted.is_dir():
        raise CourseError(f"there is no folder {submitted}")
    course = load_course(run.setup.tests)
    check_seed(run.setup.tests, course)
    isolated = run.setup.isolation != "none"
    if not run.scheduler:  # refuses here, before any work is done
        rung = choose_rung(course.isolation, run.setup.isolation, run.setup.device)
        must_be_closed(rung, chain(private_paths(run.setup.tests), (submitted, out)))
        isolated = rung.name != "none"
        if "uid" in rung.layers:
            os.umask(0o077)  # what is written on such a rung is closed, too
    handins, notes = find_handins(submitted, course, run.rescue, run.roster)
    if not handins:
        raise CourseError(f"{submitted} holds no <student>/<chapter>/ folder of this course")
    digests = {c.name: digest_of(run.setup.tests, c.name) for c in course.chapters}
    overrides = read_overrides(out, course)
    exercises = {c.name: [e.name for e in c.exercises] for c in course.chapters}
    ledger = Ledger(out, digests, course.lateness, overrides, GRADERS_FAILED, exercises)
    ledger.must_know(run.forget)
    handins = [h for h in handins if not (h.missing and ledger.holds(h, run.forget))]
    others = ledger.others(handins, run.forget)
    notes += kept(others, ledger.by_other_graders(others))
    notes += late_by_file(handins, course)
    notes += unknown(overrides, {handin.student for handin in handins} | {s for s, _ in others})
    todo = ledger.prepare(handins, run.forget)
    notes += ledger.notes
    if isolated:
        notes += graded_without_isolation(ledger.without_isolation(todo))
    progress.begin(len(handins), len(todo), [short(note, LONGEST_NOTE) for note in notes])
    if todo:
        work_off(todo, course, run, ledger, progress)
    order = [e.name for chapter in course.chapters for e in chapter.exercises]
    rows = ledger.finish(order, handins)
    progress.moved(ledger.moved())
    return rows


def late_by_file(handins: list[Handin], course: Course) -> list[str]:
    """Return a note on submissions that are late by the time of their file alone."""
    rule = course.lateness
    late = sorted(
        {h.student for h in handins if h.by_file and rule.seconds_late(h.chapter, h.submitted)}
    )
    if not late:
        return []
    why = "are late by the time of the file, since timestamp.txt is missing or tells no time"
    return [f"submissions of {named(late)} {why}; copying a file may change its time"]


def kept(others: set[tuple], outdated: set[tuple]) -> list[str]:
    """Notes on rows of before that stay, though nothing was handed in for them now.

    others, outdated: (student, chapter) of all of them, and of those by other graders.
    """
    if not others:
        return []
    students = named(sorted({student for student, _ in others}))
    notes = [f"rows from before were kept of {students}; `--forget NAME` drops a learner's"]
    if outdated:
        students = named(sorted({student for student, _ in outdated}))
        of_them = f"{len(outdated)} of these {plural(len(others), 'hand-in')}"
        notes.append(f"{of_them} were graded by other graders than today's: {students}")
    return notes


def graded_without_isolation(those: set[tuple]) -> list[str]:
    """Return a note on (student, chapter) whose rows stay although nothing isolated their code."""
    if not those:
        return []
    count = plural(len(those), "submission")
    rows = f"rows of {count} were graded with `--isolation none` and stay"
    again = "`--forget NAME` grades a learner's again, another --out grades all of them"
    return [f"{rows}, of {named(sorted({student for student, _ in those}))}; {again}"]


def work_off(
    todo: list[Handin], course: Course, run: Run, ledger: Ledger, progress: Progress
) -> None:
    """Grade each content once, and write the verdicts on all files of that content."""
    same = twins(todo)
    with workers_for(len(same), course, run) as workers:
        progress.checked_in(workers.check_in())
        for batch in graded(list(same), workers, course):
            full = [(h, verdicts_for(h, v)) for first, v in batch for h in same[first]]
            ledger.write(full)
            for handin, verdicts in full:
                progress.advance(handin, verdicts)


def workers_for(contents: int, course: Course, run: Run) -> Workers:
    """Processes here, or a scheduler's workers."""
    if not run.scheduler:
        return LocalWorkers(default_count(contents, run.jobs), run.setup)
    from .cluster import ClusterWorkers

    return ClusterWorkers(run.scheduler, run.setup, course)


def twins(handins: list[Handin]) -> dict[Handin, list[Handin]]:
    """The first hand-in of every content, with all hand-ins of that content (itself too)."""
    groups: dict[tuple, list[Handin]] = defaultdict(list)
    for handin in handins:
        kind = handin.filename.rsplit(".", 1)[-1]
        content = handin.content, handin.script, handin.reason, handin.beside
        groups[handin.chapter, kind, *content].append(handin)
    return {group[0]: group for group in groups.values()}


def verdicts_for(handin: Handin, verdicts: list[Verdict]) -> list[Verdict]:
    """The verdicts on a hand-in of the same content."""
    return [replace(verdict, student=handin.student) for verdict in verdicts]
