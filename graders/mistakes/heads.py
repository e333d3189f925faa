"""Splitting and merging heads, and what split-head attention does with them."""

from tensorgrade.mistakes import mistake, on

QKV = ("queries", "keys", "values")
SPLIT = "{0} = {0}.reshape(b, num_tokens, self.num_heads, self.head_dim).transpose(1, 2)"
MERGE = "context_heads.transpose(1, 2).reshape(b, num_tokens, -1)"
SCORES = "queries @ keys.transpose(2, 3)"
SPLIT_FUNCTION = "x.reshape(b, num_tokens, num_heads, head_dim).transpose(1, 2)"
MERGE_FUNCTION = "x.transpose(1, 2).reshape(b, num_tokens, num_heads * head_dim)"
TRACE = "(b, num_heads, num_tokens, head_dim)"


def each(new: str) -> tuple[tuple[str, str], ...]:
    """Another way to split, for queries, keys and values."""
    return tuple((SPLIT.format(name), new.format(name)) for name in QKV)


MISTAKES = [
    mistake(
        "split_without_transpose",
        "The heads are cut out by a reshape alone, so one head gets features of several tokens. "
        "Split the features first, then change places.",
        on("MultiHeadAttention", *each("{0} = {0}.reshape(b, self.num_heads, num_tokens, self.head_dim)")),
        on("split_heads", (SPLIT_FUNCTION, "x.reshape(b, num_heads, num_tokens, head_dim)")),
    ),
    mistake(
        "merged_without_transpose",
        "The heads are joined by a reshape alone, so features of different tokens end up in one row. "
        "Tokens and heads must change places first.",
        on("MultiHeadAttention", (MERGE, "context_heads.reshape(b, num_tokens, -1)")),
        on("merge_heads", (MERGE_FUNCTION, "x.reshape(b, num_tokens, num_heads * head_dim)")),
    ),
    mistake(
        "heads_interleaved",
        "Each head takes every so-many-th feature. A head is a block of neighbouring features.",
        on("MultiHeadAttention", *each("{0} = {0}.reshape(b, num_tokens, self.head_dim, self.num_heads).permute(0, 3, 1, 2)")),
        on("split_heads", (SPLIT_FUNCTION, "x.reshape(b, num_tokens, head_dim, num_heads).permute(0, 3, 1, 2)")),
    ),
    mistake(
        "merged_interleaved",
        "When the heads are joined their features are shuffled into each other.",
        on("MultiHeadAttention", (MERGE, "context_heads.permute(0, 2, 3, 1).reshape(b, num_tokens, -1)")),
        on("merge_heads", (MERGE_FUNCTION, "x.permute(0, 2, 3, 1).reshape(b, num_tokens, num_heads * head_dim)")),
    ),
    mistake(
        "heads_left_beside_features",
        "Tokens and heads never change places, so attention runs between heads and not between tokens.",
        on("MultiHeadAttention", *each("{0} = {0}.reshape(b, num_tokens, self.num_heads, self.head_dim)")),
        on("split_heads", (SPLIT_FUNCTION, "x.reshape(b, num_tokens, num_heads, head_dim)")),
    ),
    mistake(
        "one_big_head",
        "The heads are never split: one head works on all features.",
        on("MultiHeadAttention", ("self.num_heads = num_heads", "self.num_heads = 1"), ("self.head_dim = d_out // num_heads", "self.head_dim = d_out")),
        on("split_heads", (SPLIT_FUNCTION, "x.unsqueeze(1)")),
    ),
    mistake(
        "keys_split_differently",
        "Queries and keys are split in different ways, so a head compares features that do not belong together.",
        on("MultiHeadAttention", (SPLIT.format("keys"), "keys = keys.reshape(b, self.num_heads, num_tokens, self.head_dim)")),
    ),
    mistake(
        "values_split_differently",
        "Values are split in another way than queries and keys.",
        on("MultiHeadAttention", (SPLIT.format("values"), "values = values.reshape(b, self.num_heads, num_tokens, self.head_dim)")),
    ),
    mistake(
        "heads_in_reverse",
        "The heads are joined in the wrong order.",
        on("MultiHeadAttention", (MERGE, "context_heads.flip(1).transpose(1, 2).reshape(b, num_tokens, -1)")),
        on("merge_heads", (MERGE_FUNCTION, "x.flip(1).transpose(1, 2).reshape(b, num_tokens, num_heads * head_dim)")),
    ),
    mistake(
        "heads_averaged",
        "The heads are averaged. Each should keep its own part of the output.",
        on("MultiHeadAttention", (MERGE, "context_heads.mean(dim=1).repeat(1, 1, self.num_heads)")),
        on("merge_heads", (MERGE_FUNCTION, "x.mean(dim=1)")),
    ),
    mistake(
        "heads_in_a_loop",
        "The heads are computed one after another; one batched product can serve them all.",
        on("MultiHeadAttention", (SCORES, "torch.stack([queries[:, i] @ keys[:, i].transpose(1, 2) for i in range(self.num_heads)], dim=1)")),
    ),
    mistake(
        "num_heads_unchecked",
        "A d_out that num_heads does not divide is accepted; it should be refused with a clear error.",
        on("MultiHeadAttention", ("if d_out % num_heads != 0:", "if False:")),
    ),
    mistake(
        "head_dim_from_d_in",
        "head_dim is taken from d_in. The heads share out what the projections give: d_out.",
        on("MultiHeadAttention", ("self.head_dim = d_out // num_heads", "self.head_dim = d_in // num_heads")),
    ),
    mistake(
        "heads_and_features_swapped",
        "The last two dimensions are the wrong way round: (tokens, features of a head) is asked for.",
        on("split_heads", (SPLIT_FUNCTION, "x.reshape(b, num_tokens, num_heads, head_dim).permute(0, 2, 3, 1)")),
    ),
    mistake(
        "num_heads_taken_for_head_dim",
        "num_heads is used as the width of a head.",
        on("split_heads", (SPLIT_FUNCTION, "x.reshape(b, num_tokens, head_dim, num_heads).transpose(1, 2)")),
    ),
    mistake(
        "heads_in_the_batch",
        "Batch and heads are folded into one dimension; four dimensions are asked for.",
        on("split_heads", (SPLIT_FUNCTION, f"{SPLIT_FUNCTION}.reshape(b * num_heads, num_tokens, head_dim)")),
    ),
    mistake(
        "tokens_split_instead",
        "The tokens are shared out among the heads; every head sees all tokens, and a part of the features.",
        on("split_heads", (SPLIT_FUNCTION, "x.transpose(1, 2).reshape(b, num_heads, head_dim, num_tokens).transpose(2, 3).flip(1)")),
    ),
    mistake(
        "split_detached",
        "The result is cut off from the graph.",
        on("split_heads", (SPLIT_FUNCTION, f"{SPLIT_FUNCTION}.detach()")),
        on("merge_heads", (MERGE_FUNCTION, f"{MERGE_FUNCTION}.detach()")),
    ),
    mistake(
        "heads_last",
        "The heads come last; they belong right after the batch.",
        on("split_heads", (SPLIT_FUNCTION, "x.reshape(b, num_tokens, num_heads, head_dim).transpose(2, 3)")),
    ),
    mistake(
        "first_head_only",
        "Only the first head comes back.",
        on("split_heads", (SPLIT_FUNCTION, f"{SPLIT_FUNCTION}[:, :1]")),
        on("merge_heads", (MERGE_FUNCTION, "x[:, 0]")),
    ),
    mistake(
        "merged_along_tokens",
        "The heads are put one after another along the tokens; they belong side by side in the features.",
        on("merge_heads", (MERGE_FUNCTION, "x.reshape(b, num_heads * num_tokens, head_dim)")),
    ),
    mistake(
        "merged_summed",
        "The heads are added up. Each should keep its own part of the output.",
        on("merge_heads", (MERGE_FUNCTION, "x.sum(dim=1)")),
    ),
    mistake(
        "merge_forgotten",
        "Tokens and heads change places but are not joined: a dimension is left over.",
        on("merge_heads", (MERGE_FUNCTION, "x.transpose(1, 2)")),
    ),
    mistake(
        "merged_last_two_swapped",
        "The wrong two dimensions change places before the heads are joined.",
        on("merge_heads", (MERGE_FUNCTION, "x.transpose(2, 3).reshape(b, num_tokens, num_heads * head_dim)")),
    ),
    mistake(
        "merged_batch_too",
        "The batch is flattened as well; it should stay the first dimension.",
        on("merge_heads", (MERGE_FUNCTION, "x.transpose(1, 2).reshape(b * num_tokens, num_heads * head_dim)")),
    ),
    mistake(
        "view_on_transposed",
        "A transposed tensor cannot be viewed with another shape: its numbers lie in another order in memory.",
        on("merge_heads", (MERGE_FUNCTION, "x.transpose(1, 2).view(b, num_tokens, num_heads * head_dim)")),
        on("MultiHeadAttention", (MERGE, "context_heads.transpose(1, 2).view(b, num_tokens, -1)")),
    ),
    mistake(
        "head_dim_not_whole",
        "The width of a head is a float: `/` always gives one. A size is a whole number.",
        on("trace_shapes", ("head_dim = d_out // num_heads", "head_dim = d_out / num_heads")),
    ),
    mistake(
        "trace_head_dim_is_d_out",
        "A head is as wide as all heads together; ask what num_heads does to d_out.",
        on("trace_shapes", ("head_dim = d_out // num_heads", "head_dim = d_out")),
    ),
    mistake(
        "trace_head_dim_from_d_in",
        "head_dim is taken from d_in. The heads share out what the projections give.",
        on("trace_shapes", ("head_dim = d_out // num_heads", "head_dim = d_in // num_heads")),
    ),
    mistake(
        "trace_heads_after_tokens",
        "In the heads' shapes tokens come before heads; the transpose is missing.",
        on("trace_shapes", (f'"queries_heads": {TRACE}', '"queries_heads": (b, num_tokens, num_heads, head_dim)'), (f'"context_heads": {TRACE}', '"context_heads": (b, num_tokens, num_heads, head_dim)')),
    ),
    mistake(
        "trace_scores_with_head_dim",
        "The scores end in head_dim. A score stands between two tokens.",
        on("trace_shapes", ("(b, num_heads, num_tokens, num_tokens)", TRACE)),
    ),
    mistake(
        "trace_scores_without_heads",
        "The scores have no dimension for the heads; every head has its own.",
        on("trace_shapes", ("(b, num_heads, num_tokens, num_tokens)", "(b, num_tokens, num_tokens)")),
    ),
    mistake(
        "trace_output_is_d_in",
        "The output has d_in features; the output projection gives d_out.",
        on("trace_shapes", ('"output": (b, num_tokens, d_out)', '"output": (b, num_tokens, d_in)')),
    ),
    mistake(
        "trace_queries_are_d_in",
        "The queries have d_in features; the projection gives d_out.",
        on("trace_shapes", ('"queries": (b, num_tokens, d_out)', '"queries": (b, num_tokens, d_in)')),
    ),
    mistake(
        "trace_merged_is_head_dim",
        "After merging only one head's features are left; the heads come side by side.",
        on("trace_shapes", ('"context_merged": (b, num_tokens, d_out)', '"context_merged": (b, num_tokens, head_dim)')),
    ),
    mistake(
        "trace_merged_grows",
        "After merging there are num_heads times d_out features; splitting does not make more of them.",
        on("trace_shapes", ('"context_merged": (b, num_tokens, d_out)', '"context_merged": (b, num_tokens, num_heads * d_out)')),
    ),
    mistake(
        "trace_without_batch",
        "The batch dimension is left out.",
        on("trace_shapes", ('"x": (b, num_tokens, d_in)', '"x": (num_tokens, d_in)'), ('"output": (b, num_tokens, d_out)', '"output": (num_tokens, d_out)')),
    ),
    mistake(
        "trace_step_left_out",
        "A step is missing from the trace, or has another name.",
        on("trace_shapes", ('        "context_heads": (b, num_heads, num_tokens, head_dim),\n', "")),
    ),
    mistake(
        "trace_tokens_before_batch",
        "Tokens come before the batch; the batch is always first here.",
        on("trace_shapes", ('"x": (b, num_tokens, d_in)', '"x": (num_tokens, b, d_in)'), ('"output": (b, num_tokens, d_out)', '"output": (num_tokens, b, d_out)')),
    ),
]
