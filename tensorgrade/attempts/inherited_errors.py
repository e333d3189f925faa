"""Deduct points for a mistake only once, even if later exercises call the wrong exercise.

If an exercise is wrong and calls an earlier one that is wrong too, it runs once more with the
course's right versions of those, in a process of its own. The better of both runs counts, and
nothing else of that process is used. A right version is a module of its own that holds nothing but
what it needs; the exercise that is judged and later ones are never in it.
"""

import ast
from dataclasses import replace

from ..judging.diagnosis import Diagnosis, Earlier, Finding, Kind
from ..recognition.reaching import reached
from .attempt import Attempt, ExerciseAttempt
from .checking import check_results
from .points import never_made, sums, with_deduction
from .recognized import mistakes
from .results import CheckResult, Results, Rule, State, state_of


def deduct_once(attempt: Attempt, results: Results) -> Results:
    """Return results in which a mistake costs points once.

    Without the solution, as in a self-check, only the message about the earlier exercise is added.
    """
    results = dict(results)
    for exercise in attempt.chapter.exercises:
        name, checks = exercise.name, results.get(exercise.name, [])
        states = {one: state_of(results.get(one, [])) for one in attempt.called_before(name)}
        wrong = [one for one, state in states.items() if state != State.DONE]
        part = attempt.exercises[name]
        if not wrong or part.given_code or not may_be_excused(part, checks, wrong):
            continue
        part.inherited = {m for one in wrong for m in mistakes(attempt.exercises[one])}
        if never_made(part.claimed):  # only right versions show which exercise is at fault
            part.inherited = set()
        right = bool(mistakes(part)) and part.inherited.issuperset(mistakes(part))
        if not right and (sources := right_versions(attempt, wrong)):
            checks, right = better_of_both(part, checks, sources)
        root = attempt.exercises[wrong[0]].excused_by or wrong[0]
        said = Earlier(root, states.get(root) != State.TO_DO)
        part.excused_by = root if right else ""
        part.noted = said
        if right or state_of(checks) == State.WRONG:
            results[name] = [noted(check, said, right) for check in checks]
    return results


def may_be_excused(part: ExerciseAttempt, checks: list[CheckResult], wrong: list[str]) -> bool:
    """Return True if these wrong earlier exercises may be the only cause of an exercise's errors.

    An exercise that calls an unwritten one looks unwritten itself.
    """
    state, calls = state_of(checks), part.attempt.loaded.calls.get(part.name, ())
    return state == State.WRONG or (state == State.TO_DO and not set(wrong).isdisjoint(calls))


def noted(check: CheckResult, said: Earlier, right: bool) -> CheckResult:
    """Return a failed check with a note about the earlier exercise.

    It keeps all its points if the earlier exercise is the only cause.
    """
    if check.finding is None or check.passed:
        return check
    diagnosis = check.finding.diagnosis
    if right:
        told = Diagnosis(Kind.FACT, said.said, diagnosis.describe_call, case=diagnosis.case)
        finding = Finding(check.asks, told, blames=said.name)
        return replace(check, earned_points=check.points, rule=Rule.EARLIER, finding=finding)
    return replace(check, finding=replace(check.finding, earlier=said))


def right_versions(attempt: Attempt, wrong: list[str]) -> dict[str, str]:
    """Return the sources of the right versions of wrong exercises, by name.

    An excused exercise is not replaced: it is right once those that it calls are replaced. The
    result is empty in a self-check and without the solution.
    """
    pairs = attempt.side.pairs if attempt.references.hidden else None
    roots = [name for name in wrong if not attempt.exercises[name].excused_by]
    return {one: version_alone(pairs.sources[one].text, one) for one in roots} if pairs else {}


def version_alone(text: str, name: str) -> str:
    """Return the definition of an exercise in a solution, with what it needs and nothing else.

    >>> text = "import math\\ndef g(): return math.pi\\ndef f(): g()\\ndef h(): f()"
    >>> version_alone(text, "f")
    'import math\\n\\n\\ndef g():\\n    return math.pi\\n\\n\\ndef f():\\n    g()'
    """
    return "\n\n\n".join(map(ast.unparse, reached(ast.parse(text), [name])))


def better_of_both(
    part: ExerciseAttempt, checks: list[CheckResult], sources: dict[str, str]
) -> tuple[list[CheckResult], bool]:
    """Return the checks that count, and True if all checks pass beside right versions.

    If something is wrong even there, it is this exercise's own mistake, and only that counts. Some
    learners work around their wrong earlier exercise, so the first results count if they earn as
    many points: right versions must not cost points.
    """
    first, earned = (part.claimed, part.inherited), sums(with_deduction(part, checks))[0]
    program = part.attempt.program.with_right_versions(sources)
    try:
        part.judge_by(part.attempt.run_all_cases(part.name, program), sources)
    finally:
        part.attempt.lab.end(program)
    part.inherited = set()
    beside = check_results(part.attempt, [part.name])[part.name]
    right = all(check.passed for check in beside)
    if right or sums(with_deduction(part, beside))[0] <= earned:
        part.judge_by(first[0])
        part.inherited = first[1]
        return checks, right
    return beside, False
