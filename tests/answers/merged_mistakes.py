"""Mistakes that were merged with another one, which gives the same results on all cases.

Learners still make them, so they stay answers: `twins.tsv` has the name that is true of each.
MERGED: by name and exercises, the edits of the solution.
"""

MERGED = {
    (
        "mask_multiplied_into_scores",
        "CausalAttention MultiHeadAttention GroupedQueryAttention LatentAttention CachedAttention "
        "causal_attention_weights",
    ): [
        (
            "attn_scores.masked_fill(future, -torch.inf)",
            "attn_scores * (1 - future.to(attn_scores))",
        )
    ],
    ("mask_true_for_visible", "causal_mask"): [
        ("torch.triu(ones, diagonal=1).bool()", "~torch.triu(ones, diagonal=1).bool()")
    ],
    ("cleared_before_the_step", "train_step"): [
        ("optimizer.zero_grad()", "pass"),
        ("optimizer.step()", "optimizer.zero_grad()\noptimizer.step()"),
    ],
    ("stepped_before_backward", "train_step"): [
        ("loss.backward()\noptimizer.step()", "optimizer.step()\nloss.backward()")
    ],
}
