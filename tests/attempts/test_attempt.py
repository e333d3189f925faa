"""An attempt runs a public case again, and only that one, for an explanation."""

from types import SimpleNamespace

import pytest
import torch

from tensorgrade.attempts.attempt import Attempt
from tensorgrade.author import call
from tensorgrade.course import Chapter, Course, Exercise, Tolerance
from tensorgrade.exchange.cases import record
from tensorgrade.exchange.observation import Loaded, Observation, Outcome
from tensorgrade.exchange.references import References

COURSE = Course(
    "small",
    "A small course",
    (Chapter("ch1", "One", (Exercise("negate", 1),)),),
    {"cpu": {"float64": Tolerance(1e-9, 1e-9)}},
)


def attempt_at(*names: str, hidden: bool = False, status=Outcome.LOADED) -> tuple[Attempt, list]:
    """Return an attempt at an exercise with these cases, and the cases that its process runs."""
    cases = [record("negate", name, [call("negate", x=torch.ones(2))]) for name in names]
    references = References("ch1", hidden, tuple((case, Observation()) for case in cases))
    ran = []

    def run(asked):
        ran.extend(asked)
        return [Observation(facts={"name": case.name}) for case in asked]

    backend = SimpleNamespace(
        device="cpu", load=lambda: Loaded(status), run=run, close=lambda: None
    )
    attempt = Attempt(backend, COURSE, references)
    attempt.run()
    ran.clear()
    return attempt, ran


def test_one_public_case_is_run_again_and_asked_for_its_trace():
    attempt, ran = attempt_at("values/1", "values/2", "shape/1")
    assert attempt.rerun("negate", "values/2", trace=True).facts == {"name": "values/2"}
    assert [(case.name, case.steps[-1].trace) for case in ran] == [("values/2", True)]


@pytest.mark.parametrize(
    "options, name",
    [({"hidden": True}, "a"), ({"status": Outcome.TIMEOUT}, "a"), ({}, "b")],
    ids=["hidden", "not loaded", "another name"],
)
def test_a_case_that_is_hidden_or_could_not_run_is_not_run_again(options, name):
    attempt, ran = attempt_at("a", **options)
    assert attempt.rerun("negate", name) is None and ran == []
