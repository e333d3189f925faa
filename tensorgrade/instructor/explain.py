"""Everything behind one verdict for an instructor, and the history of one learner's points."""

from copy import copy
from dataclasses import dataclass, replace
from itertools import chain
from operator import itemgetter
from pathlib import Path

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from ..attempts.attempt import Answer
from ..attempts.pipeline import verdict_or_points
from ..attempts.results import Judged, first_failure
from ..attempts.scoring import by_checks, judged_on
from ..attempts.verdict import Status, Verdict
from ..course import Chapter, Course, CourseError
from ..exchange.text import joined, printable
from ..judging.diagnosis import Finding
from ..lateness import in_zone
from ..sources.finding import find_submissions
from ..sources.submitted_files import NOTHING
from ..views.note import Note
from ..views.points import how_earned
from . import rules
from .grader import Grader
from .results import Results, rows_of
from .rules import Row

MOST_LINES = 500  # of a learner's code; a normal answer has a few dozen
QUOTES = '"""'
NOT_RUN = (Status.ERROR, Status.NOT_ATTEMPTED)  # the verdict itself says why


@dataclass(frozen=True)
class Explanation:
    """A row, and the results of grading the file in SUBMITTED now.

    row: the one that counts, if OUT has one; otherwise the new one with its late penalty.
    counts_other: the row is of another file. difference: a sentence if the row that counts is not
    today's result.
    """

    row: Row
    verdict: Verdict
    judged: Judged
    counts_other: bool
    difference: str


def explain(
    grader: Grader, student: str, exercise: str, submitted: Path, out: Path | None = None
) -> Explanation | str:
    """Grade a learner's chapter again and return everything observed. Raises CourseError.

    If no file of the learner is in SUBMITTED, return a text on that for the learner.
    """
    course = grader.maker.course
    chapter, _ = course.exercise(exercise)
    rows = Results(out).rows(course, student) if out else []
    recorded = next((row for row in rows if row["exercise"] == exercise), None)
    files, _ = find_submissions(submitted, course, rules.read_teams(submitted, course))
    one = next((file for file in files if file.about == (student, chapter.name)), None)
    if one is None and recorded is None:
        raise CourseError(f"{submitted} holds no folder {student}/{chapter.name}")
    if one is None or one.missing:
        return nothing_arrived(student, chapter, course, recorded)
    attempt = grader.maker.attempt_from_source(one.chapter, one)
    judged = judged_on(attempt, attempt.exercises)[exercise]
    verdict = verdict_or_points(student, judged)
    row = recorded or course.lateness.applied(verdict.row(), one.submitted)
    counts_other, difference = row.get("file", one.digest) != one.digest, ""
    if counts_other:
        difference = f"another file of {student} counts; `tensorgrade log` lists the files"
    elif (rules.found(row), row["status"]) != (verdict.points, verdict.status):
        then = f"recorded: {row['status']}, {rules.found(row):g} points"
        difference = f"{then}; `tensorgrade grade --student {student}` grades the file again"
    return Explanation(row, verdict, judged, counts_other, difference)


def finding_with_values(judged: Judged) -> Finding | None:
    """Return the finding of the first failed check as on public cases: with expected values.

    Names and output that the learner's process reports are left out: they could be codes for the
    terminal.
    """
    first = first_failure(judged.checks)
    finding = first.finding if first else None
    if first is None or finding is None or finding.blames:  # an earlier exercise
        return finding
    answer, attempt = judged.answer, copy(judged.answer.attempt)
    attempt.references = replace(attempt.references, hidden=False)
    public = Answer(attempt, answer.name, answer.program, answer.seen, answer.assigned)
    told = next((c.finding for c in by_checks(public).checks if c.asks == first.asks), None)
    return replace(told, earlier=finding.earlier, trace=list, said=list) if told else finding


def nothing_arrived(student: str, chapter: Chapter, course: Course, recorded: Row | None) -> str:
    """Return a text for a learner without a file in SUBMITTED."""
    extension = (recorded or {}).get("extension") or {}
    due = course.lateness.shown_deadline(chapter.name, extension.get("due", ""))
    lines = [f"{student}: no file arrived for {chapter.title} ({chapter.name})."]
    lines += [f"The deadline: {due}."] if due else []
    if recorded and not recorded["file"].startswith(NOTHING):
        counts = f"{recorded['points']:g} of {rules.points(recorded['max_points'])}"
        lines.append(f"An earlier file counts: {counts}. {recorded['message']}")
    return "\n".join(lines)


def code_of(explanation: Explanation) -> dict[int, str]:
    """Return the lines of the learner's code for the exercise, by number, without docstrings.

    A separate process splits the text into statements, because it is not trusted.
    """
    attempt, exercise = explanation.judged.answer.attempt, explanation.verdict.exercise
    own = [range(a, b + 1) for a, b, names in attempt.definitions if exercise in names]
    code: dict[int, str] = {}
    inside = False
    for number in chain.from_iterable(own):
        line = attempt.submitted.lines[number - 1]
        is_docstring = inside or line.lstrip().startswith(QUOTES)
        inside = is_docstring and (line.count(QUOTES) % 2 == 1) != inside
        if not is_docstring and len(code) < MOST_LINES:
            code[number] = printable(line)
    return code


def print_explanation(console: Console, explanation: Explanation, given: str = "") -> None:
    """Print the verdict, the code, and the checks with the values of the first failed one.

    given: the mistake in the given code of a find-the-bug exercise, if there is one.
    """
    verdict, code = explanation.verdict, code_of(explanation)
    finding = None if verdict.status in NOT_RUN else finding_with_values(explanation.judged)
    points = f"{verdict.points:g} of {verdict.max_points:g} points"
    title = f"{verdict.student}, {verdict.exercise}: {verdict.status}, {points}"
    console.print(Text(title, "bold"))
    if explanation.difference:
        console.print(Text(f"  {explanation.difference}", "bold red"))
    for line in [*facts(explanation), given, f"Isolation: {verdict.isolation}"]:
        console.print(Padding(Text(line), (0, 2)))
    if code:
        console.print(Text("\nThe learner's code", "bold"))
    where = finding.find_where() if finding else None
    to_look_at = finding and (Note(finding).line or (where and where.line))
    for number, line in code.items():
        mark, style = ("→", "bold") if number == to_look_at else (" ", "")
        console.print(Text(f"  {mark} {number:>4}  {line}", style), soft_wrap=True)
    print_checks(console, explanation)
    if finding:
        console.print()
        Note(finding).print(console)


def facts(explanation: Explanation) -> list[str]:
    """Return what counts, why, and what was said about it, as instructors and learners read it."""
    row = explanation.row
    lines = rules.points_steps(row)
    if row.get("submitted"):
        lateness = explanation.judged.answer.attempt.course.lateness
        due = lateness.shown_deadline(row["chapter"], row.get("extension", {}).get("due", ""))
        team = f" as team {row['team']}" if row.get("team") else ""
        when = f"Submitted{team}: {in_zone(row['submitted'], lateness.zone)}"
        lines.append(f"{when}; deadline: {due}" if due else when)
    return [*lines, "", row["message"]]


def for_learner(explanation: Explanation) -> str:
    """Return the explanation as plain text that may be sent to the learner.

    It contains the information of a feedback page and the learner's own code, but no hidden test,
    case or value.
    """
    lines = ["{exercise}: {points:g} of {max_points:g} points".format(**explanation.row)]
    if explanation.counts_other:
        lines.append("These points are of an earlier file of yours, not of your newest one.")
    lines += facts(explanation)
    code = {} if explanation.counts_other else code_of(explanation)
    if code:
        lines += ["", "What you wrote:", "", *(f"    {line}" for line in code.values())]
    return "\n".join(lines)


def print_checks(console: Console, explanation: Explanation) -> None:
    """Print each hidden test with its points and the reason if it failed."""
    console.print(Text("\nChecks", "bold"))
    private = "For you alone; do not send this to learners: it shows hidden inputs."
    console.print(Text(f"  {private}", "dim"))
    checks = explanation.judged.checks
    console.print(Text(f"  {how_earned(checks, explanation.verdict.max_points)}"))
    for check in checks:
        mark, style = ("✓", "green") if check.passed else ("✗", "bold red")
        worth = f"{round(check.earned, 2):g} of {round(check.points, 2):g}"
        console.print(Text.assemble((f"  {mark} ", style), f"{worth:>11}  {check.asks}"))
        if check.finding and explanation.verdict.status not in NOT_RUN:
            why = Text(check.finding.diagnosis.problem, "dim")
            console.print(Padding(why, (0, 2, 0, 10)))


# --- the history of one learner's points ---------------------------------------------------------


def log_of(out: Path, student: str, course: Course) -> list[str]:
    """Return a line for each event in the history of a learner's points. Raises CourseError.

    At the end are the points that count, and what changed those that the graders found.
    """
    results, zone = Results(out), course.lateness.zone
    attempts = [rows for own in results.attempts(student).values() for rows in own]
    if not attempts:
        raise CourseError(f"{out} holds no rows of {student}")
    events, newest = [], {}
    for rows in attempts:
        first, earned = (
            rows[0],
            f"{rules.total(rows):g} of {rules.total(rows, 'max_points'):g} points found",
        )
        when = in_zone(first.get("submitted"), zone) or "at an unknown time"
        digests = f"file {first['file'][:8]}, graders {first['graders'][:8]}"
        told = f"{first['chapter']}: graded, {earned}; submitted {when}; {digests}"
        events.append((first["at"], told))
        newest[first["chapter"]] = first["file"]
    moved = "{chapter}: {exercise} {points[0]:g} → {points[1]:g} ({why})"
    events += [(one["at"], moved.format(**one)) for one in results.changes(student)]
    lines = [f"{in_zone(at, zone)}  {told}" for at, told in sorted(events, key=itemgetter(0))]
    standing = rules.grouped(results.rows(course, student), "chapter").items()
    lines += ["", *(standing_line(name, rows, newest[name]) for (name,), rows in standing)]
    term = rules.terms_of(rows_of(out, course), course).get(student)
    return [*lines, *([term.told()] if term else [])]


def standing_line(chapter: str, rows: list[Row], newest: str) -> str:
    """Return a line with the points that count, and what changed them.

    newest: the digest of the learner's newest file.
    """
    first, penalty = rows[0], rules.total(rows, "penalty")
    extension, decided = first.get("extension"), [r["exercise"] for r in rows if r.get("override")]
    told = joined(
        f"{rules.late(first['late_seconds'])} late: {rules.points(penalty)} less"
        if penalty
        else "",
        f"extension until {extension['due']}" if extension else "",
        f"decided by an instructor: {', '.join(decided)}" if decided else "",
        f"team {first['team']}" if first.get("team") else "",
    )
    file = "" if first["file"] == newest else f", of the earlier file {first['file'][:8]}"
    counts = f"{rules.total(rows):g} of {rules.points(rules.total(rows, 'max_points'))} count{file}"
    return f"{chapter}: {counts}" + (f" ({told})" if told else "")
