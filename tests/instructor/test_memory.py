"""After a submission nothing of it is kept, and its results have a bound, each and together."""

import ast
import os
import random
from dataclasses import replace

import pytest

from tensorgrade.attempts.verdict import Status
from tensorgrade.instructor.grader import forget, grade_with
from tensorgrade.sources.submitted_files import SubmittedFiles

from ..support import ROOT, amount

CHAPTER = "ch1_simplified_attention"
pytestmark = pytest.mark.proof
MEGABYTE = 1 << 20


def returning(*results: str) -> str:
    """The solution, whose functions return these expressions instead, one after the other."""
    tree = ast.parse((ROOT / "solutions" / f"{CHAPTER}.py").read_text())
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    for number, node in enumerate(functions):
        node.body = ast.parse(f"return {results[number % len(results)]}").body
    return ast.unparse(tree)


def submitted_files(text: str, student: str = "ada") -> SubmittedFiles:
    """A script, submitted."""
    return SubmittedFiles(student, CHAPTER, f"{CHAPTER}.py", text.encode())


def resident() -> int:
    """The bytes of memory that this process has."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_all_replies_of_a_submission_have_one_bound(judge, monkeypatch):
    grader = judge.grader(False)
    course = grader.maker.course
    limits = replace(course.limits, all_replies_bytes=3 * MEGABYTE)
    monkeypatch.setattr(grader.maker, "course", replace(course, limits=limits))
    large = returning("torch.rand(100_000, dtype=torch.float64)")
    verdicts = grade_with(grader, submitted_files(large))
    assert len(verdicts) == len(course.chapter(CHAPTER).exercises)
    assert verdicts[0].status != Status.PASSED and Status.KILLED in {v.status for v in verdicts}
    right = (ROOT / "solutions" / f"{CHAPTER}.py").read_text()
    assert {v.status for v in grade_with(grader, submitted_files(right, "bao"))} == {Status.PASSED}


def test_results_of_any_size_have_rows_and_leave_no_memory_behind(judge):
    grader = judge.grader(False)
    names = [exercise.name for exercise in grader.maker.course.chapter(CHAPTER).exercises]
    chance = random.Random(1)
    grade_with(grader, submitted_files(returning("inputs")))
    forget()
    before = resident()
    for number in range(amount(5)):
        results = [any_result(chance) for _ in names]
        verdicts = grade_with(grader, submitted_files(returning(*results), f"{number}"))
        assert [verdict.exercise for verdict in verdicts] == names, results
        assert all(0 <= verdict.points <= verdict.max_points for verdict in verdicts)
    forget()
    assert resident() - before < 100 * MEGABYTE


def any_result(chance: random.Random) -> str:
    """A result of a random kind and size: nothing, below the limits, at them, or far above."""
    size = int(2 ** chance.uniform(0, 23))
    kind = chance.choice(["float64", "float32", "int64", "bool"])
    return chance.choice(
        [
            f"torch.ones({size}, dtype=torch.{kind})",
            f"torch.zeros({size}).expand(9, -1)",
            f"[torch.rand(7) for _ in range({min(size, 1 << 14)})]",
            f"'x' * {size}",
            f"{{n: n for n in range({min(size, 1 << 18)})}}",
            "None",
        ]
    )
