"""Run, check and score exercises, so that a selection of checks changes no verdict."""

from collections.abc import Collection

from .attempt import Attempt
from .checking import check_results
from .inherited_errors import deduct_once
from .maker import AttemptMaker
from .naming import run
from .points import scored, sums
from .results import CheckResult, Results, Settled, State, state_of


def run_and_score(attempt: Attempt, *exercises: str) -> list[CheckResult]:
    """Load the file, run the cases of these exercises (default: all), check and score them."""
    run(attempt, exercises)
    results = check_results(attempt, *exercises)
    if any(state_of(checks) != State.DONE for checks in results.values()):
        results = deduct_once(attempt, results)
    return [one for name in results for one in scored(attempt.exercises[name], results[name])]


def results_on(attempt: Attempt, name: str) -> list[CheckResult]:
    """Return the results of an exercise's checks.

    If one fails, the earlier exercises that it calls are checked too: one of them may be the cause.
    """
    results = run_and_score(attempt, name)
    called = attempt.called_before(name) if state_of(results) == State.WRONG else []
    if called:
        results = run_and_score(attempt, name, *called)
    return [one for one in results if one.exercise == name]


def settle(by_exercise: Results, maker: AttemptMaker) -> Settled:
    """Return the results with each check's points, and the earlier exercise to fix first."""
    settled = Settled()
    for attempt in maker.attempts.values():
        own = {name: by_exercise[name] for name in attempt.exercises if name in by_exercise}
        partial = {name for name, checks in own.items() if not is_whole(attempt, name, checks)}
        earlier = on_earlier(attempt, own, own.keys() - partial)
        known = deduct_once(attempt, own | earlier)
        for name, checks in own.items():
            shown = checks if name in earlier else known[name]
            found = settled.partial if name in partial else settled.whole
            found[name] = scored(attempt.exercises[name], shown)
        settled.counts |= {name: len(attempt.exercises[name].checks) for name in partial}
    return settled


def is_whole(attempt: Attempt, name: str, checks: list[CheckResult]) -> bool:
    """Return True if all checks of an exercise ran: together they are worth all its points."""
    return abs(sums(checks)[1] - attempt.chapter.exercise(name).points) < 1e-6


def on_earlier(attempt: Attempt, results: Results, known: Collection[str]) -> Results:
    """Return all checks of the earlier exercises that wrong ones call.

    known: the exercises whose checks all ran; they are left out.
    """
    wrong = [name for name, checks in results.items() if state_of(checks) == State.WRONG]
    called = {one for name in wrong for one in attempt.called_before(name)} - set(known)
    if not called:
        return {}
    run(attempt, called)
    return check_results(attempt, *called)
