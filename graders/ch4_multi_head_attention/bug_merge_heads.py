"""A find-the-bug exercise, graded like merge_heads."""

from tensorgrade import find_the_bug

BUG = find_the_bug(
    "merge_heads",
    points=4,
    among={
        "merged_along_tokens": ("dim=-1", "dim=-2"),
        "heads_in_reverse": ("in range(num_heads)", "in reversed(range(num_heads))"),
        "first_head_only": ("range(num_heads)", "range(1)"),
        "merged_interleaved": (
            "torch.cat(side_by_side, dim=-1)",
            "torch.stack(side_by_side, dim=-1).flatten(2)",
        ),
        "merged_summed": (
            "torch.cat(side_by_side, dim=-1)",
            "torch.stack(side_by_side, dim=-1).sum(-1)",
        ),
    },
)
