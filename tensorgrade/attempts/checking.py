"""Turn the errors of an exercise's checks into findings for its learner.

Details come from the text or from another run of public cases. Hidden cases get none, because
learners read nothing about them.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain

from ..course import Check
from ..exchange.cases import spoken
from ..exchange.observation import Observation, decoded, strings
from ..exchange.text import listed
from ..exchange.traces import with_stages
from ..judging.checks.modules import START
from ..judging.diagnosis import Diagnosis, Finding, Kind, Step, Wrong
from ..runner.wire import BadMessage
from .attempt import Answer, once
from .recognized import mistakes
from .results import CheckResult
from .where import DEFINES, counted_lines, lines_of_changes, where

Value = tuple[int, str, tuple[int, ...] | int]  # its line, its name, and its shape or number
DEFINITION = re.compile(r"( *)(?:async )?(?:def|class) (\w+)")


def checked(answer: Answer, check: Check, error: Exception | None) -> CheckResult:
    """Return the result of a check. An error of the check itself fails it, without a finding."""
    finding = finding_of(answer, check.says, error.diagnosis) if isinstance(error, Wrong) else None
    unfixed = answer.attempt.references.unfixed
    given = bool(answer.given_code) and check.says not in unfixed[answer.name]
    return CheckResult(check.points, error is None, check.says, finding, given=given)


def finding_of(answer: Answer, asks: str, diagnosis: Diagnosis) -> Finding:
    """Return everything to report about a failed check. asks: the check's description."""
    if answer.is_as_given:  # the learner has not changed the given code: it is still to do
        problem = f"not fixed yet: {diagnosis.problem}"
        diagnosis = replace(diagnosis, kind=Kind.TO_DO, problem=problem, id="not_fixed_yet")
    unfinished = diagnosis.kind in (Kind.TO_DO, Kind.TIMEOUT)
    other_weights = diagnosis.id == START
    hidden = answer.attempt.references.hidden
    if not hidden:
        for add in (changes_an_input, still_raises, shows_forbidden_call):
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
        called=lambda: called_in(answer, diagnosis.case),
        trace=lambda: trace(answer, diagnosis.case),
        # If only the initial weights differ, all values differ, which shows no line.
        find_where=lambda: None if unfinished or other_weights else where(answer, raised),
        said=lambda: [] if unfinished else printed_lines(answer, diagnosis.case),
        fact=fact,
        fact_line=fact_line,
        line=None if hidden else diagnosis.line or (answer.line_of(error) if error else None),
        place=answer.attempt.source.place,
    )


def changes_an_input(answer: Answer, diagnosis: Diagnosis) -> Diagnosis:
    """Return the diagnosis with the line that changes an argument, if it is known.

    The public cases run again and record what happens inside. An error in the backward pass has no
    line of the learner's file.
    """
    public, error = answer.attempt.public, diagnosis.error
    lacks_a_copy = error and not error.line and "modified by an inplace operation" in error.text
    if public is None or not (lacks_a_copy or diagnosis.id == "changes_input"):
        return diagnosis
    seen = answer.run_public([with_stages(case) for case, _ in public.of(answer.name)])
    changes = (change for one in seen for change in lines_of_changes(one))
    lines = (line for name, line in changes if diagnosis.about in ("", name))
    line = next(filter(answer.attempt.submitted.code, lines), None)
    return replace(diagnosis, line=line) if line else diagnosis


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
    told = f"{answer.attempt.source.place(line)} {problem}"
    return replace(diagnosis, problem=told, id="still_raises", line=line)


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
    places = listed(map(answer.attempt.source.place, lines))
    return f"`{answer.name}` is defined on {places}; the last one that is written counts"


@once
def plain_fact(answer: Answer) -> tuple[str, int] | None:
    """Return a message about a fault that the exercise's text shows, and its line.

    Such a fault is a value that is computed but not used, or a return that ends a loop too early.
    Return None if there is no such fault or more than one.
    """
    if answer.given_code:  # finding the place of the mistake is the exercise
        return None
    facts, lines, place = answer.attempt.facts, counted_lines(answer), answer.attempt.source.place
    idle, early = ([at for at in found if at in lines] for found in (facts.idle, facts.early))
    if len(idle) == 1:
        code = answer.attempt.submitted.code(idle[0]).strip()
        kept = f"the result of `{code}` is neither stored nor returned"
        return f"{place(idle[0])} has no effect: {kept}", idle[0]
    if len(early) == 1 and not idle:
        where = f"the `return` on {place(early[0])}"
        return f"{where} is inside a loop, which therefore ends in its first round", early[0]
    return None


# --- what the code computes and prints ------------------------------------------------------


def called_in(answer: Answer, case: str) -> str:
    """Return the calls of a case in words, with shapes; "" if there is no such case."""
    hidden = answer.attempt.references.hidden
    return next((spoken(one.case, hidden) for one in answer.seen if one.case.name == case), "")


def trace(answer: Answer, case: str) -> list[Step]:
    """Run a case again and return the tensors that the learner's own code computes."""
    observed = answer.rerun(case)
    lines = answer.attempt.submitted.lines
    return [
        Step(line, name, size, answer.attempt.source.place(line), function_at(lines, line))
        for line, name, size in (sizes_in_trace(observed) if observed else [])
        if 0 < line <= len(lines)
    ]


def function_at(lines: Sequence[str], line: int) -> str:
    """Return the function that a line is in, by the indentation of the lines above it.

    >>> function_at(["class A:", "    def f(self):", "        return 1", "x = 2"], 3)
    'A.f'
    """
    names: list[str] = []
    own = lines[line - 1]
    inside = len(own) - len(own.lstrip()) + bool(DEFINITION.match(own))
    for text in reversed(lines[:line]):
        found = DEFINITION.match(text)
        if found and len(found[1]) < inside:
            names.insert(0, found[2])
            inside = len(found[1])
    return ".".join(names)


def printed_lines(answer: Answer, case: str) -> list[str]:
    """Run a case again and return the first lines that the learner's own code prints."""
    observed = answer.rerun(case) if "print" in answer.attempt.submitted.text else None
    told = [facts.get("said") for facts in observed.facts.values()] if observed else []
    return strings([line for one in told if isinstance(one, list) for line in one])


def sizes_in_trace(observed: Observation) -> list[Value]:
    """Return (line, name, shape or integer) for each value in the trace of a case's last call.

    Return [] if the learner's process reports anything else.
    """
    traces = [facts["trace"] for facts in observed.facts.values() if "trace" in facts]
    try:
        return decoded(traces[-1] if traces else [], list[Value])
    except BadMessage:
        return []
