"""Turn the errors of an exercise's checks into findings for its learner.

Each function of DETAILS adds something to the diagnosis of a failed check, from the text or from
another run of public cases. None of them runs for hidden cases, which learners read nothing about.
"""

from collections.abc import Callable
from dataclasses import replace
from itertools import chain

from ..course import Check
from ..exchange.cases import Case
from ..exchange.text import joined, listed
from ..exchange.traces import read_trace, with_stages
from ..judging.checks.modules import START
from ..judging.diagnosis import Diagnosis, Finding, Kind, Wrong
from ..runner.tracing import changes_its_input
from .attempt import Answer, once
from .public_side import printed_lines, trace
from .recognized import mistakes
from .results import CheckResult
from .where import DEFINES, counted_lines, lines_of_changes, where


def checked(answer: Answer, check: Check, error: Exception | None) -> CheckResult:
    """Return the result of a check. An error of the check itself fails it, without a finding."""
    finding = finding_of(answer, check, error) if isinstance(error, Wrong) else None
    name, unfixed = answer.name, answer.attempt.references.unfixed
    given = bool(answer.given_code) and check.says not in unfixed[name]
    return CheckResult(name, check.points, error is None, check.says, finding, given=given)


def finding_of(answer: Answer, check: Check, error: Wrong) -> Finding:
    """Return the finding on a failed check."""
    diagnosis = error.diagnosis
    if answer.is_as_given:  # the learner has not changed the given code: it is still to do
        problem = f"not fixed yet: {diagnosis.problem}"
        diagnosis = replace(diagnosis, kind=Kind.TO_DO, problem=problem, id="not_fixed_yet")
    return finding_on(answer, check.says, diagnosis)


def finding_on(answer: Answer, asks: str, diagnosis: Diagnosis) -> Finding:
    """Return everything to report about a failed check. asks: the check's description."""
    unfinished = diagnosis.kind in (Kind.TO_DO, Kind.TIMEOUT)
    other_weights = diagnosis.id == START
    hidden = answer.attempt.references.hidden
    if not hidden:
        for add in DETAILS:
            diagnosis = add(answer, diagnosis)
    names = () if unfinished else mistakes(answer)
    # If learner code raised an error, only the values on the path to it count. Its line is certain,
    # and other values would distract from it.
    error = diagnosis.error
    raised = bool(error and error.line)
    fact, fact_line = "", None
    if not unfinished and not hidden:
        fact, fact_line = plain_fact(answer) or (defined_twice(answer), None)
    return Finding(
        asks,
        diagnosis,
        {name: answer.attempt.side.fingerprints.messages[name] for name in names},
        trace=lambda: trace(answer, diagnosis.case),
        # If only the initial weights differ, all values differ, which shows no line.
        find_where=lambda: None if unfinished or other_weights else where(answer, raised),
        said=lambda: [] if unfinished else printed_lines(answer, diagnosis.case),
        fact=fact,
        fact_line=fact_line,
        line=None if hidden else diagnosis.line or (answer.line_of(error) if error else None),
        place=answer.attempt.place,
    )


def works_in_place(answer: Answer, diagnosis: Diagnosis) -> Diagnosis:
    """Return the diagnosis with the lines that overwrite a tensor, if there are any."""
    place, error = answer.attempt.place, diagnosis.error
    # A value was overwritten that a gradient needs. torch raises this error in the backward pass,
    # so it has no line of the learner's file.
    lacks_a_copy = error and not error.line and "modified by an inplace operation" in error.text
    if lacks_a_copy and (lines := lines_in_place(answer)):
        verb = "overwrite" if len(lines) > 1 else "overwrites"
        said = f"{listed(map(place, lines))} {verb} a tensor in place"
        return replace(diagnosis, problem=joined(diagnosis.problem, said), line=lines[0])
    if diagnosis.id == "changes_input":
        lines_by_name = changing_lines(answer, diagnosis.case)
        if line := lines_by_name.get(diagnosis.about):
            return replace(diagnosis, line=line)
    return diagnosis


@once
def lines_in_place(answer: Answer) -> list[int]:
    """Return the lines that write into a tensor when public cases run."""
    public = answer.attempt.public
    entries = public.traced_cases if public else []
    cases = [case for case, _ in entries if case.exercise == answer.name]
    traces = map(read_trace, answer.run_public(cases))
    stages = (stage for trace in traces for stage in trace.stages)
    lines = {one.line for one in stages if one.line and changes_its_input(one.operation)}
    return sorted(line for line in lines if not answer.attempt.submitted.is_making(line))


def changing_lines(answer: Answer, name: str) -> dict[str, int]:
    """Return, by argument, the line that changes it on the public cases of a case's group."""
    seen = answer.run_public(public_cases_like(answer, name))
    lines = range(1, len(answer.attempt.submitted.lines) + 1)
    return {changed: at for one in seen for changed, at in lines_of_changes(one) if at in lines}


def public_cases_like(answer: Answer, name: str) -> list[Case]:
    """Return the public cases of a case's group, with calls that record what happens inside."""
    public = answer.attempt.public
    groups = {seen.case.group for seen in answer.seen if seen.case.name == name}
    entries = public.of(answer.name) if public else []
    return [with_stages(case) for case, _ in entries if case.group in groups]


def still_raises(answer: Answer, diagnosis: Diagnosis) -> Diagnosis:
    """Name the line that still raises NotImplementedError although there is code around it."""
    line = diagnosis.error.line if diagnosis.error else None
    if diagnosis.id != "not_written" or not line:
        return diagnosis
    text, still = answer.attempt.submitted, "still raises NotImplementedError"
    if text.goes_on_below(line):
        problem = f"{still}, so the code below it never runs"
    elif not text.comes_behind_code(line):
        return diagnosis
    elif text.is_making(line):
        problem = f"{still} at the end of `__init__`: delete it"
    else:
        problem = f"{still} after your code: return the result there instead"
    told = f"{answer.attempt.place(line)} {problem}"
    return replace(diagnosis, problem=told, id="still_raises", line=line)


def stops_gradients(answer: Answer, diagnosis: Diagnosis) -> Diagnosis:
    """Name the line that stops all gradients, if there is exactly one."""
    if diagnosis.id != "no_gradient":
        return diagnosis
    lines = chain(*(range(first, last + 1) for first, last in answer.own_lines))
    cuts = answer.attempt.submitted.cuts(lines)
    if len(cuts) != 1:
        return diagnosis
    ((line, word),) = cuts
    cut = f"`{word}` on {answer.attempt.place(line)} lets no gradient through"
    return replace(diagnosis, problem=joined(diagnosis.problem, cut), line=line)


def shows_forbidden_call(answer: Answer, diagnosis: Diagnosis) -> Diagnosis:
    """Name the first line of the exercise with a forbidden call, and the call."""
    if not diagnosis.forbidden:
        return diagnosis
    lines = chain(*(range(first, last + 1) for first, last in answer.own_lines))
    found = answer.attempt.submitted.using(diagnosis.forbidden, lines)
    return replace(diagnosis, line=found[0], call=found[1]) if found else diagnosis


def defined_twice(answer: Answer) -> str:
    """Return a clause with the lines of an exercise's definitions, if there are several; or ""."""
    text = answer.attempt.submitted
    lines = [first for first, _ in answer.own_lines if text.code(first).startswith(DEFINES)]
    if len(lines) < 2:
        return ""
    places = listed(map(answer.attempt.place, lines))
    return f"`{answer.name}` is defined on {places}; the last one that is written counts"


@once
def plain_fact(answer: Answer) -> tuple[str, int] | None:
    """Return a message about a fault that the exercise's text shows, and its line.

    Such a fault is a value that is computed but not used, or a return that ends a loop too early.
    Return None if there is no such fault or more than one.
    """
    if answer.given_code:  # finding the place of the mistake is the exercise
        return None
    facts, lines, place = answer.attempt.facts, counted_lines(answer), answer.attempt.place
    idle, early = ([at for at in found if at in lines] for found in (facts.idle, facts.early))
    if len(idle) == 1:
        code = answer.attempt.submitted.code(idle[0]).strip()
        kept = f"the result of `{code}` is neither stored nor returned"
        return f"{place(idle[0])} has no effect: {kept}", idle[0]
    if len(early) == 1 and not idle:
        where = f"the `return` on {place(early[0])}"
        return f"{where} is inside a loop, which therefore ends in its first round", early[0]
    return None


DETAILS: tuple[Callable[[Answer, Diagnosis], Diagnosis], ...] = (
    works_in_place,
    still_raises,
    stops_gradients,
    shows_forbidden_call,
)
