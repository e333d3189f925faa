"""Few hidden inputs stay the same with another seed: docs/explanation/isolation.md lists them."""

import runpy
from pathlib import Path

import pytest
import torch

from tensorgrade.author.recording.casebook import recorded_cases
from tensorgrade.exchange.cases import Case

FIVE_SEEDS = runpy.run_path(str(Path(__file__).parents[2] / "benchmarks" / "five_seeds.py"))
# Groups that only look at how an object is made: there is no input to be read.
OF_STRUCTURE = {"start", "parameters", "indivisible", "uneven groups"}
FIXED = {
    "causal_mask": {"values"},
    "mask_and_renormalize": {"values"},
    "inverted_dropout": {"dropout"},
    "split_heads": {"whole numbers"},
    "merge_heads": {"whole numbers"},
    "trace_shapes": {"values"},
    "padding_mask": {"values"},
    "sliding_window_mask": {"full"},
    "batches": {"windows", "only place", "everywhere", "chance"},
}
FIXED |= {
    bug: FIXED[exercise]
    for bug, exercise in {
        "bug_mask_and_renormalize": "mask_and_renormalize",
        "bug_inverted_dropout": "inverted_dropout",
        "bug_merge_heads": "merge_heads",
        "bug_batches": "batches",
    }.items()
}


def asks_the_same(one: Case, other: Case) -> bool:
    """Return True if two cases pass the same inputs; seeds that are set inside aside."""
    steps = (
        [{k: v for k, v in s.encode().items() if k != "seed"} for s in c.steps]
        for c in (one, other)
    )
    if len({repr(made) for made in steps}) > 1 or one.tensors.keys() != other.tensors.keys():
        return False
    return all(torch.equal(tensor, other.tensors[key]) for key, tensor in one.tensors.items())


@pytest.mark.slow
def test_only_listed_hidden_inputs_stay_the_same_with_another_seed(project, tmp_path):
    others = [FIVE_SEEDS["course_with"](10**30 + n, tmp_path / str(n)) for n in range(4)]
    found: dict[str, set[str]] = {}
    for chapter in project.course.chapters:
        for name in (exercise.name for exercise in chapter.exercises):
            cases, *drawn = (
                recorded_cases(one, chapter.name, name, hidden=True) for one in (project, *others)
            )
            fixed = {
                case.group
                for case in cases
                if not case.shown
                and all(any(asks_the_same(case, one) for one in some) for some in drawn)
            }
            if fixed - OF_STRUCTURE:
                found[name] = fixed - OF_STRUCTURE
    assert found == FIXED
