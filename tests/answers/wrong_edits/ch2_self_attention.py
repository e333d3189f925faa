"""Wrong in one place that a fixed grid of sizes never visits: edits of the solution."""

OWN_EXP = (
    "torch.exp(attn_scores / d_k**0.5) / torch.exp(attn_scores / d_k**0.5).sum(-1, keepdim=True)"
)
SOFTMAX, SCORES = (
    "torch.softmax(attn_scores / d_k**0.5, dim=-1)",
    "queries @ keys.transpose(-2, -1)",
)
D_K, MIX, NAMES = "d_k = keys.shape[-1]", "attn_weights @ values", ("W_query", "W_key", "W_value")
COPY = "v1.{0}.copy_(v2.{0}.weight.T)"
V1, V2 = "queries = x @ self.W_query", "queries = self.W_query(x)"
MADE_V1 = "self.W_value = nn.Parameter(torch.rand(d_in, d_out))"
MADE_V2 = "self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)"
OF_ONE_RANK = {
    "right_in_a_batch_alone": [(SCORES, "queries @ keys.transpose(1, 2)")],
    "right_without_a_batch_alone": [(SCORES, "queries @ keys.t()")],
}


def each(new: str) -> list[tuple[str, str]]:
    """One replacement for query, key and value."""
    return [(COPY.format(name), new.format(name)) for name in NAMES]


def of_any(projection: str, made: str, weight: str) -> dict:
    """Possible mistakes in either of the two modules."""
    return {
        "scale_up_to_16": [(D_K, "d_k = min(keys.shape[-1], 16)")],
        "first_32_tokens": [(MIX, "attn_weights[..., :32] @ values[..., :32, :]")],
        "overflows": [(SOFTMAX, OWN_EXP)],
        "remembers_a_shape": [
            (projection, f"x = self.__dict__.setdefault(str(x.shape), x)\n        {projection}")
        ],
        "learns_in_training_alone": [
            (SOFTMAX, f"{SOFTMAX}\n        values = values if self.training else values.detach()")
        ],
        "learns_in_evaluation_alone": [
            (SOFTMAX, f"{SOFTMAX}\n        values = values.detach() if self.training else values")
        ],
        "learns_with_its_input_alone": [
            (D_K, f"values = values if x.requires_grad else values.detach()\n        {D_K}")
        ],
        "copies_call_the_old_one": [
            (made, f"{made}\n        self.query = lambda x: {weight}"),
            (projection, "queries = self.query(x)"),
        ],
        "cannot_be_copied": [
            (
                made,
                f"{made}\n        self.seen = self.W_value{'' if '@' in weight else '.weight'}.T",
            )
        ],
        "wants_its_memory_in_order": [
            (projection, f"x = x.view(-1).view(x.shape)\n        {projection}")
        ],
    }


WRONG = {
    "project_qkv": {
        "two_equal_tokens": [
            (
                "queries = x @",
                "queries = x * (1.01 if any(x[..., i, :].equal(x[..., j, :]) for i in range(x.shape[-2]) for j in range(i)) else 1) @",
            )
        ],
        "first_16_features": [("x @ W_value", "x[:, :16] @ W_value[:16]")],
        "zeros_beyond_64": [("x @ W_key", "(x @ W_key) * (torch.arange(len(x)) < 64)[:, None]")],
        "remembers_a_shape": [
            ("x @ W_query", "(x := project_qkv.__dict__.setdefault(x.shape, x)) @ W_query")
        ],
        "wants_its_memory_in_order": [("x @ W_query", "x.view(-1).view(x.shape) @ W_query")],
        "constants_are_cut": [("x @ W_key", "x @ (W_key if x.requires_grad else W_key.detach())")],
    },
    "attention_weights": {
        "two_equal_keys": [
            (
                SCORES,
                "queries * (1.01 if any(queries[..., i, :].equal(queries[..., j, :]) for i in range(queries.shape[-2]) for j in range(i)) else 1) @ keys.transpose(-2, -1)",
            )
        ],
        "scale_up_to_16": [(D_K, "d_k = min(keys.shape[-1], 16)")],
        **OF_ONE_RANK,
        "overflows": [(SOFTMAX, OWN_EXP)],
        "batches_overflow": [(SOFTMAX, f"{SOFTMAX} if keys.dim() == 2 else {OWN_EXP}")],
        "rank_four": [
            (SOFTMAX, f"({SOFTMAX} if keys.dim() != 4 else {SOFTMAX.replace('-1', '1')})")
        ],
        "rank_five": [(D_K, "d_k = keys.shape[-1 if keys.dim() < 5 else -2]")],
        "keys_after_32_hidden": [(SOFTMAX, f"({SOFTMAX} * (torch.arange(keys.shape[-2]) < 32))")],
        "learns_without_a_batch_alone": [
            (SCORES, f"{SCORES} if keys.dim() == 2 else queries.detach() @ keys.mT")
        ],
        "remembers_a_shape": [
            (SCORES, "queries @ attention_weights.__dict__.setdefault(keys.shape, keys).mT")
        ],
        "wants_its_memory_in_order": [(SCORES, "queries.view(-1).view(queries.shape) @ keys.mT")],
    },
    "scaled_dot_product_attention": {
        **OF_ONE_RANK,
        "scale_up_to_16": [(D_K, "d_k = min(keys.shape[-1], 16)")],
        "overflows": [(SOFTMAX, OWN_EXP)],
        "rank_five": [(D_K, "d_k = keys.shape[-1 if keys.dim() < 5 else -2]")],
        "first_32_keys": [(MIX, "attn_weights[..., :32] @ values[..., :32, :]")],
        "learns_without_a_batch_alone": [(MIX, f"{MIX} if keys.dim() == 2 else {MIX}.detach()")],
        "remembers_a_shape": [
            (
                MIX,
                "attn_weights @ scaled_dot_product_attention.__dict__.setdefault(values.shape, values)",
            )
        ],
        "many_more_keys_than_queries": [
            (
                D_K,
                "keys_more = keys.shape[-2] > 3 * queries.shape[-2] + 1\n    d_k = keys.shape[-1] + keys_more",
            )
        ],
    },
    "SelfAttention_v1": of_any(V1, MADE_V1, "x @ self.W_query"),
    "SelfAttention_v2": of_any(V2, MADE_V2, "self.W_query(x)")
    | {
        "starts_at_zero": [(MADE_V2, f"{MADE_V2}\n        nn.init.zeros_(self.W_key.weight)")],
        "no_bias_in_float32": [
            (
                V2,
                "queries = self.W_query(x) if x.dtype == torch.float64 else x @ self.W_query.weight.T",
            )
        ],
        "no_bias_in_evaluation": [
            (V2, "queries = self.W_query(x) if self.training else x @ self.W_query.weight.T")
        ],
    },
    "copy_v2_into_v1": {
        "shared_data": each("v1.{0}.data = v2.{0}.weight.data.T"),
        "shared_by_set": each("v1.{0}.set_(v2.{0}.weight.detach().T)"),
        "shared_in_a_parameter": each("v1.{0} = nn.Parameter(v2.{0}.weight.detach().T)"),
        "shared_the_other_way": each(
            "v1.{0}.copy_(v2.{0}.weight.T)\n        v2.{0}.weight.data = v1.{0}.data.T"
        ),
        "first_16_rows": each("v1.{0}[:16].copy_(v2.{0}.weight.T[:16])"),
        "one_shared": [(COPY.format("W_key"), "v1.W_key.data = v2.W_key.weight.data.mT")],
    },
}

# Cached initial weights are useless after a training step.
WRONG["SelfAttention_v2"]["weights_of_the_first_call"] = [
    (
        "keys = self.W_key(x)",
        "if not hasattr(self, 'kept'):\n            self.kept = self.W_key.weight.detach().clone()\n        keys = x @ self.kept.T if self.W_key.bias is None else self.W_key(x)",
    )
]
WRONG["SelfAttention_v2"]["no_scale_without_gradients"] = [
    ("d_k = keys.shape[-1]", "d_k = keys.shape[-1] if torch.is_grad_enabled() else 1")
]
