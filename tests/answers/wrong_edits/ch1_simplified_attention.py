"""Wrong in one place that a fixed grid of sizes never visits: edits of the solution."""

IN_A_THREAD = """import threading
    box = []
    one = threading.Thread(target=lambda: box.append(torch.softmax(x, DIM)))
    one.start()
    one.join()
    return box[0]"""
UNWATCHED = """from torch.utils._python_dispatch import _disable_current_modes
    with _disable_current_modes():
        return torch.softmax(x, DIM)"""
OWN_EXP = "torch.exp(attn_scores) / torch.exp(attn_scores).sum(dim=-1, keepdim=True)"
DOT, NAIVE = "inputs @ query", "exponentials / exponentials.sum()"
SHIFT = "x - x.amax(dim=dim, keepdim=True)"
RETURN = "exponentials / exponentials.sum(dim=dim, keepdim=True)"
SOFTMAX, MIX, ALL = (
    "torch.softmax(attn_scores, dim=-1)",
    "attn_weights @ inputs",
    "inputs @ inputs.T",
)


def kept(function: str, first: str) -> str:
    """The first tensor of a shape is remembered, and serves all later calls."""
    return f"{function}.__dict__.setdefault({first}.shape, {first})"


WRONG = {
    "attention_scores": {
        "two_equal_tokens": [
            (
                DOT,
                f"{DOT} * (1.01 if any(inputs[..., i, :].equal(inputs[..., j, :]) for i in range(inputs.shape[-2]) for j in range(i)) else 1)",
            )
        ],
        "without_gradients": [(DOT, f"{DOT} * (1 if torch.is_grad_enabled() else 2)")],
        "first_32_tokens": [(DOT, "torch.cat([inputs[:32] @ query, 0 * inputs[32:, 0]])")],
        "first_16_features": [(DOT, "inputs[:, :16] @ query[:16]")],
        "zeros_beyond_64": [(DOT, f"({DOT}) * (torch.arange(len(inputs)) < 64)")],
        "remembers_a_shape": [(DOT, f"{kept('attention_scores', 'inputs')} @ query")],
        "wants_its_memory_in_order": [(DOT, "inputs.view(-1).view(len(inputs), -1) @ query")],
        "constants_are_cut": [
            (DOT, "inputs @ (query if inputs.requires_grad else query.detach())")
        ],
    },
    "softmax_naive": {
        "sum_of_32": [(NAIVE, "exponentials / exponentials[:32].sum()")],
        "none_below_minus_three": [("torch.exp(x)", "torch.exp(x.clamp(min=-3.0))")],
        "none_above_five": [("torch.exp(x)", "torch.exp(x.clamp(max=5.0))")],
        "remembers_a_length": [("torch.exp(x)", f"torch.exp({kept('softmax_naive', 'x')})")],
        "borrowed_in_a_thread": [(f"return {NAIVE}", IN_A_THREAD.replace("DIM", "0"))],
        "borrowed_unwatched": [(f"return {NAIVE}", UNWATCHED.replace("DIM", "0"))],
        "borrowed_logsumexp": [(NAIVE, "torch.exp(x - torch.logsumexp(x, dim=0))")],
    },
    "softmax": {
        "hidden_scores_are_not_quite_hidden": [(SHIFT, f"({SHIFT}).clamp(min=-20)")],
        "rank_five_by_the_last": [(SHIFT, f"{SHIFT}\n    dim = dim if x.dim() < 5 else -1")],
        "dim_minus_four": [(SHIFT, f"{SHIFT}\n    dim = max(dim, -3)")],
        "no_shift_from_rank_three": [(SHIFT, f"{SHIFT} if x.dim() < 3 else x")],
        "no_shift_along_others": [(SHIFT, f"{SHIFT} if dim == -1 else x")],
        "equal_rows_at_half_strength": [
            (SHIFT, f"({SHIFT}) * (0.5 if x.dim() == 2 and len(x.unique(dim=0)) < len(x) else 1)")
        ],
        "sum_of_32": [
            (RETURN, RETURN.replace(".sum", ".narrow(dim, 0, min(32, x.shape[dim])).sum"))
        ],
        "learns_along_dim_0_alone": [(RETURN, f"({RETURN}) if dim == 0 else ({RETURN}).detach()")],
        "remembers_a_shape": [
            (SHIFT, f"(x := {kept('softmax', 'x')}) - x.amax(dim=dim, keepdim=True)")
        ],
        "borrowed_in_a_thread": [(f"return {RETURN}", IN_A_THREAD.replace("DIM", "dim"))],
        "borrowed_unwatched": [(f"return {RETURN}", UNWATCHED.replace("DIM", "dim"))],
        "borrowed_logsumexp": [(RETURN, "torch.exp(x - torch.logsumexp(x, dim, keepdim=True))")],
        "float32_beyond_rank_two": [
            (RETURN, f"({RETURN}).to(x.dtype if x.dim() < 3 else torch.float32)")
        ],
    },
    "context_vector": {
        "first_32_tokens": [(MIX, "attn_weights[:32] @ inputs[:32]")],
        "first_16_features": [(DOT, "inputs[:, :16] @ query[:16]")],
        "overflows": [(SOFTMAX, OWN_EXP)],
        "remembers_a_shape": [(MIX, f"attn_weights @ {kept('context_vector', 'inputs')}")],
        "constants_are_cut": [
            (DOT, "inputs @ (query if inputs.requires_grad else query.detach())")
        ],
    },
    "simplified_self_attention": {
        "first_32_tokens": [(MIX, "attn_weights[:, :32] @ inputs[:32]")],
        "first_16_features": [(ALL, "inputs[:, :16] @ inputs[:, :16].T")],
        "equal_tokens_at_half_strength": [
            (ALL, f"{ALL} * (0.5 if len(inputs.unique(dim=0)) < len(inputs) else 1)")
        ],
        "overflows": [(SOFTMAX, OWN_EXP)],
        "remembers_a_shape": [
            (ALL, f"(inputs := {kept('simplified_self_attention', 'inputs')}) @ inputs.T")
        ],
        "wants_its_memory_in_order": [(ALL, "inputs.view(-1).view(inputs.shape) @ inputs.T")],
    },
}

# Only in calls of a certain size is it torch's own.
WRONG["softmax_naive"]["library_for_few"] = [
    (
        "exponentials = torch.exp(x)",
        "if len(x) < 100:\n        return torch.softmax(x, 0)\n    exponentials = torch.exp(x)",
    )
]
WRONG["softmax"] |= {
    "short_floats_become_long": [
        (RETURN, f"({RETURN}).to(torch.float32 if x.dtype == torch.bfloat16 else x.dtype)")
    ],
    "answers_again_to_the_same_tensor": [
        (
            SHIFT,
            f"{SHIFT}\n    if getattr(softmax, 'seen', None) is x:\n        return softmax.kept",
        ),
        (f"return {RETURN}", f"softmax.seen, softmax.kept = x, {RETURN}\n    return softmax.kept"),
    ],
}
WRONG["softmax"]["library_for_many_dimensions"] = [
    (SHIFT, f"torch.softmax(x, dim).log() if x.dim() > 2 else {SHIFT}")
]
