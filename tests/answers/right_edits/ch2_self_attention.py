"""Right in unusual ways: edits of the solution, by exercise."""

SOFTMAX, SCORES = (
    "torch.softmax(attn_scores / d_k**0.5, dim=-1)",
    "queries @ keys.transpose(-2, -1)",
)
IN_FLOAT32 = "torch.softmax((attn_scores / d_k**0.5).float(), dim=-1).to(queries.dtype)"
SHIFTED = (
    "torch.exp((attn_scores - attn_scores.amax(-1, keepdim=True)) / d_k**0.5)\n    "
    "attn_weights = attn_weights / attn_weights.sum(-1, keepdim=True)"
)
RETURN = "return torch.softmax(attn_scores / d_k**0.5, dim=-1)"
NAMES = ("W_query", "W_key", "W_value")
COPY = "v1.{0}.copy_(v2.{0}.weight.T)"
KEPT = "self.attn_weights = attn_weights\n        return attn_weights @ values"


def each(new: str) -> list[tuple[str, str]]:
    """One replacement for query, key and value."""
    return [(COPY.format(name), new.format(name)) for name in NAMES]


OF_ANY = {
    "softmax_in_float32": [(SOFTMAX, IN_FLOAT32)],
    "keeps_its_weights": [("return attn_weights @ values", KEPT)],
    "scaled_queries": [
        (SCORES, "(queries / queries.shape[-1] ** 0.5) @ keys.mT"),
        (SOFTMAX, "attn_scores.softmax(-1)"),
    ],
    "own_assert": [
        ("d_k = keys.shape[-1]", "d_k = keys.shape[-1]\n        assert x.ndim >= 2 and d_k > 0")
    ],
}
RIGHT = {
    "project_qkv": {
        "comprehension": [
            (
                "return queries, keys, values",
                "return tuple(x.matmul(w) for w in (W_query, W_key, W_value))",
            )
        ],
        "chunked": [
            (
                "return queries, keys, values",
                "return (x @ torch.cat((W_query, W_key, W_value), 1)).chunk(3, dim=-1)",
            )
        ],
    },
    "attention_weights": {
        "softmax_in_float32": [(SOFTMAX, IN_FLOAT32)],
        "einsum": [(SCORES, "torch.einsum('...nd,...md->...nm', queries, keys)")],
        "root_of_a_tensor": [("d_k**0.5", "torch.tensor(float(d_k)).sqrt()")],
        "scaled_by_half_each": [
            (SCORES, "(queries / queries.shape[-1] ** 0.25) @ (keys / keys.shape[-1] ** 0.25).mT"),
            (SOFTMAX, "torch.softmax(attn_scores, -1)"),
        ],
    },
    "scaled_dot_product_attention": {
        "softmax_in_float32": [(SOFTMAX, IN_FLOAT32)],
        "calls_the_one_before": [
            ("return attn_weights @ values", "return attention_weights(queries, keys) @ values")
        ],
        "by_hand_with_a_shift": [(SOFTMAX, SHIFTED)],
    },
    "SelfAttention_v1": OF_ANY
    | {
        "width_of_its_weights": [("d_k = keys.shape[-1]", "d_k = self.W_key.size(1)")],
    },
    "SelfAttention_v2": OF_ANY
    | {
        "biases_added_apart": [
            (
                "queries = self.W_query(x)",
                "queries = nn.functional.linear(x, self.W_query.weight)\n        if self.W_query.bias is not None:\n            queries = queries + self.W_query.bias",
            )
        ],
    },
    "copy_v2_into_v1": {
        "data_cloned": each("v1.{0}.data = v2.{0}.weight.data.T.clone()"),
        "new_parameters": each("v1.{0} = nn.Parameter(v2.{0}.weight.T.clone())"),
        "by_state_dict": [
            (
                COPY.format("W_query"),
                "v1.load_state_dict({n: getattr(v2, n).weight.T for n in ('W_query', 'W_key', 'W_value')})",
            ),
            (COPY.format("W_key"), "pass"),
            (COPY.format("W_value"), "pass"),
        ],
    },
}
