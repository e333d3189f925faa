"""Every hidden test earns its points: what the kill matrix says of one, and when names count.

`make proofs` runs it on the course.
"""

from dataclasses import replace
from pathlib import Path

import pytest

from tensorgrade.author.proofs.figures import Trial, named_rightly
from tensorgrade.author.proofs.kill_matrix import (
    BROKEN,
    JUDGED,
    SURVIVED,
    ExerciseMatrix,
    HiddenTest,
    unproved,
)
from tensorgrade.testing.collected import CollectedTests

VALUES = HiddenTest("test_f_values", guard=False)
INPUTS = HiddenTest("test_f_inputs", guard=True)


def matrix(*rows, tests=(VALUES, INPUTS)):
    """Return an invented matrix with the mistakes m0, m1, …"""
    return ExerciseMatrix("f", tests, {f"m{i}": row for i, row in enumerate(rows)})


def test_a_matrix_without_gaps_is_proved():
    assert unproved([matrix((JUDGED, SURVIVED), (BROKEN, BROKEN))]) == []


def test_a_mistake_that_nobody_notices_is_reported():
    assert unproved([matrix((JUDGED, SURVIVED), (SURVIVED, SURVIVED))]) == [
        "f: no hidden test notices m1"
    ]


def test_a_test_that_sees_only_broken_code_proves_nothing():
    (gap,) = unproved([matrix((BROKEN, BROKEN))])
    assert gap.startswith("test_f_values notices no mistake")


def test_a_guard_that_notices_a_mistake_is_stale():
    (gap,) = unproved([matrix((JUDGED, JUDGED))])
    assert gap == "test_f_inputs is marked as a guard but notices 1 mistake of f (m0)"


def test_a_name_counts_only_if_it_is_the_only_one():
    trial = Trial("f", "one", True, True, ("one",))
    assert named_rightly(trial)
    assert not named_rightly(replace(trial, named=("one", "two")))
    assert not named_rightly(replace(trial, named=()))


@pytest.mark.slow
def test_two_folders_of_tests_in_one_process_keep_apart(project):
    folders = (project.graders, project.exercises)
    for folder, collected in [(folder, CollectedTests(folder)) for folder in folders]:
        for chapter in project.course.chapters:
            files = {test.function.__code__.co_filename for test in collected.of(chapter.name)}
            assert files and all(Path(file).is_relative_to(folder) for file in files)
