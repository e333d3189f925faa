"""Messages on wrong answers in chapter 2: see `Told` in reader.py."""

T = "keys.transpose(-2, -1)"
ROOT = "d_k**0.5"
QUERIES, KEYS = "queries = x @ W_query", "keys = x @ W_key"
MIX = "return attn_weights @ values"
COPY = "v1.W_{0}.copy_(v2.W_{0}.weight.T)"
MADE = "self.W_{0} = nn.Parameter(torch.rand(d_in, d_out))"
LINEAR = "self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)"
NAMES = ("query", "key", "value")
TURNED = [
    (MADE.format(name), MADE.format(name).replace("d_in, d_out", "d_out, d_in")) for name in NAMES
]

# A row a case, with its edits and what is expected.
# fmt: off
TOLD = {
    "project_qkv": {
        "stacked": ([
            ("return queries, keys, values", "return torch.stack((queries, keys, values))"),
        ], {"says": "tuple"}),
        "keys_detached": ([(KEYS, "keys = x.detach() @ W_key.detach()")], {"says": "W_key"}),
        "attribute_of_a_matrix": ([(QUERIES, "queries = x @ W_query.weight")],
            {"says": "'weight'", "names": []}),
        "tokens_upside_down": ([(QUERIES, f"x = x.flip(0)\n    {QUERIES}")],
            {"says": "in the wrong places", "public": True}),
    },
    "attention_weights": {
        "whole_shape": ([(ROOT, "keys.shape ** 0.5")], {"says": "`x.shape[-1]`"}),
        "caret": ([(ROOT, "d_k ^ 0.5")], {"says": "write `**`"}),
        "two_factors": ([(f"/ {ROOT}", "/ d_k**1/2")],
            {"says": "attention scores", "line": "/ d_k**1/2", "public": True}),
    },
    "scaled_dot_product_attention": {
        "wrong_values_mixed": ([(MIX, f"{MIX[:-6]}(values + keys[..., :1])")],
            {"says": "Up to line", "line": "values + keys", "public": True}),
        "weights_returned": ([(MIX, "return attn_weights")],
            {"says": "attention weights", "line": "return attn_weights", "public": True}),
        "nothing_returned": ([(MIX, MIX[7:])],
            {"says": "is None", "line": "attn_weights @ values", "public": True}),
        "result_not_used": ([
            (f"attn_weights = torch.softmax(attn_scores / {ROOT}",
             f"attn_scores / {ROOT}\n    attn_weights = torch.softmax(attn_scores"),
        ], {"says": "effect", "line": f"    attn_scores / {ROOT}", "public": True}),
        "product_turned": ([(MIX, "return values.mT @ attn_weights.mT")],
            {"says": "0 and 1", "line": "values.mT @ attn_weights.mT"}),
        "error_in_what_it_calls": (
            "def weights_of(queries, keys):\n"
            "    return (queries[:, :1] @ keys.T).softmax(-1)\n\n"
            "def scaled_dot_product_attention(queries, keys, values):\n"
            "    return weights_of(queries, keys) @ values\n",
            {"says": "in `weights_of`"}),
        "calls_what_is_not_written": (
            "def attention_weights(queries, keys):\n    d_k = keys.shape[-1]\n"
            "    raise NotImplementedError\n\n"
            "def scaled_dot_product_attention(queries, keys, values):\n"
            "    return attention_weights(queries, keys) @ values\n",
            {"says": "`attention_weights` & not written", "points": (0, 1)}),
        "fourth_root": ([(ROOT, "d_k**0.25")], {"names": [], "line": "d_k**0.25", "unsays": "0.5"}),
        "table_of_sizes": ([(ROOT, "{2: 2**0.5, 3: 3**0.5, 4: 4**0.4}.get(d_k, 1.0)")],
            {"line": "4**0.4", "unsays": "One small change"}),
        "error_in_one_case": ([
            (ROOT, "(d_k + 7)"),
            ("attn_scores = queries",
             "if queries.requires_grad:\n        queries = queries.nothing\n    attn_scores = queries"),
        ], {"line": "queries.nothing", "says": "nothing"}),
    },
    "SelfAttention_v1": {
        "no_module": ([("(nn.Module)", "")], {"says": "`class SelfAttention_v1(nn.Module):`"}),
        "self_missing": (["W_query = torch.rand(3, 2)", ("x @ self.W_query", "x @ W_query")],
            {"says": "`self.`", "line": "x @ W_query", "public": True}),
        "self_missing_in_init": ([
            (MADE.format("query"), MADE.format("query").removeprefix("self.")),
        ], {"says": "nothing before that line sets `self.W_query`", "unsays": "outside"}),
        "plain_tensor": ([
            (MADE.format("key"), "self.W_key = torch.rand(d_in, d_out, requires_grad=True)"),
        ], {"says": "plain tensor"}),
        "data": ([("x @ self.W_key", "x @ self.W_key.data")],
            {"says": "`W_key` is missing", "unsays": "plain tensor"}),
        "input": ([("d_k = keys", "input()\n        d_k = keys")], {"says": "`input()`"}),
        "parameter_called": ([("x @ self.W_query", "self.W_query(x)")],
            {"says": "not a function", "line": "self.W_query(x)"}),
        "matrices_turned": ([
            *TURNED,
            *((f"x @ self.W_{name}", f"x @ self.W_{name}.T") for name in NAMES),
        ], {"says": "(2, 1)", "line": "self.W_query = nn.Parameter", "public": True}),
        "constant_outside_and_wrong": (["ROOT = 0.5", (f"{ROOT}, dim=-1", "d_k**ROOT, dim=0")],
            {"names": ["softmax_over_columns"], "unsays": "outside"}),
    },
    "SelfAttention_v2": {
        "misspelt": ([("self.W_value(x)", "self.W_values(x)")],
            {"says": "`W_value`?", "line": "self.W_values(x)"}),
        "no_effect": ([(MIX, "attn_weights @ values")],
            {"says": "has no effect", "line": "        attn_weights @ values"}),
        "parameter_renamed_and_wrong_scale": ([
            (LINEAR, LINEAR.replace("W_query", "W_q")),
            ("self.W_query(x)", "self.W_q(x)"),
            ("d_k = keys.shape[-1]", "d_k = keys.shape[-2]"),
        ], {"says": "number of tokens"}),
    },
    "copy_v2_into_v1": {
        "copied_in_other_ways": ([
            (COPY.format("query"), "v1.W_query.data = v2.W_query.weight.T.clone()"),
        ], {"points": (1, 1), "names": []}),
        "assigned": ([(COPY.format("query"), "v1.W_query = v2.W_query.weight.T")],
            {"says": "cannot assign", "names": []}),
        "learns_no_more": ([
            ("with torch.no_grad():", "v1.requires_grad_(False)\n    with torch.no_grad():"),
        ], {"says": "does not learn", "points": (0.9, 0.9)}),
        "with_gradients": ([("with torch.no_grad():", "if True:")],
            {"says": "torch.no_grad()", "line": "v1.W_query.copy_"}),
        "shared_memory": ([(COPY.format("query"), "v1.W_query.data = v2.W_query.weight.T")],
            {"says": "other weights", "unsays": "`later`", "public": True}),
        "keys_for_queries": ([(COPY.format("query"), "v1.W_query.copy_(v2.W_key.weight.T)")],
            {"says": "`W_query` of `v1`", "unsays": "other weights"}),
        "values_negated": ([(COPY.format("value"), "v1.W_value.copy_(-v2.W_value.weight.T)")],
            {"says": "`W_value`", "unsays": "should be", "names": []}),
    },
}
