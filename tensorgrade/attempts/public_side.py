"""Results of an exercise's public cases, which run in a process that has seen no hidden case."""

import re
from collections.abc import Sequence

from ..exchange.observation import Observation, Outcome
from ..judging.diagnosis import Step
from .attempt import Answer, once
from .naming import answer_to

DEFINITION = re.compile(r"( *)(?:async )?(?:def|class) (\w+)")


@once
def on_public_cases(answer: Answer) -> Answer | None:
    """Return the exercise on the public cases; None if there are none, or if one gave no result."""
    other = answer.attempt.on_public_cases
    if other is None:
        return None
    for name in other.called_before(answer.name):
        answer_to(other, name)
    public = answer_to(other, answer.name)
    answered = all(seen.observed.status == Outcome.ANSWERED for seen in public.seen)
    return public if answered else None


def trace(answer: Answer, case: str) -> list[Step]:
    """Run a case again and return the tensors that the learner's own code computes."""
    observed = answer.rerun(case)
    lines = answer.attempt.submitted.lines
    return [
        Step(line, name, size, answer.attempt.place(line), function_at(lines, line))
        for line, name, size in (read_trace(observed) if observed else [])
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
    lines = [line for one in told if isinstance(one, list) for line in one]
    return [line for line in lines if isinstance(line, str)]  # learner code may report anything


def read_trace(observed: Observation) -> list[tuple[int, str, tuple[int, ...] | int]]:
    """Return (line, name, shape or integer) for each value in the trace of a case's last call.

    The learner's process reports them, so malformed entries are left out.
    """
    traces = [
        facts["trace"]
        for facts in observed.facts.values()
        if isinstance(facts, dict) and "trace" in facts
    ]
    told = traces[-1] if traces and isinstance(traces[-1], list) else []
    entries = [entry for entry in told if isinstance(entry, list) and len(entry) == 3]
    return [
        (line, name, tuple(size) if isinstance(size, list) else size)
        for line, name, size in entries
        if isinstance(line, int) and isinstance(name, str)
        # A shape or an integer.
        if all(type(one) is int for one in (size if isinstance(size, list) else [size]))
    ]
