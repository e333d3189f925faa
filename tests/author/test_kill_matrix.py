"""Every mistake is noticed by a hidden test, every hidden test earns its points, and mistakes get
their names: the figures of docs/explanation/evidence.md."""

from dataclasses import replace
from pathlib import Path

import pytest

from tensorgrade.attempts.points import LEAST, MOST
from tensorgrade.author.proofs.figures import Figures, Trial, measure, named_rightly, report
from tensorgrade.author.proofs.kill_matrix import (
    BROKEN,
    JUDGED,
    PAGE,
    SURVIVED,
    ExerciseMatrix,
    HiddenTest,
    kill_page,
    unproved,
)
from tensorgrade.author.recording.bugs import candidates
from tensorgrade.grader_files import import_from
from tensorgrade.recognition.mistakes import mistake, on
from tensorgrade.testing.collected import CollectedTests

FEWEST = {"CausalAttention": 30, "MultiHeadAttention": 30}
TINY = 1e-6
NOTHING_MADE = {"super_without_brackets", "super_init_not_called"}
VALUES = HiddenTest("test_f_values", "Values.", guard=False)
INPUTS = HiddenTest("test_f_inputs", "Inputs.", guard=True)


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


def test_what_only_one_test_notices_is_counted():
    assert matrix((JUDGED, SURVIVED), (JUDGED, JUDGED)).alone(0) == 1


def test_there_are_enough_mistakes_for_every_exercise(project):
    for chapter in project.course.chapters:
        for exercise in chapter.exercises:
            count = sum(exercise.name in known.edits for known in project.mistakes)
            if project.bug(chapter.name, exercise.name):  # known mistakes, in other words
                assert count == 0 and len(candidates(project, chapter.name, exercise.name)) >= 4
                continue
            assert count >= FEWEST.get(exercise.name, 10), (exercise.name, count)


def test_every_message_is_one_or_two_sentences(project):
    for known in project.mistakes:
        assert known.message.endswith((".", "?")), known.name
        assert 15 < len(known.message) < 240, known.name


def test_a_name_counts_only_where_it_is_complete():
    known = [mistake(name, "…", on("f", ("a", "b"))) for name in ("one", "two")]
    trial = Trial("ch", "f", ("one", "two"), True, True, ("one",))
    assert not named_rightly(trial, known)
    assert named_rightly(replace(trial, named=("two", "one")), known)
    assert not named_rightly(replace(trial, mistakes=("one",), named=("one", "two")), known)


def test_a_mistake_that_looks_like_another_goes_by_its_name_in_that_exercise_only():
    known = [
        mistake("one", "…", on("f", ("a", "b"))),
        mistake("two", "…", on("f g", ("a", "c")), same_as="one"),
    ]
    assert named_rightly(Trial("ch", "f", ("two",), True, True, ("one",)), known)
    assert not named_rightly(Trial("ch", "g", ("two",), True, True, ("one",)), known)


@pytest.fixture(scope="module")
def figures(project) -> Figures:
    """Every mistake alone, and pairs of them, on hidden and on public cases."""
    return measure(project, project.root / "tests" / "right_answers")


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_kill_matrix_has_no_gap_and_its_page_is_fresh(project, figures):
    noticed = figures.noticed
    assert len(noticed) > 400 and all(noticed.values())
    text, matrices = kill_page(project, noticed)
    assert unproved(matrices) == []
    assert (project.root / PAGE).read_text(encoding="utf-8") == text


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_mistakes_are_caught_and_named(project, figures):
    said = report(figures, project.mistakes)
    assert len(figures.pairs) == 2 * 200 and len(figures.singles) > 800, said
    assert all(t.caught and named_rightly(t, project.mistakes) for t in figures.singles), said
    for hidden in (True, False):
        pairs = [trial for trial in figures.pairs if trial.hidden is hidden]
        both = [trial for trial in pairs if named_rightly(trial, project.mistakes)]
        # One mistake can hide the other: a class that cannot be made shows nothing else.
        one = [t for t in pairs if t not in both and t.named and set(t.named) < set(t.mistakes)]
        wrong = [t for t in pairs if t not in both and not set(t.named) <= set(t.mistakes)]
        assert len(both) + len(one) >= 0.95 * len(pairs), said
        assert len(wrong) <= 0.01 * len(pairs), said
    assert all(trial.caught for trial in figures.pairs), said
    assert figures.right > 100 and figures.misnamed == [], said


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_every_mistake_costs_a_tenth_to_a_half_of_its_exercise(project, figures):
    """All of it if no object can be made, if every call ends in an error, or as the course says."""
    nothing_left = import_from(project.graders, "checks").NOTHING_LEFT
    hidden = [trial for trial in figures.singles if trial.hidden]
    assert len(hidden) > 400
    for trial in hidden:
        (name,) = trial.mistakes
        all_lost = name in NOTHING_MADE or f"{trial.exercise}.{name}" in nothing_left
        most = 1 if all_lost or set(trial.marks) == {BROKEN} else MOST
        assert LEAST - TINY <= trial.cost <= most + TINY, trial


@pytest.mark.slow
def test_two_folders_of_tests_in_one_process_keep_apart(project):
    folders = (project.graders, project.exercises)
    for folder, collected in [(folder, CollectedTests(folder)) for folder in folders]:
        for chapter in project.course.chapters:
            files = {test.function.__code__.co_filename for test in collected.of(chapter.name)}
            assert files and all(Path(file).is_relative_to(folder) for file in files)
