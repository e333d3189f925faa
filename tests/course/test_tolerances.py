"""The tolerances are above the differences of right answers and below those of mistakes."""

import pytest
import torch

from tensorgrade.author.recording.references import observe
from tensorgrade.exchange.references import load_references
from tensorgrade.recognition.mistakes import make

ROUNDED = "torch.tensor(float(d_k), dtype=torch.float32).sqrt()"


def largest_difference(project, chapter, exercise, source, group="values"):
    """The largest difference to the reference over an exercise's cases of a group in float64."""
    references = load_references(project.graders / "references" / f"{chapter}.safetensors")
    entries = [
        (c, e) for c, e in references.of(exercise) if c.group == group and "32" not in c.name
    ]
    seen = observe(project, chapter, source, [case for case, _ in entries])
    return max(
        (o.tensors["result"] - e.tensors["result"]).abs().max().item()
        for (_, e), o in zip(entries, seen, strict=True)
    )


def test_a_square_root_in_float32_is_within(project):
    chapter, exercise = "ch2_self_attention", "attention_weights"
    source = project.solution(chapter).read_text(encoding="utf-8")
    rounded = source.replace("d_k**0.5", ROUNDED)
    tolerance = project.course.tolerances["cpu"]["float64"]
    difference = largest_difference(project, chapter, exercise, rounded)
    assert 0 < difference < tolerance.absolute / 10


@pytest.mark.slow
def test_wrong_scales_are_far_outside(project):
    chapter = "ch2_self_attention"
    source = project.solution(chapter).read_text(encoding="utf-8")
    scales = [m for m in project.mistakes if "scaled_by" in m.name or m.name == "no_scale"]
    tolerance = project.course.tolerances["cpu"]["float32"]
    for mistake in (m for m in scales if "attention_weights" in m.edits):
        wrong = make(source, "attention_weights", [mistake])
        group = (
            "leading" if mistake.name == "scaled_by_dimension_1" else "values"
        )  # right without a batch
        difference = largest_difference(project, chapter, "attention_weights", wrong, group)
        assert difference > 100 * tolerance.absolute
    assert torch.get_default_dtype() == torch.float32


def test_a_small_number_added_to_row_sums_is_within(project):
    chapter, exercise = "ch3_causal_attention", "mask_and_renormalize"
    source = project.solution(chapter).read_text(encoding="utf-8")
    safe = source.replace(
        "masked.sum(dim=-1, keepdim=True)", "(masked.sum(dim=-1, keepdim=True) + 1e-6)"
    )
    tolerance = project.course.tolerances["cpu"]["float64"]
    difference = largest_difference(project, chapter, exercise, safe)
    assert 0 < difference < tolerance.absolute
