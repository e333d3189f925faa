"""Projections: shared, swapped, biased, of the wrong shape, or no parameters at all."""

from tensorgrade.author import mistake, on

LINEAR = "SelfAttention_v2 CausalAttention MultiHeadAttention CachedAttention"
QKV = ("W_query", "W_key", "W_value")
MADE = "self.{} = nn.Linear(d_in, d_out, bias=qkv_bias)"
MADE_V1 = "self.{} = nn.Parameter(torch.rand(d_in, d_out))"


def each(template: str, new: str) -> tuple[tuple[str, str], ...]:
    """Return the same edit for query, key and value."""
    return tuple((template.format(name), new.format(name)) for name in QKV)


# Exercises in which queries, keys and values have different widths.
WIDTHS = {
    "CrossAttention": ("d_in, d_out", "d_context, d_out", "d_context, d_out"),
    "GroupedQueryAttention": ("d_in, d_out", "d_in, kv_width", "d_in, kv_width"),
}


def biased(exercise: str, bias: bool) -> tuple[tuple[str, str], ...]:
    """Return edits that always, or never, give query, key and value a bias."""
    made = [
        f"self.{name} = nn.Linear({w}, bias=" for name, w in zip(QKV, WIDTHS[exercise], strict=True)
    ]
    return tuple((f"{start}qkv_bias)", f"{start}{bias})") for start in made)


MISTAKES = [
    mistake(
        "matrices_of_keys_and_values_exchanged",
        "Keys and values are swapped, either in their projections or in the scores and the "
        "result. What is compared comes from W_key, what is mixed from W_value.",
        on(
            "SelfAttention_v1",
            ("keys = x @ self.W_key", "keys = x @ self.W_value"),
            ("values = x @ self.W_value", "values = x @ self.W_key"),
        ),
        on(
            "SelfAttention_v2 CausalAttention",
            ("keys = self.W_key(x)", "keys = self.W_value(x)"),
            ("values = self.W_value(x)", "values = self.W_key(x)"),
        ),
    ),
    mistake(
        "bias_always",
        "The projections have biases although `qkv_bias` is False.",
        on(LINEAR, *each(MADE, "self.{} = nn.Linear(d_in, d_out)")),
        *(on(exercise, *biased(exercise, True)) for exercise in WIDTHS),
    ),
    mistake(
        "bias_never",
        "The projections have no biases although `qkv_bias` is True.",
        on(LINEAR, *each(MADE, "self.{} = nn.Linear(d_in, d_out, bias=False)")),
        *(on(exercise, *biased(exercise, False)) for exercise in WIDTHS),
    ),
    mistake(
        "biases_unused",
        "The biases are never used: only the `weight` of each layer is multiplied. Call the layers "
        "themselves.",
        on(LINEAR, *each("self.{}(x)", "(x @ self.{}.weight.T)")),
    ),
    mistake(
        "value_without_bias",
        "Only some of the three projections have a bias when `qkv_bias` is True.",
        on(LINEAR, (MADE.format("W_value"), "self.W_value = nn.Linear(d_in, d_out, bias=False)")),
    ),
    mistake(
        "one_projection_for_two",
        "Two of the projections are the same object, so they can never learn to differ.",
        on(LINEAR, (MADE.format("W_key"), "self.W_key = self.W_query")),
        on("SelfAttention_v1", (MADE_V1.format("W_key"), "self.W_key = self.W_query")),
    ),
    mistake(
        "projection_to_d_in",
        "The projections return d_in features instead of d_out.",
        on(LINEAR, *each(MADE, "self.{} = nn.Linear(d_in, d_in, bias=qkv_bias)")),
        on("SelfAttention_v1", *each(MADE_V1, "self.{} = nn.Parameter(torch.rand(d_in, d_in))")),
    ),
    mistake(
        "square_projection_of_d_out",
        "The projections expect d_out features, but the inputs have d_in.",
        on(LINEAR, *each(MADE, "self.{} = nn.Linear(d_out, d_out, bias=qkv_bias)")),
    ),
    mistake(
        "values_not_projected",
        "The values are the unchanged inputs; they need a projection too.",
        on("project_qkv", ("x @ W_value", "x")),
        on(LINEAR, ("self.W_value(x)", "x")),
        on("SelfAttention_v1", ("x @ self.W_value", "x")),
    ),
    mistake(
        "output_without_bias",
        "The output projection has no bias; it should always have one.",
        on(
            "CrossAttention GroupedQueryAttention CachedAttention LatentAttention",
            ("nn.Linear(d_out, d_out)", "nn.Linear(d_out, d_out, bias=False)"),
        ),
    ),
]
