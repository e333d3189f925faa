"""Projections: shared, swapped, biased, misshapen, or no parameters at all."""

from tensorgrade.mistakes import mistake, on

LINEAR = "SelfAttention_v2 CausalAttention MultiHeadAttention"
QKV = ("W_query", "W_key", "W_value")
MADE = "self.{} = nn.Linear(d_in, d_out, bias=qkv_bias)"
MADE_V1 = "self.{} = nn.Parameter(torch.rand(d_in, d_out))"
COPY = "v1.{0}.copy_(v2.{0}.weight.T)"


def each(template: str, new: str) -> tuple[tuple[str, str], ...]:
    """The same replacement for query, key and value."""
    return tuple((template.format(name), new.format(name)) for name in QKV)


MISTAKES = [
    mistake(
        "bias_always",
        "The projections have biases although `qkv_bias` is False.",
        on(LINEAR, *each(MADE, "self.{} = nn.Linear(d_in, d_out)")),
    ),
    mistake(
        "bias_never",
        "The projections have no biases although `qkv_bias` is True.",
        on(LINEAR, *each(MADE, "self.{} = nn.Linear(d_in, d_out, bias=False)")),
    ),
    mistake(
        "value_without_bias",
        "Only some of the three projections have a bias when `qkv_bias` is True.",
        on(LINEAR, (MADE.format("W_value"), "self.W_value = nn.Linear(d_in, d_out, bias=False)")),
    ),
    mistake(
        "one_projection_for_two",
        "Two of the projections are one and the same object, so they can never learn to differ.",
        on(LINEAR, (MADE.format("W_key"), "self.W_key = self.W_query")),
        on("SelfAttention_v1", (MADE_V1.format("W_key"), "self.W_key = self.W_query")),
    ),
    mistake(
        "projection_to_d_in",
        "The projections give d_in features; d_out are asked for.",
        on(LINEAR, *each(MADE, "self.{} = nn.Linear(d_in, d_in, bias=qkv_bias)")),
        on("SelfAttention_v1", *each(MADE_V1, "self.{} = nn.Parameter(torch.rand(d_in, d_in))")),
    ),
    mistake(
        "square_projection_of_d_out",
        "The projections expect d_out features; the inputs have d_in.",
        on(LINEAR, *each(MADE, "self.{} = nn.Linear(d_out, d_out, bias=qkv_bias)")),
    ),
    mistake(
        "randn_for_rand",
        "The weights start from another distribution than the one asked for (uniform on [0, 1)).",
        on("SelfAttention_v1", *each(MADE_V1, "self.{} = nn.Parameter(torch.randn(d_in, d_out))")),
    ),
    mistake(
        "weights_start_at_zero",
        "The weights all start at zero, so every token looks the same and nothing can be told apart.",
        on("SelfAttention_v1", *each(MADE_V1, "self.{} = nn.Parameter(torch.zeros(d_in, d_out))")),
    ),
    mistake(
        "not_parameters",
        "The weights are plain tensors. An optimiser finds only what is an nn.Parameter.",
        on("SelfAttention_v1", *each(MADE_V1, "self.{} = torch.rand(d_in, d_out)")),
    ),
    mistake(
        "weights_of_linear_shape",
        "The weights are made with (d_out, d_in), the way nn.Linear keeps them; here they are "
        "multiplied from the right and need (d_in, d_out).",
        on("SelfAttention_v1", *each(MADE_V1, "self.{} = nn.Parameter(torch.rand(d_out, d_in))")),
    ),
    mistake(
        "created_in_another_order",
        "The three matrices are not created in the order query, key, value, so a seed gives other weights.",
        on(
            "SelfAttention_v1",
            (MADE_V1.format("W_query"), MADE_V1.format("W_key_")),
            (MADE_V1.format("W_key"), MADE_V1.format("W_query")),
            ("self.W_key_ =", "self.W_key ="),
        ),
    ),
    mistake(
        "no_output_projection",
        "The heads are joined but never mixed: the output projection is not applied.",
        on("MultiHeadAttention", ("return self.out_proj(context_vec)", "return context_vec")),
    ),
    mistake(
        "output_projection_twice",
        "The output projection is applied twice.",
        on("MultiHeadAttention", ("return self.out_proj(context_vec)", "return self.out_proj(self.out_proj(context_vec))")),
    ),
    mistake(
        "output_projection_from_d_in",
        "The output projection expects d_in features, but the joined heads have d_out.",
        on("MultiHeadAttention", ("nn.Linear(d_out, d_out)", "nn.Linear(d_in, d_out)")),
    ),
    mistake(
        "output_projection_without_bias",
        "The output projection has no bias; it always has one here.",
        on("MultiHeadAttention", ("nn.Linear(d_out, d_out)", "nn.Linear(d_out, d_out, bias=False)")),
    ),
    mistake(
        "output_bias_tied_to_qkv_bias",
        "The output projection's bias follows `qkv_bias`, which speaks of queries, keys and values only.",
        on("MultiHeadAttention", ("nn.Linear(d_out, d_out)", "nn.Linear(d_out, d_out, bias=qkv_bias)")),
    ),
    mistake(
        "projections_in_another_order",
        "What is returned is not in the order queries, keys, values.",
        on("project_qkv", ("return queries, keys, values", "return keys, queries, values")),
    ),
    mistake(
        "values_first",
        "What is returned is not in the order queries, keys, values.",
        on("project_qkv", ("return queries, keys, values", "return values, keys, queries")),
    ),
    mistake(
        "one_matrix_for_all",
        "One matrix makes all three; each role has a matrix of its own.",
        on("project_qkv", ("x @ W_key", "x @ W_query"), ("x @ W_value", "x @ W_query")),
    ),
    mistake(
        "keys_from_W_query",
        "Queries and keys come from the same matrix.",
        on("project_qkv", ("x @ W_key", "x @ W_query")),
    ),
    mistake(
        "values_from_W_key",
        "Values and keys come from the same matrix.",
        on("project_qkv", ("x @ W_value", "x @ W_key")),
    ),
    mistake(
        "values_not_projected",
        "The values are the inputs themselves; they need their projection too.",
        on("project_qkv", ("x @ W_value", "x")),
        on(LINEAR, ("self.W_value(x)", "x")),
        on("SelfAttention_v1", ("x @ self.W_value", "x")),
    ),
    mistake(
        "matrix_on_the_left",
        "The matrix stands on the left of x. Rows of x are tokens, so x stands on the left.",
        on("project_qkv", ("x @ W_query", "W_query @ x"), ("x @ W_key", "W_key @ x"), ("x @ W_value", "W_value @ x")),
    ),
    mistake(
        "matrix_transposed",
        "The matrices are transposed first; here they have shape (d_in, d_out) and need no transpose.",
        on("project_qkv", ("x @ W_query", "x @ W_query.T"), ("x @ W_key", "x @ W_key.T"), ("x @ W_value", "x @ W_value.T")),
    ),
    mistake(
        "queries_scaled_already",
        "The queries come back scaled; scaling belongs to the scores, later.",
        on("project_qkv", ("x @ W_query", "x @ W_query / W_query.shape[-1] ** 0.5")),
    ),
    mistake(
        "projections_detached",
        "The results are cut off from the graph, so the matrices cannot learn.",
        on("project_qkv", ("return queries, keys, values", "return queries.detach(), keys.detach(), values.detach()")),
    ),
    mistake(
        "projections_stacked",
        "One stacked tensor comes back; a tuple of three tensors is asked for.",
        on("project_qkv", ("return queries, keys, values", "return torch.cat((queries, keys, values), dim=-1)")),
    ),
    mistake(
        "copied_without_transpose",
        "The weights are copied as they are. nn.Linear keeps its matrix the other way round.",
        on("copy_v2_into_v1", *each(COPY, "v1.{0}.data = v2.{0}.weight.data.clone()")),
    ),
    mistake(
        "copied_in_untransposed",
        "The weights are copied as they are. nn.Linear keeps its matrix the other way round.",
        on("copy_v2_into_v1", *each(COPY, "v1.{0}.copy_(v2.{0}.weight)")),
    ),
    mistake(
        "copied_reshaped",
        "The weights are reshaped to fit. A reshape keeps the order of the numbers; a transpose is something else.",
        on("copy_v2_into_v1", *each(COPY, "v1.{0}.copy_(v2.{0}.weight.reshape(v1.{0}.shape))")),
    ),
    mistake(
        "copied_query_into_key",
        "Query and key have changed places on the way.",
        on(
            "copy_v2_into_v1",
            ("v1.W_query.copy_(v2.W_query", "v1.W_query.copy_(v2.W_key"),
            ("v1.W_key.copy_(v2.W_key", "v1.W_key.copy_(v2.W_query"),
        ),
    ),
    mistake(
        "copied_key_into_value",
        "Key and value have changed places on the way.",
        on(
            "copy_v2_into_v1",
            ("v1.W_key.copy_(v2.W_key", "v1.W_key.copy_(v2.W_value"),
            ("v1.W_value.copy_(v2.W_value", "v1.W_value.copy_(v2.W_key"),
        ),
    ),
    mistake(
        "value_not_copied",
        "The values' weights are not copied.",
        on("copy_v2_into_v1", (COPY.format("W_value"), "pass")),
    ),
    mistake(
        "only_query_copied",
        "Only the queries' weights are copied.",
        on("copy_v2_into_v1", (COPY.format("W_key"), "pass"), (COPY.format("W_value"), "pass")),
    ),
    mistake(
        "copied_nowhere",
        "Nothing arrives in `v1`: a new name is bound, and the module keeps its old weights.",
        on("copy_v2_into_v1", *each(COPY, "{0} = v2.{0}.weight.T")),
    ),
    mistake(
        "copied_the_other_way",
        "The copy runs from `v1` to `v2`.",
        on("copy_v2_into_v1", *each(COPY, "v2.{0}.weight.copy_(v1.{0}.T)")),
    ),
    mistake(
        "linear_put_in",
        "The layer itself is put in place of the matrix; `v1` holds matrices.",
        on("copy_v2_into_v1", *each(COPY, "v1.{0} = v2.{0}")),
    ),
    mistake(
        "query_copied_thrice",
        "The queries' weights end up in all three places.",
        on(
            "copy_v2_into_v1",
            ("v1.W_key.copy_(v2.W_key", "v1.W_key.copy_(v2.W_query"),
            ("v1.W_value.copy_(v2.W_value", "v1.W_value.copy_(v2.W_query"),
        ),
    ),
    mistake(
        "added_to_the_old",
        "The weights are added to the old ones instead of taking their place, or halved on the way.",
        on("copy_v2_into_v1", *each(COPY, "v1.{0}.copy_(v2.{0}.weight.T / 2)")),
    ),
    mistake(
        "copy_returned",
        "Something is returned; the copy should only happen, and None come back.",
        on("copy_v2_into_v1", (COPY.format("W_value"), COPY.format("W_value") + "\n    return v1")),
    ),
]
