"""Run, check and score exercises: the same results for a test run, a page, a card and a grade."""

from collections.abc import Collection

from .attempt import Attempt
from .checking import check_results
from .inherited_errors import deduct_once
from .naming import run
from .points import scored
from .results import Results, State, state_of


def results_on(attempt: Attempt, *exercises: str) -> Results:
    """Return the checks on these exercises (default: all), with the points that each earns.

    The earlier exercises that a wrong one calls run too, because one of them may be the cause.
    """
    asked = exercises or tuple(attempt.exercises)
    results = checked_on(attempt, asked)
    wrong = [name for name, checks in results.items() if state_of(checks) != State.DONE]
    earlier = {one for name in wrong for one in attempt.called_before(name)} - results.keys()
    known = deduct_once(attempt, results | checked_on(attempt, earlier)) if wrong else results
    return {name: scored(attempt.exercises[name], known[name]) for name in results}


def checked_on(attempt: Attempt, exercises: Collection[str]) -> Results:
    """Load the file, run the cases of these exercises, and return their checks in order."""
    run(attempt, exercises)
    return check_results(attempt, exercises)
