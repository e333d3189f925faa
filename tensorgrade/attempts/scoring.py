"""Run, check and score exercises: the same results for a test run, a page, a card and a grade.

A mistake costs points only once. If an exercise is wrong and calls an earlier one that is wrong
too, it runs once more with the course's right versions of those, in a process of its own. The
better of both runs counts, and nothing else of that process is used. A right version is a module of
its own that holds nothing but what it needs; the exercise that is judged and later ones are never
in it.

A check passes or fails as a whole, so one mistake can fail most of them. If known mistakes explain
every failure, their deduction replaces the points of the checks (docs/explanation/points.md).

In find-the-bug exercises, checks that the given code passes already earn no points.
"""

import ast
import logging
import math
from collections.abc import Collection
from dataclasses import replace

from ..course import CourseError
from ..exchange.references import Seen
from ..judging.diagnosis import Diagnosis, Earlier, Finding, Kind
from ..recognition.edits import reached
from ..recognition.fingerprints import Names, returns_only_inputs
from .attempt import MOST_CHANGED, Answer, Attempt, ran
from .checking import checked
from .naming import answer_to
from .recognized import (
    changes_values,
    is_beside,
    known_of,
    mistake_sets,
    mistakes,
    only_ones_differ,
)
from .results import CheckResult, Judged, Results, Rule, State, sums

ASKS_LITTLE = "The repair is small: the given code is fixed, not rewritten."
LEAST, MOST = 0.1, 0.5  # bounds of the share of an exercise that one known mistake costs
COST_OF_ONES = 0.25  # share that dimensions of size 1, lost or added, cost if all else is right
SMALL = 0.25  # share of a find-the-bug exercise that a small repair earns


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
    made = () if never_made(answer.seen) else wrong
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
        told = Diagnosis(Kind.FACT, said.said, case=diagnosis.case)
        finding = Finding(check.asks, told, called=check.finding.called, blames=said.name)
        return replace(check, earned_points=check.points, rule=Rule.EARLIER, finding=finding)
    return replace(check, finding=replace(check.finding, earlier=said))


def right_versions(wrong: list[Judged]) -> dict[str, str]:
    """Return the sources of the right versions of wrong exercises, by name.

    An excused exercise is not replaced: it is right once those that it calls are replaced. The
    result is empty in a self-check and without the solution.
    """
    attempt = wrong[0].answer.attempt
    if (solution := attempt.side.solution) is None:
        return {}
    roots = [one.answer.name for one in wrong if not one.excused_by]
    return {one: version_alone(solution.sources[one].text, one) for one in roots}


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


# --- points -----------------------------------------------------------------------------------


def scored(judged: Judged) -> Judged:
    """Return an exercise with the points that each of its checks earns.

    If this fails, which is a fault of the engine, each check earns its own points. For given code
    none earns anything, because the given code may pass it already.
    """
    answer, checks = judged.answer, judged.checks
    try:
        if answer.given_code:
            checks = repaired(answer, checks)
        elif judged.state != State.DONE:
            checks = with_forbidden_deduction(with_deduction(judged))
    except CourseError:
        raise  # the course is at fault, for all learners
    except Exception:
        logging.exception("%s: its checks could not be scored", answer.name)
        if answer.given_code:
            checks = [with_points(check, 0.0, Rule.REPAIR) for check in checks]
    return replace(judged, checks=checks)


def repaired(answer: Answer, checks: list[CheckResult]) -> list[CheckResult]:
    """Return the checks on given code with the points that each earns.

    A check earns points if the given code fails it and the learner's code passes it. A check that
    the given code passes earns nothing, but costs its points if the learner's code fails it. If all
    checks pass, each earns the same share of its points, and a small repair earns the rest.
    """
    _, most = sums(checks)
    if all(check.passed for check in checks):
        share = 0.0 if answer.is_as_given else 1 - SMALL
        done = [with_points(check, share * check.points, Rule.REPAIR) for check in checks]
        return [*done, small_repair_check(answer, SMALL * most)]
    if answer.is_as_given:
        return [with_points(check, 0.0, Rule.REPAIR) for check in checks]
    # Above 0 for checks that the learner fixed, below 0 for checks that the learner broke.
    gains = [check.points * (check.passed - check.given) for check in checks]
    untouched = sum(check.points for check in checks if not check.given)
    share = (1 - SMALL) * most / untouched if untouched and sum(gains) > 0 else 0.0
    # + 0.0 turns -0.0 into 0.0.
    return [
        with_points(check, one * share + 0.0, Rule.REPAIR)
        for check, one in zip(checks, gains, strict=True)
    ]


def with_points(check: CheckResult, points: float, rule: Rule) -> CheckResult:
    """Return a check that earns these points instead of its own. rule: the reason."""
    return replace(check, earned_points=points, rule=rule)


def small_repair_check(answer: Answer, worth: float) -> CheckResult:
    """Return the check that a repair is small. A process that runs no code counts the changes."""
    changed = answer.attempt.facts.changes.get(answer.name)
    if changed is not None and changed <= MOST_CHANGED:
        return CheckResult(0.0, True, ASKS_LITTLE, earned_points=worth, of_size=True)
    said = "it is right, but it could not be compared with the given code"
    if changed is not None:
        said = (
            f"it is right, but it is rewritten: {changed} names, numbers and calls differ from the "
            f"given code, and at most {MOST_CHANGED} may. Go back to the given code and fix only "
            "its mistake"
        )
    finding = Finding(ASKS_LITTLE, Diagnosis(Kind.FACT, said))
    return CheckResult(0.0, False, ASKS_LITTLE, finding, 0.0, of_size=True)


def with_deduction(judged: Judged) -> list[CheckResult]:
    """Return the checks with a deduction, if known mistakes or lost dimensions explain the values.

    If several sets of mistakes explain them, the cheapest one counts. Checks that fail by another
    fact lose their points besides.
    """
    answer, checks = judged.answer, judged.checks
    if judged.excused_by or judged.state != State.WRONG:
        return checks
    if not mistakes(answer) and only_ones_differ(answer):
        earned, most = sums([check for check in checks if not is_beside(answer, check, ())])
        cost = min(COST_OF_ONES, 1 - earned / most) if most else 0.0
        return shared_out(answer, checks, (), cost, Rule.SIZES_OF_ONE)
    deducted = [
        shared_out(answer, checks, names, deduction(judged, names), Rule.MISTAKE)
        for names in mistake_sets(answer)
    ]
    return max(deducted, key=lambda scored: sums(scored)[0], default=marked(answer, checks))


def shared_out(
    answer: Answer, checks: list[CheckResult], names: Names, cost: float, rule: Rule
) -> list[CheckResult]:
    """Return the checks if these mistakes cost a share of the exercise.

    A check that fails beside them costs its points. All others earn the same share of theirs.
    """
    told = marked(answer, checks, names)
    beside = {check.asks for check in told if is_beside(answer, check, names)}
    worth = sum(check.points for check in checks)
    rest = sum(check.points for check in checks if check.asks not in beside)
    share = max(0.0, (1 - cost) * worth - (worth - rest)) / (rest or 1.0)
    return [
        with_points(check, 0.0 if check.asks in beside else check.points * share, rule)
        for check in told
    ]


def marked(answer: Answer, checks: list[CheckResult], names: Names = ()) -> list[CheckResult]:
    """Return the checks; those that fail by a fact beside something dearer are told after it."""
    beside = [check for check in checks if is_beside(answer, check, names)]
    failed = sum(check.points for check in checks if not check.passed)
    if 2 * sum(check.points for check in beside) >= failed:
        return checks
    return [replace(one, beside=True) if one in beside else one for one in checks]


def deduction(judged: Judged, names: Names) -> float:
    """Return the share of an exercise that these mistakes cost together.

    Each of several mistakes in values costs its share of the points that the others leave; known
    facts beside them are added. Mistakes inherited from an earlier exercise are deducted only
    there.
    """
    answer, own = judged.answer, (name for name in names if name not in judged.inherited)
    shares = {name: deduction_for(answer, name) for name in own}
    left = math.prod(1 - share for name, share in shares.items() if changes_values(answer, name))
    facts = sum(share for name, share in shares.items() if not changes_values(answer, name))
    return min(1.0, 1 - left + facts)


def deduction_for(answer: Answer, mistake: str) -> float:
    """Return the deduction for one mistake: the course's, or else what its checks take alone.

    At most MOST, and for a mistake in values at least LEAST. One costs everything if the answer
    returns its input unchanged, because that computes nothing, or if no object of the class could
    be created, because then nothing else ran. The course's own deduction comes first.
    """
    prices = answer.attempt.side.fingerprints.prices.get(answer.name, {})
    if mistake in prices:
        return prices[mistake]
    if returns_only_inputs(answer.seen) or never_made(answer.seen):
        return 1.0
    least = LEAST if changes_values(answer, mistake) else 0.0
    return min(MOST, max(least, known_of(answer).singles[mistake].share))


def never_made(seen: list[Seen]) -> bool:
    """Return True if every case ends in an error when the object is created."""
    errors = [one.observed.error for one in seen]
    return all(error is not None and error.verb == "construct" for error in errors)


def with_forbidden_deduction(checks: list[CheckResult]) -> list[CheckResult]:
    """Return the checks with fewer points if a diagnosis has a `share` of the exercise to lose."""
    earned, most = sums(checks)
    lost = max((check.finding.diagnosis.share for check in checks if check.finding), default=0.0)
    left = (1 - lost) * most
    if earned <= left:
        return checks
    return [with_points(check, check.earned * left / earned, Rule.FORBIDDEN) for check in checks]
