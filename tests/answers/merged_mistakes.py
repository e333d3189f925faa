"""Mistakes that were merged with another one, which gives the same results on public cases.

Learners still make them, so they stay answers: `twins.tsv` has the name that is true of each.
MERGED: by name and exercises, the edits of the solution.
"""

BY_LIBRARY = (
    "nn.functional.scaled_dot_product_attention(\n"
    "            queries, keys, values, attn_mask=future\n        )"
)
MADE = "nn.Parameter(torch.rand(d_in, d_out))"

MERGED = {
    ("scaled_by_number_of_queries", "attention_weights scaled_dot_product_attention"): [
        ("/ d_k**0.5", "/ queries.shape[-2] ** 0.5")
    ],
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
    (
        "mask_in_the_other_sense_without_dropout",
        "CausalAttention MultiHeadAttention GroupedQueryAttention",
    ): [("attn_weights @ values", BY_LIBRARY)],
    ("dim_ignored_in_sum", "softmax"): [("exponentials.sum(dim=dim", "exponentials.sum(dim=-1")],
    ("keepdim_forgotten_in_maximum", "softmax"): [
        ("x - x.amax(dim=dim, keepdim=True)", "x - x.amax(dim=dim)")
    ],
    ("created_the_other_way_round", "SelfAttention_v1"): [
        (f"self.W_query = {MADE}", f"self.W_value_ = {MADE}"),
        (f"self.W_value = {MADE}", f"self.W_query = {MADE}"),
        ("self.W_value_ =", "self.W_value ="),
    ],
    ("mask_true_for_visible", "causal_mask"): [
        ("torch.triu(ones, diagonal=1).bool()", "~torch.triu(ones, diagonal=1).bool()")
    ],
    ("cleared_before_the_step", "train_step"): [
        ("optimizer.zero_grad()", "pass"),
        ("optimizer.step()", "optimizer.zero_grad()\n    optimizer.step()"),
    ],
    ("stepped_before_backward", "train_step"): [
        ("loss.backward()\n    optimizer.step()", "optimizer.step()\n    loss.backward()")
    ],
}
