"""Recognize exercises that are not begun, and run one of their cases instead of all.

A learner who starts a course has many such exercises and waits for the first result. All cases of
such an exercise would give the same message.
"""

from collections.abc import Callable
from functools import lru_cache

from ..exchange.cases import Case
from ..exchange.observation import Observation, Outcome
from ..runner.syntax import bound_by, definitions, is_stub


def run_few_if_not_begun(
    run: Callable[[list[Case]], list[Observation]], source: str, cases: list[Case]
) -> list[Observation]:
    """Return the results of `run` on the cases of an exercise; run only a few if it is not begun.

    source: the learner's text. Cases that call something else before the exercise still run,
    because the first case does not show what happens there.
    """
    first = run(cases[:1])
    if not first or first[0].status != Outcome.ANSWERED:  # do not time out again
        return first + [Observation(Outcome.UNREACHED)] * (len(cases) - len(first))
    again = [repeats_not_written(first[0], case, source) for case in cases[1:]]
    others = iter(run([case for case, same in zip(cases[1:], again, strict=True) if not same]))
    return first + [first[0] if same else next(others) for same in again]


def repeats_not_written(first: Observation, case: Case, source: str) -> bool:
    """Return True if a case would only repeat that the exercise is not written yet."""
    asked, error = case.exercise, first.error
    if error is None or not error.is_unwritten or error.definition != asked:
        return False
    return case.steps[0].name == asked and asked in not_begun(source)


@lru_cache(maxsize=16)
def not_begun(source: str) -> frozenset[str]:
    """Return the names of functions and classes that only raise NotImplementedError.

    >>> set(not_begun("def f(x):\\n    raise NotImplementedError\\ndef g(x): return x"))
    {'f'}
    """
    there = definitions(bound_by(source)).items()
    return frozenset(name for name, node in there if is_stub(node))
