"""`tensorgrade grade`: a folder of submissions in, `results.jsonl` and more out."""

from dataclasses import dataclass
from pathlib import Path

from ..course import Course, CourseError, load_course
from ..sandbox.ladder import choose_rung
from .executors import LocalWorkers, default_count
from .identical import identical, twins, untouched, verdicts_for
from .ledger import Ledger, write_lines
from .material import digest_of
from .retrying import graded
from .submissions import Handin, find_handins


@dataclass(frozen=True)
class Settings:
    """How to grade. jobs: processes on this machine (0: one a core). scheduler: dask's address."""

    graders: Path
    jobs: int = 0
    scheduler: str = ""
    isolation: str = "auto"
    device: str = "cpu"


def grade_class(submitted: Path, out: Path, settings: Settings, progress) -> list[dict]:
    """Grade every hand-in that is not graded yet; returns all rows.

    progress: as views/class_progress.py. Raises CourseError if there is nothing to grade, or
    nobody to grade it.
    """
    if not submitted.is_dir():
        raise CourseError(f"there is no folder {submitted}")
    course = load_course(settings.graders)
    if not settings.scheduler:  # refuses here, before any work is done
        choose_rung(course.isolation, settings.isolation, settings.device)
    handins, notes = find_handins(submitted, course)
    if not handins:
        raise CourseError(f"{submitted} holds no <student>/<chapter>/ folder of this course")
    ledger = Ledger(out, {c.name: digest_of(settings.graders, c.name) for c in course.chapters})
    todo = ledger.prepare(handins)
    progress.begin(len(handins), len(todo), notes)
    if todo:
        work_off(todo, course, settings, ledger, progress)
    rows = ledger.finish([e.name for chapter in course.chapters for e in chapter.exercises])
    write_lines(out / "identical.jsonl", identical(handins, untouched(rows)))
    progress.moved(ledger.moved(rows))
    return rows


def work_off(todo: list[Handin], course: Course, settings: Settings, ledger: Ledger, progress) -> None:
    """Grade each content once, and write the verdicts on all files of that content."""
    same = twins(todo)
    with workers_for(len(same), course, settings) as workers:
        progress.checked_in(workers.check_in())
        for batch in graded(list(same), workers, course):
            full = [(h, verdicts_for(h, v)) for first, v in batch for h in same[first]]
            ledger.write(full)
            for handin, verdicts in full:
                progress.advance(handin, verdicts)


def workers_for(contents: int, course: Course, settings: Settings):
    """Processes here, or a scheduler's workers."""
    where = settings.graders, settings.isolation, settings.device
    if not settings.scheduler:
        return LocalWorkers(default_count(contents, settings.jobs), *where)
    from .cluster import ClusterWorkers

    graders, isolation, device = where
    return ClusterWorkers(settings.scheduler, graders, course, isolation, device)
