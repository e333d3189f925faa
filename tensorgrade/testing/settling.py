"""Score the checks that ran, so that a selection of tests changes no verdict on an exercise."""

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property

from ..attempts.attempt import Attempt
from ..attempts.inherited_errors import Again, deduct_once
from ..attempts.maker import AttemptMaker
from ..attempts.points import scored, sums
from ..attempts.results import CheckResult, Results, Settled, State, state_of
from .collected import CollectedTests


def settle(by_exercise: Results, maker: AttemptMaker) -> Settled:
    """Return the results with each check's points, and the earlier exercise to fix first."""
    settled, tests = Settled(), AllTests(maker)
    for attempt in maker.attempts.values():
        own = {name: by_exercise[name] for name in attempt.exercises if name in by_exercise}
        partial = {name for name, checks in own.items() if not is_whole(attempt, name, checks)}
        earlier = tests.on_earlier(attempt, own, own.keys() - partial)
        known = deduct_once(attempt, own | earlier, tests.again(attempt))
        for name, checks in own.items():
            shown = checks if name in earlier else known[name]
            found = settled.partial if name in partial else settled.whole
            found[name] = scored(attempt.exercises[name], shown)
        settled.counts |= {name: tests.count(attempt, name) for name in partial}
    return settled


def results_on(attempt: Attempt, name: str, tests: CollectedTests) -> list[CheckResult]:
    """Return the results of an exercise's checks.

    If one fails, the earlier exercises that it calls are checked too: one of them may be the cause.
    """
    results = tests.results(attempt, name)
    called = attempt.called_before(name) if state_of(results) == State.WRONG else []
    if called:
        results = tests.results(attempt, name, *called)
    return [one for one in results if one.exercise == name]


def is_whole(attempt: Attempt, name: str, checks: list[CheckResult]) -> bool:
    """Return True if all checks of an exercise ran: together they are worth all its points."""
    return abs(sums(checks)[1] - attempt.chapter.exercise(name).points) < 1e-6


@dataclass
class AllTests:
    """All tests of a folder, whichever were selected. They are collected only if needed."""

    maker: AttemptMaker

    @cached_property
    def collected(self) -> CollectedTests:
        """The tests, collected at the first use."""
        return CollectedTests(self.maker.tests)

    def count(self, attempt: Attempt, name: str) -> int:
        """Return the number of checks of an exercise."""
        return len(self.collected.of(attempt.chapter.name, name))

    def again(self, attempt: Attempt) -> Again:
        """Return a function that checks the current results of an exercise."""
        return lambda name: self.collected.call(attempt, name)[name]

    def on_earlier(self, attempt: Attempt, results: Results, known: Collection[str]) -> Results:
        """Return all checks of the earlier exercises that wrong ones call.

        known: the exercises whose checks all ran; they are left out.
        """
        wrong = [name for name, checks in results.items() if state_of(checks) == State.WRONG]
        called = {one for name in wrong for one in attempt.called_before(name)} - set(known)
        if not called:
            return {}
        attempt.run(called)
        return self.collected.call(attempt, *called)
