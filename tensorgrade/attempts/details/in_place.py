"""Name the line that overwrites a tensor, if that causes the failure."""

from dataclasses import replace

from ...exchange.cases import Case
from ...exchange.observation import Observation
from ...exchange.traces import read_trace, with_stages
from ...judging.diagnosis import Diagnosis
from ...messages.checks import ChangesInput
from ...messages.details import WorksInPlace
from ...messages.message import Clauses
from ...runner.tracing import changes_its_input
from ..attempt import ExerciseAttempt, cached_for_file


def add(part: ExerciseAttempt, diagnosis: Diagnosis) -> Diagnosis:
    """Return the diagnosis with the lines that overwrite a tensor, if there are any."""
    place, error = part.attempt.place, diagnosis.error
    # A value was overwritten that a gradient needs. torch raises this error in the backward pass,
    # so it has no line of the learner's file.
    lacks_a_copy = error and not error.line and "modified by an inplace operation" in error.text
    if lacks_a_copy and (lines := lines_in_place(part)):
        said = WorksInPlace(tuple(map(place, lines)))
        return replace(diagnosis, problem=Clauses((diagnosis.problem, said)), line=lines[0])
    problem = diagnosis.problem
    if isinstance(problem, ChangesInput):
        lines_by_name = changing_lines(part, diagnosis.case)
        if line := lines_by_name.get(problem.name):
            return replace(diagnosis, problem=replace(problem, place=place(line)), line=line)
    return diagnosis


@cached_for_file
def lines_in_place(part: ExerciseAttempt) -> list[int]:
    """Return the lines that write into a tensor when public cases run."""
    public = part.attempt.public()
    entries = public.traced_cases if public else []
    cases = [case for case, _ in entries if case.exercise == part.name]
    traces = map(read_trace, part.attempt.run_public(cases))
    stages = (stage for trace in traces for stage in trace.stages)
    lines = {one.line for one in stages if one.line and changes_its_input(one.operation)}
    return sorted(line for line in lines if not part.attempt.submitted.is_making(line))


def changing_lines(part: ExerciseAttempt, name: str) -> dict[str, int]:
    """Return, by argument, the line that changes it on the public cases of a case's group."""
    seen = part.attempt.run_public(public_cases_like(part, name))
    lines = range(1, len(part.attempt.submitted.lines) + 1)
    return {changed: at for one in seen for changed, at in lines_of_changes(one) if at in lines}


def public_cases_like(part: ExerciseAttempt, name: str) -> list[Case]:
    """Return the public cases of a case's group, with calls that record what happens inside."""
    public = part.attempt.public()
    groups = {seen.case.group for seen in part.seen if seen.case.name == name}
    entries = public.of(part.name) if public else []
    return [with_stages(case) for case, _ in entries if case.group in groups]


def lines_of_changes(seen: Observation) -> list[tuple[str, int]]:
    """Return (name, line) of arguments that are still changed after a call, as reported.

    >>> facts = {"changed_at": {"x": 3, "y": 5}, "changed": ["x"]}
    >>> lines_of_changes(Observation(facts={"result": facts}))
    [('x', 3)]
    """
    found = []
    for facts in filter(lambda facts: isinstance(facts, dict), seen.facts.values()):
        told, left = facts.get("changed_at"), (facts.get("changed"), facts.get("altered"))
        stays = [name for names in left if isinstance(names, list) for name in names]
        pairs = told.items() if isinstance(told, dict) else ()
        known = [(name, at) for name, at in pairs if type(at) is int]
        found += [(name, at) for name, at in known if name in stays or "changed" not in facts]
    return found
