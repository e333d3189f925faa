"""What a learner reads about an exercise: one message, and the line of the fault.

From hidden cases a learner reads two things: the names of known mistakes, and the title of a failed
check if the public ones pass. Everything else is what the public cases show. They run in a process
that has seen no hidden case, and `pytest exercises/` shows the same.
"""

import re
from dataclasses import dataclass, replace

from ..exchange.observation import Outcome
from ..exchange.text import LONGEST_MESSAGE, sentence, sentences, whole
from ..judging.diagnosis import Diagnosis, Finding, Kind
from ..judging.errors import ended
from .attempt import Answer, once
from .details import plain_fact
from .lab import OUT_OF_TIME
from .public_side import on_public_cases
from .recognized import mistakes
from .results import CheckResult, Judged, Topic, first_failure
from .scoring import results_on
from .verdict import Status
from .where import where_mistakes_are

SHORTEST = 90  # the fewest characters that a long place to look at leaves to the problem


@dataclass(frozen=True)
class Told:
    """The reason for an exercise's status, in sentences.

    id: the name of what it says. line: of the fault in the submitted file, if known; in a notebook,
    counted within its cell.
    """

    message: str
    id: str
    line: int | None = None


def told(judged: Judged, status: Status) -> Told:
    """Return what a learner reads about the checks on an exercise."""
    answer = judged.answer
    if status == Status.PASSED:
        earlier = judged.earlier if judged.excused_by else None
        return Told(f"Right; {earlier.said}." if earlier else "Right.", "right")
    if status in (Status.KILLED, Status.TIMEOUT):
        return how_it_ended(answer, status)
    if answer.attempt.loaded.status == Outcome.UNREADABLE:
        return Told(sentence(answer.attempt.loaded.reason), "error")
    first = first_failure(judged.checks)
    if first is None or first.finding is None:
        return Told("It could not be checked.", "not_checked")
    finding = for_learner(judged, status, first, first.finding)
    line, then = (None, "") if judged.excused_by else place_of(answer, status, finding)
    if line and not finding.fact_line:  # it shows which one of several definitions counts
        finding = replace(finding, fact="")
    said = finding.message
    if then:
        said = f"{whole(said, max(SHORTEST, LONGEST_MESSAGE - len(then) - 1))} {then}"
    beside = [clause for clause in clauses_beside(judged) if clause not in said]
    problem = "known_mistake" if finding.mistakes else finding.diagnosis.name
    line = line and answer.attempt.source.line_in_cell(line)
    return Told(" ".join(filter(None, (said, sentences(*beside)))), problem, line)


def how_it_ended(answer: Answer, status: Status) -> Told:
    """Say how a run ended without all results, and on which line the time ran out."""
    if any(seen.observed is OUT_OF_TIME for seen in answer.seen):
        seconds = answer.attempt.course.limits.handin_seconds
        said = (
            f"The time limit of {seconds:g} seconds for the whole chapter was reached before this "
            "exercise was finished. Which call takes so long?"
        )
        return Told(said, "over_time")
    end = next(seen.observed for seen in answer.seen if seen.observed.status == Outcome(status))
    line = end.error.line if end.error and status == Status.TIMEOUT else None
    message = sentence(ended(end.status, end.error, answer.attempt.place))
    return Told(message, str(status), line and answer.attempt.source.line_in_cell(line))


def for_learner(judged: Judged, status: Status, first: CheckResult, finding: Finding) -> Finding:
    """Return the finding that a learner reads instead of that of the first failed check."""
    answer = judged.answer
    hidden = answer.attempt.references.hidden
    if not hidden or judged.excused_by or says_nothing_hidden(answer, status, first, finding):
        return finding
    names = {name: answer.attempt.side.fingerprints.messages[name] for name in mistakes(answer)}
    public = None if says_all(judged) else first_failure(public_checks(answer))
    if public is None or public.finding is None:
        problem = Diagnosis(Kind.FACT, on_hidden_inputs(first), id="on_hidden_inputs")
        return Finding("", problem, names)
    same = public.finding.mistakes.keys() == names.keys()
    return public.finding if same else replace(public.finding, mistakes=names)


def says_nothing_hidden(
    answer: Answer, status: Status, check: CheckResult, finding: Finding
) -> bool:
    """Return True if the message of a failed check does not depend on a hidden case."""
    if answer.attempt.loaded.status != Outcome.LOADED or check.about == Topic.REPAIR_SIZE:
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
    return faulty_line is None and where_mistakes_are(answer) is not None


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
        found = where_mistakes_are(answer)
        return found.line if found else line_that_failed(answer, finding), ""
    if status == Status.NOT_ATTEMPTED:
        return diagnosis.line if diagnosis.id == "still_raises" else None, ""
    found = None if finding.fact_line else finding.find_where()
    line = finding.fact_line or (found.line if found else None) or diagnosis.line
    if line is None and diagnosis.error:
        line = answer.line_of(diagnosis.error)
    return line, sentences(found.said if found else "", other_version(answer, status))


def line_that_failed(answer: Answer, finding: Finding) -> int | None:
    """Return the line of a fault in the text, a change in place or an error in `__init__`."""
    diagnosis = finding.diagnosis
    if diagnosis.error and diagnosis.error.verb == "construct":
        return answer.line_of(diagnosis.error)
    return diagnosis.line if diagnosis.id == "changes_input" else finding.fact_line


def other_version(answer: Answer, status: Status) -> str:
    """Return a clause if the exercise fails and the file defines, for example, `NAME_v2` too."""
    names = (name for _, _, names in answer.attempt.definitions for name in names)
    is_version = re.compile(rf"{re.escape(answer.name)}_?v?\d+").fullmatch
    others = [name for name in names if is_version(name) and name not in answer.attempt.exercises]
    if status not in (Status.FAILED, Status.ERROR) or not others:
        return ""
    return f"the file also defines `{others[-1]}`, but only `{answer.name}` is graded"


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
