"""Dropout: missing, in the wrong place, always on, or wrongly scaled."""

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
        "Nothing is dropped in training. Is dropout missing or switched off, or is its result "
        "not used?",
        on(MODULES, (APPLY, "self.dropout(attn_weights)")),
        on("inverted_dropout", (SCALE, "attn_weights")),
    ),
    mistake(
        "dropout_on_scores",
        "Dropout acts on the scores before the softmax, but a score of 0 is not hidden. Apply "
        "dropout to the weights.",
        on(
            MODULES,
            (APPLY, "pass"),
            (SOFTMAX, "torch.softmax(self.dropout(attn_scores / d_k**0.5), dim=-1)"),
        ),
    ),
    mistake(
        "dropout_on_output",
        "Dropout acts after the weights have mixed the values, on the context vectors or the "
        "output. Here it should act on the attention weights.",
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
        "Dropout acts on the values. Here it should act on the attention weights.",
        on(
            MODULES,
            (APPLY, "pass"),
            ("attn_weights @ values", "attn_weights @ self.dropout(values)"),
        ),
    ),
    mistake(
        "dropout_always_on",
        "Dropout stays on in evaluation, where every run should give the same result.",
        on(MODULES, (APPLY, "attn_weights = nn.functional.dropout(attn_weights, self.dropout.p)")),
        on("inverted_dropout", ("if not training:", "if False:")),
    ),
    mistake(
        "dropout_not_rescaled",
        "The remaining entries are not scaled up, so the expected weight shrinks. Inverted dropout "
        "corrects this in training.",
        on(
            MODULES,
            (APPLY, f"attn_weights = attn_weights * ({PLAIN}) if self.training else attn_weights"),
        ),
        on("inverted_dropout", (SCALE, "attn_weights * keep")),
    ),
    mistake(
        "dropout_rescaled_twice",
        "The remaining entries are scaled up twice. Dividing by 1 - p once keeps the mean, and "
        "nn.Dropout already does that.",
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
        "The weights are scaled up in addition to nn.Dropout, and in evaluation too. nn.Dropout "
        "already scales them, in training only.",
        on(MODULES, (APPLY, f"{APPLY} / (1 - self.dropout.p)")),
    ),
    mistake(
        "dropout_rate_fixed",
        "The dropout rate is a fixed number; the one that was passed in is ignored.",
        on(MODULES, ("nn.Dropout(dropout)", "nn.Dropout(0.1)")),
    ),
    mistake(
        "dropout_rate_of_a_half",
        "The dropout rate is always 0.5, whatever rate is passed in. 0.5 is the default of "
        "nn.Dropout.",
        on(MODULES, ("nn.Dropout(dropout)", "nn.Dropout()")),
    ),
    mistake(
        "dropout_keeps_p",
        "p is used as the share that is kept. It is the share that is dropped.",
        on(MODULES, ("nn.Dropout(dropout)", "nn.Dropout(1 - dropout)")),
        on(
            "inverted_dropout",
            (KEEP, "keep = torch.rand_like(attn_weights) < p"),
            (SCALE, "attn_weights * keep / p"),
        ),
    ),
    mistake(
        "dropout_renormalized",
        "After dropout the rows are normalised to a sum of 1, which undoes the scaling of each "
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
        "Every call drops the same entries. Is a seed set inside, or are the entries not random? "
        "Dropout draws new ones each time.",
        on(MODULES, (APPLY, f"torch.manual_seed(0)\n        {APPLY}")),
        on("inverted_dropout", (KEEP, f"torch.manual_seed(0)\n    {KEEP}")),
    ),
    mistake(
        "dropout_pattern_shared",
        "All rows, or all texts of a batch, drop the same entries. Each weight should be dropped "
        "independently.",
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
