"""Turn one submission of a chapter into its verdicts: load, run, check, score, tell.

Each step makes a new record and changes none:

    load      the learner's file, in the process of its cases    attempt.py    Attempt
    run       the cases of each exercise                         naming.py     Answer
    check     the exercise's checks on the observed results      checking.py   CheckResult
    score     the points that each check earns                   scoring.py    Judged
    tell      one message for the learner, and its line          told, below   Verdict

From hidden cases a learner reads two things: the names of known mistakes, and the title of a failed
check if the public ones pass. Everything else is what the public cases show. They run in a process
that has seen no hidden case, and `pytest exercises/` shows the same.
"""

import logging
from dataclasses import replace

from ..course import CourseError
from ..exchange.observation import Outcome
from ..exchange.text import LONGEST_MESSAGE, sentence, sentences, whole
from ..judging.diagnosis import Diagnosis, Finding, Kind
from ..judging.errors import ended
from .attempt import Answer, Attempt, once
from .checking import plain_fact
from .lab import OUT_OF_TIME
from .naming import on_public_cases
from .recognized import mistakes, same_answers
from .results import CheckResult, Judged, first_failure, is_wrong, sums
from .scoring import judged_on, results_on
from .verdict import Status, Verdict
from .where import line_of_mistakes

SHORTEST = 90  # the fewest characters that a long place to look at leaves to the problem
Told = tuple[str, int | None]  # a message, and the line of the fault
# Explaining failed, which is a fault of the graders. The points are valid.
NOT_EXPLAINED = (
    "This could not be explained, which is not your fault. Your instructor can look at it."
)
# Wrong answers with these statuses and without a known mistake are grouped by their results.
GROUPED = (Status.PARTIAL, Status.FAILED, Status.ERROR)


def grade(student: str, attempt: Attempt) -> list[Verdict]:
    """Return the verdicts on one submission of a chapter, one for each exercise."""
    judged = judged_on(attempt, attempt.exercises)
    return [verdict_or_points(student, one) for one in judged.values()]


def verdict_or_points(student: str, judged: Judged) -> Verdict:
    """Return the verdict on one exercise; if explaining it fails, return its points only.

    Such a failure is a fault of the engine on this one answer. It costs no points.
    """
    try:
        return verdict(student, judged)
    except CourseError:
        raise  # the course or this machine is at fault, for all learners
    except Exception:
        name = judged.answer.name
        logging.exception("%s of %s: the mistake could not be explained", name, student)
        return unexplained_verdict(student, judged)


def verdict(student: str, judged: Judged) -> Verdict:
    """Return the verdict on one exercise, from its observed results and its checks."""
    answer, bare = judged.answer, unexplained_verdict(student, judged)
    said, line = told(judged, bare.status)
    names = [] if bare.status == Status.PASSED or judged.excused_by else list(mistakes(answer))
    group = "" if names or bare.status not in GROUPED else group_of(judged)
    note = sentence(dict(answer.attempt.source.notes).get(answer.name, ""))
    return replace(
        bare,
        mistakes=names,
        message=" ".join(filter(None, (said, note))),
        line=line,
        group=group,
        code=answer.attempt.submitted.text if group else "",
    )


def unexplained_verdict(student: str, judged: Judged) -> Verdict:
    """Return the points and the status of an exercise, without an explanation."""
    answer, points = judged.answer, round(float(sums(judged.checks)[0]), 6)
    chapter = answer.attempt.chapter
    most = float(chapter.exercise(answer.name).points)
    return Verdict(
        student,
        chapter.name,
        answer.name,
        points,
        most,
        status_of(judged, points, most),
        message=NOT_EXPLAINED,
        isolation=answer.attempt.lab.isolation,
    )


def group_of(judged: Judged) -> str:
    """Return a name shared by wrong answers with the same results; "" for other answers."""
    answer, loaded = judged.answer, judged.answer.attempt.loaded
    ran = loaded.status == Outcome.LOADED and not loaded.failure_of(answer.name)
    shared = ran and not judged.excused_by and is_wrong(judged.checks)
    return same_answers(answer) if shared else ""


def status_of(judged: Judged, points: float, most: float) -> Status:
    """Return the status of an exercise.

    If only an earlier exercise is wrong, this one may end in its error, so the points alone decide.
    """
    answer = judged.answer
    if judged.excused_by:
        return Status.PASSED if points >= most else Status.PARTIAL
    ends = {seen.observed.status for seen in answer.seen}
    errors = [seen.observed.error for seen in answer.seen]
    if Outcome.KILLED in ends or Outcome.TIMEOUT in ends:
        return Status.KILLED if Outcome.KILLED in ends else Status.TIMEOUT
    loaded = answer.attempt.loaded
    if loaded.status != Outcome.LOADED or loaded.failure_of(answer.name):
        return Status.ERROR
    if points >= most:
        return Status.PASSED
    missing = [error and (error.missing or error.is_unwritten) for error in errors]
    if answer.is_as_given or all(missing):
        return Status.NOT_ATTEMPTED
    if all(errors):
        return Status.ERROR
    return Status.PARTIAL if points else Status.FAILED


# --- what a learner reads ---------------------------------------------------------------------


def told(judged: Judged, status: Status) -> Told:
    """Return one message about an exercise, and the line of the fault, if it is known.

    In a notebook, the line counts within its cell.
    """
    answer = judged.answer
    if status == Status.PASSED:
        earlier = judged.earlier if judged.excused_by else None
        return f"Right; {earlier.said}." if earlier else "Right.", None
    if status in (Status.KILLED, Status.TIMEOUT):
        return how_it_ended(answer, status)
    if answer.attempt.loaded.status == Outcome.UNREADABLE:
        return sentence(answer.attempt.loaded.reason), None
    first = first_failure(judged.checks)
    if first is None or first.finding is None:
        return "It could not be checked.", None
    finding = for_learner(judged, status, first, first.finding)
    line, then = (None, "") if judged.excused_by else place_of(answer, status, finding)
    if line and not finding.fact_line:  # it shows which one of several definitions counts
        finding = replace(finding, fact="")
    said = finding.message
    if then:
        said = f"{whole(said, max(SHORTEST, LONGEST_MESSAGE - len(then) - 1))} {then}"
    clauses, known = clauses_beside(judged), said.lower()
    beside = [one for one in clauses if one.partition(";")[0].lower() not in known]
    line = line and answer.attempt.source.line_in_cell(line)
    return " ".join(filter(None, (said, sentences(*beside)))), line


def how_it_ended(answer: Answer, status: Status) -> Told:
    """Say how a run ended without all results, and on which line the time ran out."""
    if any(seen.observed is OUT_OF_TIME for seen in answer.seen):
        seconds = answer.attempt.course.limits.handin_seconds
        said = (
            f"The time limit of {seconds:g} seconds for the whole chapter was reached before this "
            "exercise was finished. Which call takes so long?"
        )
        return said, None
    end = next(seen.observed for seen in answer.seen if seen.observed.status == Outcome(status))
    line = end.error.line if end.error and status == Status.TIMEOUT else None
    message = sentence(ended(end.status, end.error, answer.attempt.source.place))
    return message, line and answer.attempt.source.line_in_cell(line)


def for_learner(judged: Judged, status: Status, first: CheckResult, finding: Finding) -> Finding:
    """Return the finding that a learner reads instead of that of the first failed check."""
    answer = judged.answer
    hidden = answer.attempt.references.hidden
    if not hidden or judged.excused_by or says_nothing_hidden(answer, status, first, finding):
        return finding
    names = {name: answer.attempt.side.fingerprints.messages[name] for name in mistakes(answer)}
    public = None if says_all(judged) else first_failure(public_checks(answer))
    if public is None or public.finding is None:
        problem = Diagnosis(Kind.FACT, on_hidden_inputs(first))
        return Finding("", problem, names)
    same = public.finding.mistakes.keys() == names.keys()
    return public.finding if same else replace(public.finding, mistakes=names)


def says_nothing_hidden(
    answer: Answer, status: Status, check: CheckResult, finding: Finding
) -> bool:
    """Return True if the message of a failed check does not depend on a hidden case."""
    if answer.attempt.loaded.status != Outcome.LOADED or check.of_size:
        return True
    # An unwritten exercise without code around the line that raises.
    diagnosis, text = finding.diagnosis, answer.attempt.submitted
    if status != Status.NOT_ATTEMPTED or diagnosis.id != "not_written":
        return False
    line = diagnosis.error.line if diagnosis.error else None
    return not line or not (text.goes_on_below(line) or text.comes_behind_code(line))


def says_all(judged: Judged) -> bool:
    """Return True if a learner reads only one known mistake and its line, which is known.

    Then the public cases need not run. They are needed to report a fault in the text or a wrong
    earlier exercise.
    """
    answer = judged.answer
    if len(mistakes(answer)) != 1 or judged.earlier:
        return False
    _, faulty_line = plain_fact(answer) or (None, None)
    return faulty_line is None and line_of_mistakes(answer) is not None


@once
def public_checks(answer: Answer) -> list[CheckResult]:
    """Return the results of the checks on public cases; [] if these did not all give a result."""
    public = on_public_cases(answer)
    return results_on(public.attempt, answer.name)[answer.name] if public else []


def place_of(answer: Answer, status: Status, finding: Finding) -> tuple[int | None, str]:
    """Return the line of the fault, and sentences about that place.

    A fault that the text shows comes first, because wrong values are only its consequence; then
    the first wrong value, then the error's line.
    """
    diagnosis = finding.diagnosis
    if mistakes(answer):
        return line_of_mistakes(answer) or line_that_failed(answer, finding), ""
    if status == Status.NOT_ATTEMPTED:
        return diagnosis.line if diagnosis.id == "still_raises" else None, ""
    found = None if finding.fact_line else finding.find_where()
    line = finding.fact_line or (found.line if found else None) or diagnosis.line
    if line is None and diagnosis.error:
        line = answer.line_of(diagnosis.error)
    return line, found.said if found else ""


def line_that_failed(answer: Answer, finding: Finding) -> int | None:
    """Return the line of a fault in the text, a change in place or an error in `__init__`."""
    diagnosis = finding.diagnosis
    if diagnosis.error and diagnosis.error.verb == "construct":
        return answer.line_of(diagnosis.error)
    return diagnosis.line if diagnosis.id == "changes_input" else finding.fact_line


def clauses_beside(judged: Judged) -> list[str]:
    """Return a clause for each check that fails by a fact beside the mistake that is told.

    For hidden cases it is what the same check says of public ones, or else the check's title.
    """
    answer, beside = judged.answer, [check for check in judged.checks if check.beside]
    shown = public_checks(answer) if beside and answer.attempt.references.hidden else beside
    findings = {check.asks: check.finding for check in shown}
    found = [(findings.get(check.asks), check) for check in beside]
    return [one.diagnosis.problem if one else on_hidden_inputs(check) for one, check in found]


def on_hidden_inputs(check: CheckResult) -> str:
    """Return a clause on a check that fails with hidden inputs only."""
    title = check.asks.rstrip(".")
    return f"the public checks pass, but with hidden inputs a check fails: “{title}”"
