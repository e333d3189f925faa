"""Find-the-bug exercises: the proof of a build, and the points."""

from types import SimpleNamespace

import pytest

from tensorgrade.attempts.attempt import MOST_CHANGED
from tensorgrade.attempts.points import repaired
from tensorgrade.attempts.results import CheckResult
from tensorgrade.author.proofs import proving
from tensorgrade.project import Project

from .bug_course import ANSWER, NAME, with_a_bug
from .small_course import build


@pytest.mark.slow
def test_a_build_finds_what_is_no_bug_and_no_repair(tmp_path, monkeypatch):
    root = with_a_bug(tmp_path / "small")
    build(root)
    course = Project(root)
    assert list(proving.unproved_bugs(course)) == []
    with monkeypatch.context() as patch:
        patch.setattr(proving, "rewritten", lambda right, exercise: right)
        said = list(proving.unproved_bugs(course))
    assert len(said) == 2 and all("rewritten, is passed with 4 points" in one for one in said)
    right = "import torch\n" + ANSWER.replace("(entries, factors)", "(factors, entries)")
    monkeypatch.setattr(proving, "given_code", lambda *names: right)
    said = list(proving.unproved_bugs(course))
    assert len(said) == 2 and all("as it is given, is not_attempted with 1" in one for one in said)


def part(changed: int) -> SimpleNamespace:
    """An exercise of four points, of which so many parts were changed."""
    attempt = SimpleNamespace(facts=SimpleNamespace(changes={NAME: changed}))
    return SimpleNamespace(
        name=NAME,
        attempt=attempt,
        given_code="code",
        is_as_given=not changed,
        is_rewritten=changed > MOST_CHANGED,
    )


@pytest.mark.parametrize(
    "changed, checks, points",
    [
        (2, [(1, True, False), (3, True, True)], 4),  # fixed
        (30, [(1, True, False), (3, True, True)], 3),  # rewritten
        (0, [(1, False, False), (3, True, True)], 0),  # unchanged
        (2, [(1, False, False), (3, True, True)], 0),  # another mistake for the one that was there
        (2, [(1, True, False), (1, False, False), (2, True, True)], 1.5),  # half of it fixed
        (2, [(1, True, False), (1, True, False), (1, False, True), (1, True, True)], 1.5),
        (2, [(1, True, False), (3, False, True)], 0),  # more broken than fixed: never below 0
    ],
)
def test_only_what_was_fixed_earns_points(changed, checks, points):
    """checks: points, passed, and passed by the given code."""
    results = [CheckResult(NAME, worth, passed, given=given) for worth, passed, given in checks]
    earned = sum(check.earned for check in repaired(part(changed), results))
    assert earned == pytest.approx(points)
