"""Everything behind one verdict, gathered for an instructor: checks, cases, values, near misses."""

import json
from dataclasses import dataclass
from pathlib import Path

from ..attempt import ExerciseAttempt
from ..course import CourseError
from ..results import CheckResult, Verdict
from ..submission import Unreadable
from .grader import Grader
from .submissions import Handin, find_handins
from .worker import source_of


@dataclass(frozen=True)
class Explanation:
    """recorded: the row in `results.jsonl`, if there is one. verdict: what grading says today."""

    recorded: dict | None
    verdict: Verdict
    checks: list[CheckResult]
    part: ExerciseAttempt


def explain(
    grader: Grader, student: str, exercise: str, submitted: Path, out: Path | None = None
) -> Explanation:
    """Grade that learner's chapter again and keep all that was seen. Raises CourseError."""
    chapter, _ = grader.desk.course.exercise(exercise)
    attempt = attempt_at(grader, handin_of(grader, student, chapter.name, submitted))
    results = grader.session.results(attempt)
    checks = [result for result in results if result.exercise == exercise]
    verdicts = grader.sum_up(student, attempt, results)
    verdict = next(v for v in verdicts if v.exercise == exercise)
    part = getattr(attempt, exercise)
    return Explanation(recorded(out, student, exercise), verdict, checks, part)


def handin_of(grader: Grader, student: str, chapter: str, submitted: Path) -> Handin:
    """What that learner handed in for a chapter. Raises CourseError where there is nothing."""
    handins, _ = find_handins(submitted, grader.desk.course)
    for handin in handins:
        if (handin.student, handin.chapter) == (student, chapter):
            return handin
    raise CourseError(f"{submitted} holds no folder {student}/{chapter}")


def attempt_at(grader: Grader, handin: Handin):
    """The hand-in as an attempt."""
    if handin.reason:
        return grader.desk.unread(handin.chapter, handin.reason)
    try:
        source = source_of(handin)
    except Unreadable as error:
        return grader.desk.unread(handin.chapter, str(error))
    return grader.desk.attempt_from_source(handin.chapter, source, handin.filename)


def recorded(out: Path | None, student: str, exercise: str) -> dict | None:
    """The row that an earlier run wrote."""
    path = out / "results.jsonl" if out else None
    if path is None or not path.exists():
        return None
    rows = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line)
    return next((r for r in rows if (r["student"], r["exercise"]) == (student, exercise)), None)
