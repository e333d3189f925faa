"""Right in unusual ways: edits of the solution, by exercise."""

DOT, NAIVE = "return inputs @ query", "exponentials / exponentials.sum()"
SHIFT = "x - x.amax(dim=dim, keepdim=True)"
RETURN = "return exponentials / exponentials.sum(dim=dim, keepdim=True)"
SOFTMAX, MIX = "torch.softmax(attn_scores, dim=-1)", "attn_weights @ inputs"

RIGHT = {
    "attention_scores": {
        "comprehension": [(DOT, "return torch.stack([torch.dot(query, row) for row in inputs])")],
        "inner": [(DOT, "return torch.inner(query, inputs)")],
        "checks_types": [
            (DOT, f"assert isinstance(query, torch.Tensor) and query.ndim == 1\n    {DOT}")
        ],
        "broadcast_in_place": [
            (DOT, "products = inputs.clone()\n    products *= query\n    return products.sum(1)")
        ],
    },
    "softmax_naive": {
        "by_lists": [(NAIVE, "torch.stack([e / sum(exponentials) for e in exponentials])")],
        "by_powers_of_e": [("torch.exp(x)", "2.718281828459045**x")],
        "by_logarithms": [(NAIVE, "torch.exp(x - torch.log(exponentials.sum()))")],
    },
    "softmax": {
        "max_with_values": [(SHIFT, "x - x.max(dim=dim, keepdim=True).values")],
        "moved_to_the_end": [
            (
                RETURN,
                "moved = exponentials.movedim(dim, -1)\n    return (moved / moved.sum(-1)[..., None]).movedim(-1, dim)",
            )
        ],
        "in_float32": [
            (SHIFT, "x.float() - x.float().amax(dim=dim, keepdim=True)"),
            (
                RETURN,
                RETURN.replace("return exponentials", "return (exponentials") + ").to(x.dtype)",
            ),
        ],
        "shift_without_gradient": [(SHIFT, "x - x.detach().amax(dim=dim, keepdim=True)")],
        "in_place_on_its_own": [(RETURN, "return exponentials.div(exponentials.sum(dim, True))")],
    },
    "context_vector": {
        "mean_of_rows_by_weight": [(MIX, "(attn_weights.unsqueeze(1) * inputs).sum(0)")],
        "einsum": [(MIX, "torch.einsum('n,nd->d', attn_weights, inputs)")],
        "softmax_in_float32": [
            (SOFTMAX, "torch.softmax(attn_scores.float(), dim=-1).to(inputs.dtype)")
        ],
    },
    "simplified_self_attention": {
        "a_list": [("return context_vecs, attn_weights", "return [context_vecs, attn_weights]")],
        "mT": [("inputs @ inputs.T", "inputs @ inputs.mT")],
        "softmax_in_float32": [
            (SOFTMAX, "torch.softmax(attn_scores.float(), dim=-1).to(inputs.dtype)")
        ],
    },
}
