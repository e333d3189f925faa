"""Mistakes in splitting and merging heads, and in attention with split heads."""

from tensorgrade.author import mistake, on

QKV = ("queries", "keys", "values")
SPLIT = "{0} = {0}.reshape(b, num_tokens, self.num_heads, self.head_dim).transpose(1, 2)"
MERGE = "context_heads.transpose(1, 2).reshape(b, num_tokens, -1)"
SPLIT_FUNCTION = "x.reshape(b, num_tokens, num_heads, head_dim).transpose(1, 2)"
MERGE_FUNCTION = "x.transpose(1, 2).reshape(b, num_tokens, num_heads * head_dim)"


def each(new: str) -> tuple[tuple[str, str], ...]:
    """Return edits that split queries, keys and values differently."""
    return tuple((SPLIT.format(name), new.format(name)) for name in QKV)


MISTAKES = [
    mistake(
        "split_without_transpose",
        "The heads are split with a reshape alone, so a row of a head is a piece of some token "
        "instead of one token's features. Split the features first, then swap tokens and heads.",
        on(
            "MultiHeadAttention",
            *each("{0} = {0}.reshape(b, self.num_heads, num_tokens, self.head_dim)"),
        ),
        on("split_heads", (SPLIT_FUNCTION, "x.reshape(b, num_heads, num_tokens, head_dim)")),
    ),
    mistake(
        "merged_without_transpose",
        "The heads are joined with a reshape alone, so one row mixes features of different "
        "tokens. Swap tokens and heads first.",
        on("MultiHeadAttention", (MERGE, "context_heads.reshape(b, num_tokens, -1)")),
        on("merge_heads", (MERGE_FUNCTION, "x.reshape(b, num_tokens, num_heads * head_dim)")),
    ),
    mistake(
        "heads_interleaved",
        "Each head takes features at regular intervals. A head should be a block of neighbouring "
        "features.",
        on(
            "MultiHeadAttention",
            *each(
                "{0} = {0}.reshape(b, num_tokens, self.head_dim, self.num_heads).permute(0, 3, 1, "
                "2)"
            ),
        ),
        on(
            "split_heads",
            (SPLIT_FUNCTION, "x.reshape(b, num_tokens, head_dim, num_heads).permute(0, 3, 1, 2)"),
        ),
    ),
    mistake(
        "merged_interleaved",
        "Joining the heads interleaves their features. Each head's features should stay together.",
        on(
            "MultiHeadAttention",
            (MERGE, "context_heads.permute(0, 2, 3, 1).reshape(b, num_tokens, -1)"),
        ),
        on(
            "merge_heads",
            (MERGE_FUNCTION, "x.permute(0, 2, 3, 1).reshape(b, num_tokens, num_heads * head_dim)"),
        ),
    ),
    mistake(
        "heads_left_beside_features",
        "Tokens and heads are not swapped, so attention would run between heads instead of "
        "between tokens.",
        on(
            "MultiHeadAttention",
            *each("{0} = {0}.reshape(b, num_tokens, self.num_heads, self.head_dim)"),
        ),
        on("split_heads", (SPLIT_FUNCTION, "x.reshape(b, num_tokens, num_heads, head_dim)")),
    ),
    mistake(
        "one_big_head",
        "The heads are not split: one head uses all features.",
        on(
            "MultiHeadAttention",
            ("self.num_heads = num_heads", "self.num_heads = 1"),
            ("self.head_dim = d_out // num_heads", "self.head_dim = d_out"),
        ),
        on("split_heads", (SPLIT_FUNCTION, "x.unsqueeze(1)")),
    ),
    mistake(
        "heads_in_reverse",
        "The heads are joined in the wrong order.",
        on(
            "MultiHeadAttention",
            (MERGE, "context_heads.flip(1).transpose(1, 2).reshape(b, num_tokens, -1)"),
        ),
        on(
            "merge_heads",
            (
                MERGE_FUNCTION,
                "x.flip(1).transpose(1, 2).reshape(b, num_tokens, num_heads * head_dim)",
            ),
        ),
    ),
    mistake(
        "heads_averaged",
        "The heads are averaged. Each head should keep its own part of the output.",
        on("MultiHeadAttention", (MERGE, "context_heads.mean(dim=1).repeat(1, 1, self.num_heads)")),
        on("merge_heads", (MERGE_FUNCTION, "x.mean(dim=1)")),
    ),
    mistake(
        "split_detached",
        "No gradient flows back through the result.",
        on("split_heads", (SPLIT_FUNCTION, f"{SPLIT_FUNCTION}.detach()")),
        on("merge_heads", (MERGE_FUNCTION, f"{MERGE_FUNCTION}.detach()")),
    ),
    mistake(
        "first_head_only",
        "The result contains only the first head.",
        on("split_heads", (SPLIT_FUNCTION, f"{SPLIT_FUNCTION}[:, :1]")),
        on("merge_heads", (MERGE_FUNCTION, "x[:, 0]")),
    ),
    mistake(
        "view_on_transposed",
        "`view` cannot change the shape of a transposed tensor: its numbers have a different "
        "order in memory.",
        on(
            "merge_heads",
            (MERGE_FUNCTION, "x.transpose(1, 2).view(b, num_tokens, num_heads * head_dim)"),
        ),
        on("MultiHeadAttention", (MERGE, "context_heads.transpose(1, 2).view(b, num_tokens, -1)")),
    ),
]
