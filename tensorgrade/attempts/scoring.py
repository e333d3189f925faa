"""Run, check and score exercises: the same results for a test run, a page, a card and a grade.

A mistake costs points only once. If an exercise is wrong and calls an earlier one that is wrong
too, it runs once more with the course's right versions of those, in a process of its own. The
better of both runs counts, and nothing else of that process is used. A right version is a module of
its own that holds nothing but what it needs; the exercise that is judged and later ones are never
in it.
"""

import ast
from collections.abc import Collection
from dataclasses import replace

from ..judging.diagnosis import Diagnosis, Earlier, Finding, Kind
from ..recognition.reaching import reached
from .attempt import Answer, Attempt, ran
from .checking import checked
from .naming import answer_to
from .points import never_made, scored, sums, with_deduction
from .recognized import mistakes
from .results import CheckResult, Judged, Results, Rule, State


def results_on(attempt: Attempt, *exercises: str) -> Results:
    """Return the checks on these exercises (default: all), with the points that each earns."""
    judged = judged_on(attempt, exercises or attempt.exercises)
    return {name: one.checks for name, one in judged.items()}


def judged_on(attempt: Attempt, exercises: Collection[str]) -> dict[str, Judged]:
    """Return these exercises with their checks and points.

    The earlier exercises that a wrong one calls run too, because one of them may be the cause.
    """
    first = checked_on(attempt, exercises)
    wrong = [name for name, one in first.items() if one.state != State.DONE]
    earlier = {one for name in wrong for one in attempt.called_before(name)} - first.keys()
    first |= checked_on(attempt, earlier)
    done: dict[str, Judged] = {}
    for name in (one for one in attempt.exercises if one in first):
        done[name] = deducted_once(first[name], done)
    return {name: scored(one) for name, one in done.items() if name in exercises}


def checked_on(attempt: Attempt, exercises: Collection[str]) -> dict[str, Judged]:
    """Load the file, run the cases of these exercises, and check them in their order."""
    asked = [name for name in attempt.exercises if name in exercises]
    answers = [answer_to(attempt, name) for name in asked]  # all run before the first is checked
    return {one.name: by_checks(one) for one in answers}


def by_checks(answer: Answer) -> Judged:
    """Return an answer with the results of its checks."""
    failures = answer.failures
    return Judged(answer, [checked(answer, one, failures[one.says]) for one in answer.checks])


def deducted_once(judged: Judged, done: dict[str, Judged]) -> Judged:
    """Return an exercise so that mistakes of the earlier ones that it calls cost nothing here.

    done: the earlier exercises. Without the solution, as in a self-check, only the message about
    them is added.
    """
    answer = judged.answer
    called = [done[one] for one in answer.attempt.called_before(answer.name) if one in done]
    wrong = [one for one in called if one.state != State.DONE]
    if not wrong or answer.given_code or not may_be_excused(judged, wrong):
        return judged
    # Without an object, only right versions show which exercise is at fault.
    made = () if never_made(answer.claimed) else wrong
    inherited = frozenset(name for one in made for name in mistakes(one.answer))
    judged = replace(judged, inherited=inherited)
    right = bool(mistakes(answer)) and inherited.issuperset(mistakes(answer))
    if not right and (sources := right_versions(wrong)):
        judged, right = better_of_both(judged, sources)
    root = wrong[0].excused_by or wrong[0].answer.name
    said = Earlier(root, done[root].state != State.TO_DO)
    checks = judged.checks
    if right or judged.state == State.WRONG:
        checks = [noted(check, said, right) for check in checks]
    return replace(judged, checks=checks, earlier=said, excused_by=root if right else "")


def may_be_excused(judged: Judged, wrong: list[Judged]) -> bool:
    """Return True if these wrong earlier exercises may be the only cause of an exercise's errors.

    An exercise that calls an unwritten one looks unwritten itself.
    """
    calls = judged.answer.attempt.loaded.calls.get(judged.answer.name, ())
    looks_unwritten = judged.state == State.TO_DO and any(w.answer.name in calls for w in wrong)
    return judged.state == State.WRONG or looks_unwritten


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


def right_versions(wrong: list[Judged]) -> dict[str, str]:
    """Return the sources of the right versions of wrong exercises, by name.

    An excused exercise is not replaced: it is right once those that it calls are replaced. The
    result is empty in a self-check and without the solution.
    """
    attempt = wrong[0].answer.attempt
    pairs = attempt.side.pairs if attempt.references.hidden else None
    roots = [one.answer.name for one in wrong if not one.excused_by]
    return {one: version_alone(pairs.sources[one].text, one) for one in roots} if pairs else {}


def version_alone(text: str, name: str) -> str:
    """Return the definition of an exercise in a solution, with what it needs and nothing else.

    >>> text = "import math\\ndef g(): return math.pi\\ndef f(): g()\\ndef h(): f()"
    >>> version_alone(text, "f")
    'import math\\n\\n\\ndef g():\\n    return math.pi\\n\\n\\ndef f():\\n    g()'
    """
    return "\n\n\n".join(map(ast.unparse, reached(ast.parse(text), [name])))


def better_of_both(judged: Judged, sources: dict[str, str]) -> tuple[Judged, bool]:
    """Return what counts, and True if all checks pass beside right versions.

    If something is wrong even there, it is this exercise's own mistake, and only that counts. Some
    learners work around their wrong earlier exercise, so the first results count if they earn as
    many points: right versions must not cost points.
    """
    answer = judged.answer
    program = answer.program.with_right_versions(sources)
    beside = by_checks(ran(answer.attempt, answer.name, program, answer.assigned, sources))
    answer.attempt.lab.end(program)
    right = all(check.passed for check in beside.checks)
    better = sums(with_deduction(beside))[0] > sums(with_deduction(judged))[0]
    return (beside, False) if better and not right else (judged, right)
