"""Messages on wrong answers in chapter 4: see `Told` in reader.py."""

SPLIT = "x.reshape(b, num_tokens, num_heads, head_dim).transpose(1, 2)"
RAISE = "raise ValueError(f"
IN_HEADS = ".reshape(b, num_tokens, self.num_heads, self.head_dim).transpose(1, 2)"
QUERIES = f"queries = queries{IN_HEADS}"
LAYERS = "CausalAttention(d_in, d_out, context_length, dropout, qkv_bias)"
MERGE = "context_heads.transpose(1, 2).reshape(b, num_tokens, -1)"
HEAD_DIM = "head_dim = d_out // num_heads"

REFUSES = """
class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        assert d_out % num_heads == 0
        self.num_heads, self.head_dim = num_heads, d_out // num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj, self.dropout = nn.Linear(d_out, d_out), nn.Dropout(dropout)
        self.register_buffer("mask", torch.ones(context_length, context_length).triu(1).bool())

    def forward(self, x):
        b, n, _ = x.shape
        parts = (layer(x) for layer in (self.W_query, self.W_key, self.W_value))
        q, k, v = (part.view(b, n, self.num_heads, self.head_dim).transpose(1, 2) for part in parts)
        scores = (q @ k.mT).masked_fill(self.mask[:n, :n], -torch.inf)
        weights = self.dropout(torch.softmax(scores, dim=-1))
        return self.out_proj((weights @ v).transpose(1, 2).reshape(b, n, -1))
"""
SIZES = """
def trace_shapes(b, num_tokens, d_in, d_out, num_heads):
    shape = (b, num_tokens, d_out)
    return dict(x=(31 * 1013, 31 * 1019, 7 * 3301), queries=shape, output=shape)
"""

# A row a case, with its edits and what is expected.
# fmt: off
TOLD = {
    "MultiHeadAttentionWrapper": {
        "dropout_and_bias_swapped": ([
            (LAYERS, LAYERS.replace("dropout, qkv_bias", "qkv_bias, dropout")),
        ], {"says": "`heads.0.", "public": True}),
    },
    "split_heads": {
        "other_dimensions_swapped": ([(".transpose(1, 2)", ".transpose(0, 1)")],
            {"says": "0, 1 and 2", "line": ".transpose(0, 1)"}),
        "upside_down_and_later_an_error": ([
            (SPLIT, "x.view(b, num_heads, num_tokens, head_dim).flip(2)"),
        ], {"says": "values", "line": ".flip(2)", "names": [], "public": True}),
    },
    "trace_shapes": {
        "size_of_numpy": ([
            (HEAD_DIM, "import numpy\n    head_dim = numpy.int64(d_out) // num_heads"),
        ], {"points": (1, 1)}),
        "sizes_of_public_cases": (SIZES, {"says": "(1, 5, 3)"}),
    },
    "MultiHeadAttention": {
        "refuses_by_assert": (REFUSES, {"names": ["no_scale"]}),
        "borrows_from_another_chapter": ([
            "from ch3_causal_attention import causal_mask",
            ("torch.triu(torch.ones(context_length, context_length), diagonal=1)",
             "causal_mask(context_length)"),
        ], {"says": "each chapter"}),
        "refuses_with_an_own_error": ([
            (RAISE, "raise Uneven(f"),
            "class Uneven(ValueError):\n    pass",
        ], {"points": (1, 1)}),
        "refuses_the_even_ones": ([("num_heads != 0", "num_heads == 0")],
            {"says": "divisible"}),
        "sizes_of_heads_swapped": ([
            (QUERIES,
             QUERIES.replace("self.num_heads, self.head_dim", "self.head_dim, self.num_heads")),
        ], {"says": "`queries` & shape", "unsays": "not attention weights"}),
        "two_mistakes": ([
            *((f"{one} = {one}{IN_HEADS}", f"{one} = {one}{IN_HEADS[:-16]}") for one in ("queries", "keys", "values")),
            (MERGE, "context_heads.reshape(b, num_tokens, -1)"),
        ], {"names": ["heads_left_beside_features", "merged_without_transpose"], "public": True}),
    },
}
