"""Collect everything behind one verdict for an instructor: checks, cases and values."""

import ast
import re
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from ..attempts.attempt import Answer, Attempt
from ..attempts.pipeline import verdict_or_points
from ..attempts.results import CheckResult, Judged
from ..attempts.scoring import by_checks, judged_on
from ..attempts.verdict import Status, Verdict
from ..course import Course, CourseError
from ..exchange.text import printable
from ..judging.diagnosis import Diagnosis, Kind
from ..lateness import in_zone
from ..sources.finding import find_submissions
from ..sources.submitted_files import NOTHING, SubmittedFiles
from ..views.note import Note
from ..views.points import how_earned
from .decisions import read_rules
from .grader import Grader
from .learner_log import change_line, points_changes
from .points_breakdown import is_changed, points_steps
from .results import Results
from .rules import Row, found
from .teams import read_teams

SHOWN = 3  # failed checks that are shown with their values
LONGEST_CODE = 20_000  # characters of a definition; a normal answer has a few hundred
AROUND = 2  # lines of code shown before and after the line in question


@dataclass(frozen=True)
class Explanation:
    """The details of a verdict.

    row: the row that counts, if OUT has one; otherwise the new one with its late penalty. verdict,
    checks, attempt: the results of grading the file in SUBMITTED now; the checks show expected
    values. code: the learner's own code for this exercise; "" if there is none. changes: changes of
    the points that count. difference: a sentence if the row that counts is not what grading found
    now.
    """

    row: Row
    verdict: Verdict
    checks: list[CheckResult]
    attempt: Attempt
    code: str = ""
    changes: tuple[str, ...] = ()
    difference: str = ""
    counts_other: bool = False


def explain(
    grader: Grader, student: str, exercise: str, submitted: Path, out: Path | None = None
) -> Explanation | str:
    """Grade a learner's chapter again and return everything observed. Raises CourseError.

    If no file of the learner is in SUBMITTED, return a text on that for the learner.
    """
    course = grader.maker.course
    chapter, _ = course.exercise(exercise)
    recorded, changes = recorded_row(out, student, exercise, course) if out else (None, ())
    one = submission_of(course, student, chapter.name, submitted)
    if one is None and recorded is None:
        raise CourseError(f"{submitted} holds no folder {student}/{chapter.name}")
    if one is None or one.missing:
        return nothing_arrived(student, exercise, course, recorded)
    attempt = grader.attempt(one)
    judged = judged_on(attempt, attempt.exercises)[exercise]
    verdict = verdict_or_points(student, judged)
    other = bool(recorded and recorded["file"] != one.digest)
    return Explanation(
        recorded or course.lateness.applied(verdict.row(), one.submitted),
        verdict,
        with_values(judged),
        attempt,
        code_of(grader, attempt, exercise),
        changes,
        difference(recorded, verdict, other) if recorded else "",
        other,
    )


def with_values(judged: Judged) -> list[CheckResult]:
    """Return the checks on an exercise with findings as on public cases: with expected values.

    Names and output that the learner's process reports are left out: they could be codes for the
    terminal.
    """
    answer, attempt = judged.answer, copy(judged.answer.attempt)
    attempt.references = replace(attempt.references, hidden=False)
    public = by_checks(
        Answer(attempt, answer.name, answer.program, answer.claimed, answer.assigned)
    )
    again = {one.asks: one.finding for one in public.checks}
    shown = []
    for one in judged.checks:
        finding, told = one.finding, again.get(one.asks)
        if finding and told and not finding.blames:  # an earlier exercise
            finding = replace(told, earlier=finding.earlier, trace=list, said=list)
        shown.append(replace(one, finding=finding))
    return shown


def recorded_row(
    out: Path, student: str, exercise: str, course: Course
) -> tuple[Row | None, tuple[str, ...]]:
    """Return the row that counts, None without one, and a sentence on each change of its points."""
    results, zone = Results(out), course.lateness.zone
    rows = results.rows(read_rules(out, course), course.exercise_names, student)
    moved = [one for one in points_changes(results, student) if one["exercise"] == exercise]
    told = tuple(f"{in_zone(one['at'], zone)}: {change_line(one)}." for one in moved)
    return next((row for row in rows if row["exercise"] == exercise), None), told


def difference(recorded: Row, verdict: Verdict, other: bool) -> str:
    """Return a sentence if today's result differs from the row that counts; "" otherwise."""
    if other:
        return f"another file of {recorded['student']} counts; `tensorgrade log` lists the files"
    if (found(recorded), recorded["status"]) == (verdict.points, verdict.status):
        return ""
    then = f"recorded: {recorded['status']}, {found(recorded):g} points"
    return f"{then}; `tensorgrade grade --student {recorded['student']}` grades the file again"


def nothing_arrived(student: str, exercise: str, course: Course, recorded: Row | None) -> str:
    """Return a text for a learner without a file in SUBMITTED."""
    chapter, _ = course.exercise(exercise)
    extension = (recorded or {}).get("extension") or {}
    due = course.lateness.shown_deadline(chapter.name, extension.get("due", ""))
    lines = [f"{student}: no file arrived for {chapter.title} ({chapter.name})."]
    lines += [f"The deadline: {due}."] if due else []
    if recorded and not recorded["file"].startswith(NOTHING):
        lines += ["An earlier file counts:", points_line(recorded), recorded["message"]]
    return "\n".join(lines)


def points_line(row: Row) -> str:
    """Return the points of a row in one line."""
    return f"{row['exercise']}: {row['points']:g} of {row['max_points']:g} points"


def code_of(grader: Grader, attempt: Attempt, exercise: str) -> str:
    """Return the learner's code for an exercise, without stub docstrings.

    A separate process splits the text into statements, because it is not trusted.
    """
    lines = attempt.submitted.lines
    own = ["\n".join(lines[a - 1 : b]) for a, b, names in attempt.definitions if exercise in names]
    stub = grader.maker.tests.parent / "exercises" / f"{attempt.chapter.name}.py"
    return without(docstrings_in(stub), printable("\n\n".join(own), LONGEST_CODE))


def docstrings_in(stub: Path) -> list[str]:
    """Return the docstrings of a stub in their written form; [] if there is no stub."""
    if not stub.is_file():
        return []
    text = stub.read_text(encoding="utf-8")
    defined = (ast.FunctionDef, ast.ClassDef)
    found = [node for node in ast.walk(ast.parse(text)) if isinstance(node, defined)]
    written = [ast.get_source_segment(text, n.body[0]) for n in found if ast.get_docstring(n)]
    return list(filter(None, written))


def without(docstrings: list[str], code: str) -> str:
    """Return code without the lines of these docstrings.

    >>> without(["'Half of it.'"], "def half(x):\\n    'Half of it.'\\n    return x / 2")
    'def half(x):\\n    return x / 2'
    """
    for docstring in docstrings:
        code = re.sub(rf"\n[ \t]*{re.escape(docstring)}[ \t]*(?=\n|$)", "", code)
    return code


def submission_of(
    course: Course, student: str, chapter: str, submitted: Path
) -> SubmittedFiles | None:
    """Return a learner's submission for a chapter; None if there is none. Raises CourseError."""
    teams = read_teams(submitted, course)
    submissions, _ = find_submissions(submitted, course, share=lambda all_: teams.share(all_)[0])
    return next((o for o in submissions if (o.student, o.chapter) == (student, chapter)), None)


def print_explanation(console: Console, explanation: Explanation, given: str = "") -> None:
    """Print the verdict, the code, and the checks with the values of failed ones.

    given: the mistake in the given code of a find-the-bug exercise, if there is one.
    """
    print_verdict(console, explanation)
    if given:
        console.print(Padding(Text(given), (0, 2)))
    if explanation.code:
        console.print(Text("\nThe learner's code", "bold"))
        console.print(Padding(Text(explanation.code), (0, 2)))
    print_checks(console, explanation)
    notes = list(notes_on(explanation))[:SHOWN]
    for note in notes:
        console.print()
        note.print(console)
    for note in notes[:1]:
        first = note.finding.find_where()
        if line := note.line or (first and first.line):
            print_around(console, explanation.attempt, line)


def says_more(explanation: Explanation, diagnosis: Diagnosis) -> bool:
    """Return False if a check failed for the verdict's reason, an error or a missing answer."""
    verdict = explanation.verdict
    no_answer = verdict.status in (Status.ERROR, Status.NOT_ATTEMPTED)
    return not (no_answer and diagnosis.kind in (Kind.ERROR, Kind.MISSING, Kind.TO_DO))


def notes_on(explanation: Explanation) -> Iterator[Note]:
    """Yield a note on each problem that failed checks found, as a learner would read it."""
    seen = set()
    for finding in (check.finding for check in explanation.checks if check.finding):
        problem = (*finding.mistakes, "" if finding.mistakes else finding.diagnosis.problem)
        if problem not in seen and says_more(explanation, finding.diagnosis):
            seen.add(problem)
            yield Note(finding)


def print_verdict(console: Console, explanation: Explanation) -> None:
    """Print the current verdict, and the recorded one if it differs."""
    verdict = explanation.verdict
    points = f"{verdict.points:g} of {verdict.max_points:g} points"
    title = f"{verdict.student}, {verdict.exercise}: {verdict.status}, {points}"
    console.print(Text(title, "bold"))
    console.print(Padding(Text(verdict.message), (0, 2)))
    mistakes = ", ".join(verdict.mistakes) or "none"
    console.print(Text(f"  mistakes recognized: {mistakes}; isolation: {verdict.isolation}"))
    if explanation.difference:
        console.print(Text(f"  {explanation.difference}", "bold red"))
    console.print(Text(f"  {submitted_at(explanation)}"))
    for change in explanation.changes:
        console.print(Text(f"  Changed {change}"))
    if is_changed(explanation.row):
        console.print(Text(f"  {' '.join(points_steps(explanation.row))}", "bold"))


def submitted_at(explanation: Explanation) -> str:
    """Return the time of the submission, its team and the deadline, in the course's time zone."""
    lateness, row = explanation.attempt.course.lateness, explanation.row
    own = row.get("extension", {}).get("due", "")
    due = lateness.shown_deadline(row["chapter"], own)
    deadline = f"; deadline: {due}" if due else ""
    team = f" as team {row['team']}" if row.get("team") else ""
    when = in_zone(row.get("submitted"), lateness.zone) or "time unknown"
    return f"Submitted{team}: {when}{deadline}"


def for_learner(explanation: Explanation) -> str:
    """Return the explanation as plain text that may be sent to the learner.

    It contains the information of a feedback page and the learner's own code, but no hidden test,
    case or value.
    """
    row = explanation.row
    lines = [points_line(row)]
    lines += points_steps(row) if is_changed(row) or row["mistakes"] else []
    lines += [submitted_at(explanation)] if row.get("submitted") else []
    lines += [f"Changed {change}" for change in explanation.changes]
    lines += [ANOTHER_COUNTS] if explanation.counts_other else []
    lines += ["", row["message"]]
    if row["mistakes"]:
        lines += ["", f"Recognized: {', '.join(row['mistakes'])}"]
    if explanation.code and not explanation.counts_other:
        lines += ["", "What you wrote:", "", *(f"    {x}" for x in explanation.code.split("\n"))]
    return "\n".join(lines)


ANOTHER_COUNTS = "These points are of an earlier file of yours, not of your newest one."
FOR_INSTRUCTORS = "  For you alone; do not send this to learners: it shows hidden inputs."


def print_checks(console: Console, explanation: Explanation) -> None:
    """Print each hidden test with its points and the reason if it failed."""
    console.print(Text("\nChecks", "bold"))
    if explanation.attempt.side.references.hidden:
        console.print(Text(FOR_INSTRUCTORS, "dim"))
    most = explanation.verdict.max_points
    console.print(Text(f"  {how_earned(explanation.checks, most)}"))
    for check in explanation.checks:
        mark, style = ("✓", "green") if check.passed else ("✗", "bold red")
        console.print(Text.assemble((f"  {mark} ", style), f"{worth(check):>11}  {check.asks}"))
        if check.finding and says_more(explanation, check.finding.diagnosis):
            why = Text(check.finding.diagnosis.problem, "dim")
            console.print(Padding(why, (0, 2, 0, 10)))


def worth(check: CheckResult) -> str:
    """Return a check's points, and the earned part if it earned a part.

    In a find-the-bug exercise, a check that the repair passes earns more than its points
    (points.py). Then only the earned points are shown.

    >>> worth(CheckResult("mean", 2.0, False))
    '2'
    >>> worth(CheckResult("mean", 2.0, False, earned_points=1.0))
    '1 of 2'
    >>> worth(CheckResult("mean", 2.0, True, earned_points=2.5))
    '2.5'
    >>> worth(CheckResult("mean", 0.0, False, earned_points=-0.5))  # for other names
    '-0.5'
    """
    points, earned = f"{round(check.points, 2):g}", f"{round(check.earned, 2):g}"
    if check.earned_points is None:
        return points
    return earned if check.earned > check.points or not check.points else f"{earned} of {points}"


def print_around(console: Console, attempt: Attempt, line: int) -> None:
    """Print a line of the submitted text with the lines around it."""
    console.print(Text("\nWhere it goes wrong", "bold"))
    lines = attempt.submitted.lines
    for number in range(max(1, line - AROUND), min(len(lines), line + AROUND) + 1):
        mark, style = ("→", "bold") if number == line else (" ", "dim")
        console.print(Text(f"  {mark} {number:>4}  {printable(lines[number - 1])}", style))
