"""A session of checks on one file: what a busy or other system changes."""

import pytest

from tensorgrade.attempts.results import State, first_failure, state_of
from tensorgrade.learner import checker as checker_module
from tensorgrade.learner.checker import Checker
from tensorgrade.learner.kit import Kit
from tensorgrade.sandbox.processes import ReusedProcess

CHAPTER = "ch1_simplified_attention"
BUG = "bug_simplified_self_attention"
STUB = "raise NotImplementedError"
pytestmark = pytest.mark.slow


def save(checker: Checker, chapter: str, text: str) -> dict:
    """Save a chapter's script, and return its checks."""
    checker.kit.path(chapter).write_text(text, encoding="utf-8")
    assert checker.changed() == [chapter]
    return checker.check(chapter)


def test_given_code_is_to_do_however_busy_the_machine_is(project, tmp_path, monkeypatch):
    monkeypatch.setattr(checker_module, "PATIENCE", 0.001)
    stub = (project.exercises / f"{CHAPTER}.py").read_text(encoding="utf-8")
    with Checker(Kit(project.root, tmp_path)) as checker:
        results = save(checker, CHAPTER, stub)
        assert state_of(results[BUG]) == State.TO_DO
        assert first_failure(results[BUG]).finding.is_to_fix


def test_without_fork_loops_and_exits_cost_only_themselves(project, tmp_path, monkeypatch):
    """As on Windows and macOS: learner code runs in one process that is kept."""
    monkeypatch.setattr("tensorgrade.attempts.maker.own_server", ReusedProcess)
    monkeypatch.setattr(checker_module, "PATIENCE", 1.0)
    stub = (project.exercises / f"{CHAPTER}.py").read_text(encoding="utf-8")
    deaf = "import signal, time; signal.signal(signal.SIGALRM, signal.SIG_IGN); time.sleep(600)"
    with Checker(Kit(project.root, tmp_path)) as checker:
        for line, said in (
            ("return inputs @ query", ""),
            (deaf, "did not finish"),  # nothing interrupts this from within
            ("print('x' * 9999); return inputs @ inputs.T", "all pairs"),
            ("import os; os._exit(1)", "ended"),
            ("return inputs @ query", ""),
        ):
            checks = save(checker, CHAPTER, stub.replace(STUB, line, 1))["attention_scores"]
            told = " ".join(one.finding.message for one in checks if one.finding)
            assert said in told and bool(told) == bool(said), line
