"""Splitting and merging heads, and what split-head attention does with them."""

from tensorgrade.author import mistake, on

QKV = ("queries", "keys", "values")
SPLIT = "{0} = {0}.reshape(b, num_tokens, self.num_heads, self.head_dim).transpose(1, 2)"
MERGE = "context_heads.transpose(1, 2).reshape(b, num_tokens, -1)"
SPLIT_FUNCTION = "x.reshape(b, num_tokens, num_heads, head_dim).transpose(1, 2)"
MERGE_FUNCTION = "x.transpose(1, 2).reshape(b, num_tokens, num_heads * head_dim)"


def each(new: str) -> tuple[tuple[str, str], ...]:
    """Another way to split, for queries, keys and values."""
    return tuple((SPLIT.format(name), new.format(name)) for name in QKV)


MISTAKES = [
    mistake(
        "split_without_transpose",
        "The heads are cut out by a reshape alone, so a place in a head is no longer one token "
        "but a piece of some token. Split the features first, then let tokens and heads change "
        "places.",
        on(
            "MultiHeadAttention",
            *each("{0} = {0}.reshape(b, self.num_heads, num_tokens, self.head_dim)"),
        ),
        on("split_heads", (SPLIT_FUNCTION, "x.reshape(b, num_heads, num_tokens, head_dim)")),
    ),
    mistake(
        "merged_without_transpose",
        "The heads are joined by a reshape alone, so features of different tokens end up in one "
        "row. "
        "Tokens and heads must change places first.",
        on("MultiHeadAttention", (MERGE, "context_heads.reshape(b, num_tokens, -1)")),
        on("merge_heads", (MERGE_FUNCTION, "x.reshape(b, num_tokens, num_heads * head_dim)")),
    ),
    mistake(
        "heads_interleaved",
        "Each head takes every so-many-th feature. A head is a block of neighbouring features.",
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
        "When the heads are joined their features are shuffled into each other.",
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
        "Tokens and heads never change places; attention would run between heads and not "
        "between tokens.",
        on(
            "MultiHeadAttention",
            *each("{0} = {0}.reshape(b, num_tokens, self.num_heads, self.head_dim)"),
        ),
        on("split_heads", (SPLIT_FUNCTION, "x.reshape(b, num_tokens, num_heads, head_dim)")),
    ),
    mistake(
        "one_big_head",
        "The heads are never split: one head works on all features.",
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
        "The heads are averaged. Each should keep its own part of the output.",
        on("MultiHeadAttention", (MERGE, "context_heads.mean(dim=1).repeat(1, 1, self.num_heads)")),
        on("merge_heads", (MERGE_FUNCTION, "x.mean(dim=1)")),
    ),
    mistake(
        "split_detached",
        "The result is cut off from the graph.",
        on("split_heads", (SPLIT_FUNCTION, f"{SPLIT_FUNCTION}.detach()")),
        on("merge_heads", (MERGE_FUNCTION, f"{MERGE_FUNCTION}.detach()")),
    ),
    mistake(
        "first_head_only",
        "Only the first head comes back.",
        on("split_heads", (SPLIT_FUNCTION, f"{SPLIT_FUNCTION}[:, :1]")),
        on("merge_heads", (MERGE_FUNCTION, "x[:, 0]")),
    ),
    mistake(
        "view_on_transposed",
        "A transposed tensor cannot be viewed with another shape: its numbers lie in another "
        "order in memory.",
        on(
            "merge_heads",
            (MERGE_FUNCTION, "x.transpose(1, 2).view(b, num_tokens, num_heads * head_dim)"),
        ),
        on("MultiHeadAttention", (MERGE, "context_heads.transpose(1, 2).view(b, num_tokens, -1)")),
    ),
]
