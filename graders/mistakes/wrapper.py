"""The wrapper: making heads, registering them, joining what they give."""

from tensorgrade.mistakes import mistake, on

NAME = "MultiHeadAttentionWrapper"
MAKE = "CausalAttention(d_in, d_out, context_length, dropout, qkv_bias)"
LIST = "self.heads = nn.ModuleList("
JOIN = "torch.cat([head(x) for head in self.heads], dim=-1)"


def wrapper(name: str, message: str, *edits, same_as=""):
    """A mistake of this one exercise."""
    return mistake(name, message, on(NAME, *edits), same_as=same_as)


MISTAKES = [
    wrapper(
        "heads_in_a_plain_list",
        "The heads are kept in a Python list, where torch does not find their parameters.",
        (LIST, "self.heads = list("),
    ),
    wrapper(
        "heads_stacked",
        "The outputs are stacked along a new dimension; they belong side by side in the last one.",
        (JOIN, "torch.stack([head(x) for head in self.heads], dim=-1)"),
    ),
    wrapper(
        "heads_joined_along_tokens",
        "The outputs are joined along the tokens; they belong side by side in the features.",
        (JOIN, "torch.cat([head(x) for head in self.heads], dim=1)"),
    ),
    wrapper(
        "heads_joined_along_batch",
        "The outputs are joined along the batch; they belong side by side in the features.",
        (JOIN, "torch.cat([head(x) for head in self.heads], dim=0)"),
    ),
    wrapper(
        "heads_added",
        "The outputs are added up. Each head should keep its own part of the output.",
        (JOIN, "sum(head(x) for head in self.heads)"),
    ),
    wrapper(
        "heads_meaned",
        "The outputs are averaged. Each head should keep its own part of the output.",
        (JOIN, "sum(head(x) for head in self.heads) / len(self.heads)"),
    ),
    wrapper(
        "first_head_repeated",
        "The first head is called again and again; the others are never asked.",
        (JOIN, "torch.cat([self.heads[0](x) for _ in self.heads], dim=-1)"),
    ),
    wrapper(
        "one_head_shared",
        "All entries are one and the same head, with one set of weights.",
        (f"{MAKE}\n            for _ in range(num_heads)", f"[{MAKE}] * num_heads"),
    ),
    wrapper(
        "heads_chained",
        "Each head gets the output of the one before. All heads should see the same x.",
        (f"return {JOIN}", "outputs = []\n        for head in self.heads:\n            x = head(x)\n            outputs.append(x)\n        return torch.cat(outputs, dim=-1)"),
    ),
    wrapper(
        "d_out_shared_out",
        "Each head gets a share of d_out. In the wrapper every head gives d_out features of its own.",
        (MAKE, "CausalAttention(d_in, d_out // num_heads, context_length, dropout, qkv_bias)"),
    ),
    wrapper(
        "projection_added",
        "There is a projection after joining the heads. The wrapper only joins.",
        (LIST, f"self.out_proj = nn.Linear(num_heads * d_out, num_heads * d_out)\n        {LIST}"),
        (f"return {JOIN}", f"return self.out_proj({JOIN})"),
    ),
    wrapper(
        "bias_not_passed_on",
        "`qkv_bias` is not passed on to the heads.",
        (MAKE, "CausalAttention(d_in, d_out, context_length, dropout)"),
    ),
    wrapper(
        "dropout_not_passed_on",
        "`dropout` is not passed on to the heads.",
        (MAKE, "CausalAttention(d_in, d_out, context_length, 0.0, qkv_bias)"),
    ),
    wrapper(
        "context_length_not_passed_on",
        "`context_length` is not passed on to the heads.",
        (MAKE, "CausalAttention(d_in, d_out, 6, dropout, qkv_bias)"),
    ),
    wrapper(
        "one_head_too_few",
        "There is one head too few.",
        ("range(num_heads)", "range(num_heads - 1)"),
    ),
    wrapper(
        "one_head_too_many",
        "There is one head too many.",
        ("range(num_heads)", "range(num_heads + 1)"),
    ),
    wrapper(
        "heads_joined_in_reverse",
        "The heads are joined in reverse order.",
        (JOIN, "torch.cat([head(x) for head in reversed(self.heads)], dim=-1)"),
    ),
    wrapper(
        "only_last_head",
        "Only the last head's output comes back.",
        (JOIN, "[head(x) for head in self.heads][-1]"),
    ),
    wrapper(
        "list_returned",
        "A list of outputs comes back; one joined tensor is asked for.",
        (JOIN, "[head(x) for head in self.heads]"),
    ),
    wrapper(
        "heads_detached",
        "The outputs are cut off from the graph, so no head can learn.",
        (JOIN, "torch.cat([head(x).detach() for head in self.heads], dim=-1)"),
    ),
]
