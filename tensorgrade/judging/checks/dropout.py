"""Dropout: inverted dropout of single entries, judged by its statistics."""

import torch

from ...exchange.cases import Case
from ...exchange.observation import Observation
from ...recognition import dropout
from ..checked import CheckedExercise
from . import check

AGAIN = "plain once more"  # the result of a second run without dropout, if a case has one
REPEATED = {
    "calls": "every call drops the same entries, whatever the seed; draw again in each call",
    "slices": "entries are dropped together, a row or a slice at a time; drop each entry "
    "independently",
}
UNEVENLY = (
    "some entries are dropped less often than others, or never; drop each entry with the same "
    "probability"
)
AS_MANY = (
    "every time, the same number of entries is dropped; if each entry is dropped by chance, the "
    "number varies"
)


@check
def drops_entries(exercise: CheckedExercise, group: str, twice: bool = False) -> None:
    """Check that `dropped` and `again` equal `plain` after inverted dropout of single entries.

    Only entries that are not 0 without dropout count. Each must be dropped independently of other
    entries, rows, parts, slices and runs. The case names the argument that holds the rate. twice:
    the two halves (of each part, if the case has parts) hold the same entries.
    """
    totals: list[float] = []
    for case, expected, observed in exercise.answered(group):
        runs = [exercise.result(case, r, expected, observed) for r in ("dropped", "again")]
        plain = exercise.result(case, "plain", expected, observed)
        plain = _undropped(plain, runs[0], expected, dropout.rate(case))
        p, halves = dropout.rate(case), 2 if twice else 1
        filled = (expected.tensors["plain"].abs() > 1e-12) & (plain.abs() > 1e-12)
        if 2 * filled.sum() < (expected.tensors["plain"].abs() > 1e-12).sum():
            _not_already_zero(exercise, case, expected, observed, plain)
            problem = "even without dropout, most entries are nearly 0"
            exercise.wrong("values", problem, case=case, actual=plain)
        behaviours = [(run, dropout.behaviour(plain, run)) for run in runs]
        repeated = REPEATED.get(dropout.repeats(case, plain, *runs))
        if repeated and all(0 < behaviour.zeros < 1 for _, behaviour in behaviours):
            exercise.wrong("fact", repeated, case=case, actual=runs[0])
        for run, behaviour in behaviours:
            if not dropout.looks_like(behaviour, p, int(filled.sum()) // halves):
                _not_already_zero(exercise, case, expected, observed, plain)
                # What is left is compared with the learner's own run without dropout.
                exercise.compare(case, "plain", expected.tensors["plain"], observed)
                problem = dropout.difference(behaviour, p)
                exercise.wrong("fact", problem, case=case, actual=run)
        entries = dropout.first_share(case, filled, halves)
        drawn = dropout.chances(
            torch.stack([dropout.first_share(case, run != 0, halves) for run in runs]), entries, p
        )
        if (dim := dropout.dependence(drawn, entries, p)) is not None:
            others = "other calls" if dim == 0 else "other entries"
            problem = (
                f"whether an entry is dropped depends on {others}; drop each entry of each call "
                "independently"
            )
            exercise.wrong("fact", problem, case=case, actual=runs[0])
        if dropout.is_uneven(drawn, entries, p):
            exercise.wrong("fact", UNEVENLY, case=case, actual=runs[0])
        totals += dropout.deviations(drawn, entries, p)
    if not dropout.counts_by_chance(totals):
        exercise.wrong("fact", AS_MANY, case=case)


@check
def drops_something(exercise: CheckedExercise, group: str) -> None:
    """Check that something is dropped in training; code that does nothing earns nothing."""
    for case, expected, observed in exercise.answered(group):
        plain, dropped = (
            exercise.result(case, r, expected, observed) for r in ("plain", "dropped")
        )
        if not ((plain != 0) & (dropped == 0)).any():
            exercise.wrong("fact", dropout.NOTHING_DROPPED, case=case, actual=dropped)


@check
def drops_gradients(exercise: CheckedExercise, group: str, name: str) -> None:
    """Check that gradients of `dropped` pass only through kept entries, with the same factor.

    name: the argument whose entries are dropped.
    """
    drops_something(exercise, group)
    for case, expected, observed in exercise.answered(group):
        dropped = exercise.result(case, "dropped", expected, observed)
        plain = exercise.result(case, "plain", expected, observed)
        plain = _undropped(plain, dropped, expected, dropout.rate(case))
        gradient = exercise.result(case, f"gradient.{name}", expected, observed)
        passed = gradient.double() * plain
        if not torch.allclose(passed, dropped.double(), rtol=1e-3, atol=1e-6):
            _not_already_zero(exercise, case, expected, observed, plain)
            problem = (
                f"the gradient for `{name}` should be 0 at dropped entries, and scaled at the "
                "others like the result"
            )
            exercise.wrong("values", problem, case=case, actual=gradient)


def _undropped(
    plain: torch.Tensor, dropped: torch.Tensor, expected: Observation, p: float
) -> torch.Tensor:
    """Return the values before entries were dropped at a rate p: the learner's `plain` run.

    If `dropped` fits the reference's `plain` run instead, return that one. Then only the learner's
    `plain` run is wrong.
    """
    right, kept = expected.tensors["plain"].to(plain), dropped != 0
    yours, due = (
        torch.allclose((1 - p) * dropped[kept], one.to(dropped)[kept], rtol=1e-4, atol=1e-6)
        for one in (plain, right)
    )
    return right if due and not yours else plain


def _not_already_zero(
    exercise: CheckedExercise,
    case: Case,
    expected: Observation,
    observed: Observation,
    plain: torch.Tensor,
) -> None:
    """Check that entries are not 0 without dropout, unless they are 0 in the reference.

    If a second run without dropout is equal, these zeros are no dropout. Then the values are
    reported as wrong.
    """
    if not ((expected.tensors["plain"].abs() > 1e-12) & (plain == 0)).any():
        return
    again = observed.tensors.get(AGAIN)
    if again is not None and torch.equal(plain, again):
        exercise.compare(case, "plain", expected.tensors["plain"], observed)
    problem = (
        "some entries are 0 in evaluation (with `training` False), when nothing should be dropped"
    )
    exercise.wrong("fact", problem, case=case, actual=plain)
