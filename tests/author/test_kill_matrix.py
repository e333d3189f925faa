"""What the kill matrix says of mistakes and checks, and when names count.

`make proofs` runs it on the course.
"""

from dataclasses import replace

from tensorgrade.author.proofs.figures import Trial, named_rightly
from tensorgrade.author.proofs.kill_matrix import (
    BROKEN,
    JUDGED,
    SURVIVED,
    ExerciseMatrix,
    totals,
    unproved,
)


def matrix(*rows):
    """Return an invented matrix with two checks and the mistakes m0, m1, …"""
    checks = ("Its values.", "Its inputs.")
    return ExerciseMatrix("f", checks, {f"m{i}": row for i, row in enumerate(rows)})


def test_a_matrix_without_gaps_is_proved():
    assert unproved([matrix((JUDGED, SURVIVED), (BROKEN, BROKEN))]) == []


def test_a_mistake_that_nobody_notices_is_reported():
    assert unproved([matrix((JUDGED, SURVIVED), (SURVIVED, SURVIVED))]) == [
        "f: no check notices m1"
    ]


def test_a_check_that_sees_only_broken_code_notices_nothing():
    assert totals([matrix((JUDGED, BROKEN))]).splitlines() == [
        "1 mistake, 2 checks on hidden cases",
        "f notices no mistake: Its inputs.",
    ]


def test_a_name_counts_only_if_it_is_the_only_one():
    trial = Trial("f", "one", True, True, ("one",))
    assert named_rightly(trial)
    assert not named_rightly(replace(trial, named=("one", "two")))
    assert not named_rightly(replace(trial, named=()))
