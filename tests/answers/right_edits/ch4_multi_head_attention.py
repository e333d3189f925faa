"""Right in unusual ways: edits of the solution, by exercise."""

import runpy
from pathlib import Path

OF_ANY = runpy.run_path(str(Path(__file__).parent / "ch3_causal_attention.py"))["OF_ANY"]
JOIN = "torch.cat([head(x) for head in self.heads], dim=-1)"
SPLIT = "x.reshape(b, num_tokens, num_heads, head_dim).transpose(1, 2)"
MERGE = "x.transpose(1, 2).reshape(b, num_tokens, num_heads * head_dim)"
CHECK = "if d_out % num_heads != 0:"
QUERIES = "queries.reshape(b, num_tokens, self.num_heads, self.head_dim).transpose(1, 2)"

RIGHT = {
    "MultiHeadAttentionWrapper": {
        "concatenate": [(JOIN, "torch.concatenate(tuple(map(lambda h: h(x), self.heads)), dim=2)")],
        "stacked_and_flattened": [
            (JOIN, "torch.stack([h(x) for h in self.heads], dim=-2).flatten(-2)")
        ],
    },
    "split_heads": {
        "unflatten": [(SPLIT, "x.unflatten(-1, (num_heads, -1)).movedim(-2, 1)")],
        "chunk_and_stack": [(SPLIT, "torch.stack(x.chunk(num_heads, dim=-1), dim=1)")],
        "indexed": [
            (
                SPLIT,
                "torch.stack([x[..., h * head_dim : (h + 1) * head_dim] for h in range(num_heads)], 1)",
            )
        ],
    },
    "merge_heads": {
        "cat_of_heads": [(MERGE, "torch.cat(x.unbind(1), dim=-1)")],
        "contiguous_view": [(MERGE, "x.permute(0, 2, 1, 3).contiguous().view(b, num_tokens, -1)")],
        "flatten": [(MERGE, "x.swapaxes(1, 2).flatten(2)")],
    },
    "trace_shapes": {
        "sizes_of_torch": [
            ('"x": (b, num_tokens, d_in)', '"x": torch.Size((b, num_tokens, d_in))')
        ],
        "divmod": [
            (
                "head_dim = d_out // num_heads\n    return",
                "head_dim, rest = divmod(d_out, num_heads)\n    assert rest == 0\n    return",
            )
        ],
    },
    "MultiHeadAttention": OF_ANY
    | {
        "unflatten": [
            (QUERIES, "queries.unflatten(-1, (self.num_heads, self.head_dim)).transpose(1, 2)")
        ],
        "heads_by_chunks": [(QUERIES, "torch.stack(queries.chunk(self.num_heads, dim=-1), dim=1)")],
        "checked_by_divmod": [(CHECK, "if divmod(d_out, num_heads)[1]:")],
        "checked_by_product": [(CHECK, "if d_out // num_heads * num_heads != d_out:")],
    },
}
