"""Dropout: left out, in the wrong place, always on, or wrongly scaled."""

from tensorgrade.author import mistake, on

MODULES = "CausalAttention MultiHeadAttention GroupedQueryAttention"
APPLY = "attn_weights = self.dropout(attn_weights)"
SOFTMAX = "torch.softmax(attn_scores / d_k**0.5, dim=-1)"
KEEP = "keep = torch.rand_like(attn_weights) >= p"
SCALE = "attn_weights * keep / (1 - p)"
PLAIN = "torch.rand_like(attn_weights) >= self.dropout.p"

MISTAKES = [
    mistake(
        "dropout_left_out",
        "In training nothing is dropped: dropout is left out or switched off, or its result is "
        "thrown away.",
        on(MODULES, (APPLY, "self.dropout(attn_weights)")),
        on("inverted_dropout", (SCALE, "attn_weights")),
    ),
    mistake(
        "dropout_on_scores",
        "Dropout acts on the scores before the softmax, where a zero hides nothing. It belongs on "
        "the weights.",
        on(
            MODULES,
            (APPLY, "pass"),
            (SOFTMAX, "torch.softmax(self.dropout(attn_scores / d_k**0.5), dim=-1)"),
        ),
    ),
    mistake(
        "dropout_on_output",
        "Dropout acts after the weights have mixed the values, on the context vectors or the "
        "output. Here it should thin out the attention weights.",
        on(
            "CausalAttention",
            (APPLY, "pass"),
            ("return attn_weights @ values", "return self.dropout(attn_weights @ values)"),
        ),
        on(
            "MultiHeadAttention GroupedQueryAttention",
            (APPLY, "pass"),
            (
                "return self.out_proj(context_vec)",
                "return self.dropout(self.out_proj(context_vec))",
            ),
        ),
    ),
    mistake(
        "dropout_on_values",
        "Dropout acts on the values. Here it should thin out the attention weights.",
        on(
            MODULES,
            (APPLY, "pass"),
            ("attn_weights @ values", "attn_weights @ self.dropout(values)"),
        ),
    ),
    mistake(
        "dropout_always_on",
        "Dropout goes on in evaluation, where every run should give the same result.",
        on(MODULES, (APPLY, "attn_weights = nn.functional.dropout(attn_weights, self.dropout.p)")),
        on("inverted_dropout", ("if not training:", "if False:")),
    ),
    mistake(
        "dropout_not_rescaled",
        "What survives dropout keeps its size, so the expected weight shrinks. Inverted dropout "
        "makes up for it in training.",
        on(
            MODULES,
            (APPLY, f"attn_weights = attn_weights * ({PLAIN}) if self.training else attn_weights"),
        ),
        on("inverted_dropout", (SCALE, "attn_weights * keep")),
    ),
    mistake(
        "dropout_rescaled_twice",
        "What survives dropout is scaled up twice; dividing by 1 - p once keeps the mean "
        "(nn.Dropout does that by itself).",
        on(
            MODULES,
            (
                APPLY,
                "attn_weights = self.dropout(attn_weights) / ((1 - self.dropout.p) if "
                "self.training else 1)",
            ),
        ),
        on("inverted_dropout", (SCALE, "attn_weights * keep / (1 - p) ** 2")),
    ),
    mistake(
        "dropout_rescaled_always",
        "The weights are scaled up once more beside nn.Dropout, and in evaluation too; it does so "
        "by itself, in training.",
        on(MODULES, (APPLY, f"{APPLY} / (1 - self.dropout.p)")),
    ),
    mistake(
        "dropout_rate_fixed",
        "The dropout rate is a fixed number; the one that was passed in is ignored.",
        on(MODULES, ("nn.Dropout(dropout)", "nn.Dropout(0.1)")),
    ),
    mistake(
        "dropout_rate_of_a_half",
        "The dropout rate is always a half, whatever is asked for. nn.Dropout takes a half when "
        "it is told nothing.",
        on(MODULES, ("nn.Dropout(dropout)", "nn.Dropout()")),
    ),
    mistake(
        "dropout_keeps_p",
        "p is taken for the share that is kept. It is the share that is dropped.",
        on(MODULES, ("nn.Dropout(dropout)", "nn.Dropout(1 - dropout)")),
        on(
            "inverted_dropout",
            (KEEP, "keep = torch.rand_like(attn_weights) < p"),
            (SCALE, "attn_weights * keep / p"),
        ),
    ),
    mistake(
        "dropout_renormalized",
        "After dropout the rows are brought back to a sum of 1, which undoes its scaling row by "
        "row.",
        on(
            MODULES,
            (
                APPLY,
                f"{APPLY}\n        attn_weights = attn_weights / attn_weights.sum(-1, "
                "keepdim=True).clamp(min=1e-9)",
            ),
        ),
        on(
            "inverted_dropout",
            (SCALE, "attn_weights * keep / (attn_weights * keep).sum(-1, keepdim=True)"),
        ),
    ),
    mistake(
        "dropout_seed_fixed",
        "Every call drops the same entries: a seed is set inside, or they are not chosen by "
        "chance at "
        "all. Dropout draws anew each time.",
        on(MODULES, (APPLY, f"torch.manual_seed(0)\n        {APPLY}")),
        on("inverted_dropout", (KEEP, f"torch.manual_seed(0)\n    {KEEP}")),
    ),
    mistake(
        "dropout_pattern_shared",
        "One pattern of dropped entries serves all rows, or all sequences of a batch. Each weight "
        "is dropped on its own.",
        on(
            MODULES,
            (
                APPLY,
                "attn_weights = attn_weights * self.dropout(torch.ones_like(attn_weights[:1]))",
            ),
        ),
        on("inverted_dropout", (KEEP, "keep = torch.rand(attn_weights.shape[-1]) >= p")),
    ),
]
