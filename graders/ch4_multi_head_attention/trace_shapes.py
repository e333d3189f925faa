"""Cases, checks and known mistakes of the exercise trace_shapes."""

from tensorgrade.author import call, case, check, it

from ..steps import FEATURES, WIDTH


def cases(draw):
    """Return cases with five sizes that determine all shapes."""
    names = ("b", "num_tokens", "d_in", "d_out", "num_heads")
    b, n, d_in, width, heads = draw((30, 90), (1100, 3000), FEATURES, WIDTH, (14, 17))
    sizes = [
        (1, 5, 3, 8, 2),
        (2, 6, 3, 10, 5),
        (3, 5, 8, 13, 1),
        (4, 4, 4, 4, 4),
        (8, 1024, 768, 768, 12),
        (b, n, d_in, width * heads, heads),
    ]
    return [case(f"values/{size}", call(**dict(zip(names, size, strict=True)))) for size in sizes]


CHECKS = [
    check(1, "Shapes of x and of the queries.", it.agrees_on_keys("values", "x", "queries")),
    check(
        1.5,
        "Shapes after splitting into heads.",
        it.agrees_on_keys("values", "queries_heads", "context_heads"),
    ),
    check(1, "Shape of the scores.", it.agrees_on_keys("values", "attn_scores")),
    check(
        1,
        "Shapes after merging and after the output projection.",
        it.agrees_on_keys("values", "context_merged", "output"),
    ),
    check(0.5, "The steps are in the order in which they happen.", it.keeps_order("values")),
]


MISTAKES = """
head_dim_not_whole: The width of a head is a float: `/` always returns one. A size is an integer.
    head_dim = d_out // num_heads -> head_dim = d_out / num_heads
trace_head_dim_is_d_out: A head is as wide as all heads together. What does num_heads do with d_out?
    head_dim = d_out // num_heads -> head_dim = d_out
trace_head_dim_from_d_in: head_dim is computed from d_in. The heads divide the projections'
  features.
    head_dim = d_out // num_heads -> head_dim = d_in // num_heads
trace_heads_after_tokens: In the heads' shapes, tokens come before heads; the transpose is missing.
    "queries_heads": (b, num_heads, num_tokens, -> "queries_heads": (b, num_tokens, num_heads,
    "context_heads": (b, num_heads, num_tokens, -> "context_heads": (b, num_tokens, num_heads,
trace_scores_with_head_dim: The shape of the scores ends in head_dim. A score compares two tokens.
    (b, num_heads, num_tokens, num_tokens) -> (b, num_heads, num_tokens, head_dim)
trace_scores_without_heads: The scores have no dimension for the heads; each head should have its
  own scores.
    (b, num_heads, num_tokens, num_tokens) -> (b, num_tokens, num_tokens)
trace_output_is_d_in: The output has d_in features; the output projection should give d_out.
    "output": (b, num_tokens, d_out) -> "output": (b, num_tokens, d_in)
trace_queries_are_d_in: The queries have d_in features; the projection should give d_out.
    "queries": (b, num_tokens, d_out) -> "queries": (b, num_tokens, d_in)
trace_merged_is_head_dim: After merging, only one head's features remain; the heads belong side by
  side.
    "context_merged": (b, num_tokens, d_out) -> "context_merged": (b, num_tokens, head_dim)
trace_merged_grows: After merging there are num_heads times d_out features; splitting does not make
  more of them.
    "context_merged": (b, num_tokens, d_out) -> "context_merged": (b, num_tokens, num_heads * d_out)
trace_without_batch: The batch dimension is missing in x and in the output.
    "x": (b, num_tokens, d_in) -> "x": (num_tokens, d_in)
    "output": (b, num_tokens, d_out) -> "output": (num_tokens, d_out)
trace_step_left_out: A step is missing from the trace, or has another name.
    "context_heads": (b, num_heads, num_tokens, head_dim), ->
trace_tokens_before_batch: Tokens come before the batch; the batch should be first.
    "x": (b, num_tokens, d_in) -> "x": (num_tokens, b, d_in)
    "output": (b, num_tokens, d_out) -> "output": (num_tokens, b, d_out)
"""
