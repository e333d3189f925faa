"""The same attempts have the same points with every seed."""

import runpy
from pathlib import Path

import pytest

FIVE_SEEDS = runpy.run_path(str(Path(__file__).parents[2] / "benchmarks" / "five_seeds.py"))
EXERCISES = ["causal_attention_weights", "split_heads"]


@pytest.fixture(scope="module")
def by_seed():
    seeds = (FIVE_SEEDS["FIRST_SEED"], FIVE_SEEDS["FIRST_SEED"] + 1)
    return [FIVE_SEEDS["graded"](seed, EXERCISES) for seed in seeds]


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_another_seed_gives_the_same_verdicts(by_seed):
    one, other = by_seed
    assert FIVE_SEEDS["differing"](by_seed) == {}
    right = {name: verdict for (_, name), verdict in one.items() if name.startswith("right: ")}
    assert len(right) >= 10 and {status for _, status in right.values()} == {"passed"}
    wrong = [verdict for (_, name), verdict in one.items() if not name.startswith("right: ")]
    assert len(wrong) >= 20 and all(status != "passed" for _, status in wrong)
    assert one.keys() == other.keys()


def test_a_verdict_that_depends_on_the_seed_is_found():
    same, other = {("f", "a"): (1.0, "partial")}, {("f", "a"): (2.0, "partial")}
    assert FIVE_SEEDS["differing"]([same, same]) == {}
    assert FIVE_SEEDS["differing"]([same, other]) == {("f", "a"): [*same.values(), *other.values()]}
