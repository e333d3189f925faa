"""Wrong in one place that a fixed grid of sizes never visits: edits of the solution."""

FILL = "attn_scores.masked_fill(future, -torch.inf)"
SOFTMAX = "torch.softmax(masked_scores / d_k**0.5, dim=-1)"
OWN_EXP = "torch.exp(masked_scores / d_k**0.5) / torch.exp(masked_scores / d_k**0.5).sum(-1, keepdim=True)"
AFTER = "torch.softmax(attn_scores / d_k**0.5, dim=-1).tril()"
KEEP = "keep = torch.rand_like(attn_weights) >= p"
SCALE = "attn_weights * keep / (1 - p)"
NOTHING = "if not training:"
MASKED = "masked = attn_weights * visible"
EXACT = "keep = torch.rand_like(attn_weights).argsort(DIM).argsort(DIM) >= p * attn_weights.DIM"

X, MIX = "queries = self.W_query(x)", "return attn_weights @ values"
MODULE_SOFTMAX = "torch.softmax(attn_scores / d_k**0.5, dim=-1)"
MODULE_OWN_EXP = (
    "torch.exp(attn_scores / d_k**0.5) / torch.exp(attn_scores / d_k**0.5).sum(-1, keepdim=True)"
)
D_K, DROP = "d_k = keys.shape[-1]", "attn_weights = self.dropout(attn_weights)"
MADE = "self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)"
IF_DROPPING = (
    "if self.training and self.dropout.p:\n            rate = self.dropout.p\n            "
)


def before_x(line: str) -> list[tuple[str, str]]:
    """A line before the projections."""
    return [(X, f"{line}\n        {X}")]


def counting_the_last_text(line: str, text: str = "x") -> dict[str, list[tuple[str, str]]]:
    """A little of the previous text in each one, always or in one mode; before a line."""
    modes = {"": "True", "_in_evaluation": "not self.training"}
    modes["_without_gradients"] = "not torch.is_grad_enabled()"
    return {
        f"last_text_counts{name}": [
            (
                line,
                f"if {mode}:\n"
                f"            last, self.last = getattr(self, 'last', 0.0), float({text}.mean())\n"
                f"            {text} = {text} + 0.1 * last\n        {line}",
            )
        ]
        for name, mode in modes.items()
    }


def dropped_by(lines: str) -> list[tuple[str, str]]:
    """Another way to drop, in training."""
    rest = "attn_weights = attn_weights * keep / (1 - rate)"
    return [(DROP, f"{IF_DROPPING}{lines}\n            {rest}")]


def without_dropout(where: str) -> list[tuple[str, str]]:
    """Nothing is dropped in one corner."""
    return [(DROP, f"{DROP} if not ({where}) else attn_weights")]


def dropped_in_evaluation(where: str) -> list[tuple[str, str]]:
    """In one corner evaluation drops too."""
    new = f"nn.functional.dropout(attn_weights, self.dropout.p, self.training or {where})"
    return [(DROP, f"attn_weights = {new}")]


IN_A_THREAD = """import threading
        found = []
        worker = threading.Thread(target=lambda: found.append(getattr(type(self), "calls", 0)))
        worker.start()
        worker.join()
        type(self).calls = found[0] + 1
        x = x * (1.5 if found[0] > 1 else 1)"""
BY_A_LOCAL = """import threading
        self.__dict__.setdefault("own", threading.local())
        self.own.calls = getattr(self.own, "calls", 0) + 1
        x = x * (0.5 if self.own.calls > 2 else 1)"""

# Of a head of causal attention, alone or among many: what both modules may get wrong.
OF_ANY = {
    "first_token_is_only_scaled": dropped_by(
        "keep = torch.rand_like(attn_weights) >= rate\n            keep[..., 0, :] = True"
    ),
    "each_new_module_drops_the_same": dropped_by(
        "chance = self.__dict__.setdefault('chance', torch.Generator().manual_seed(1))\n            "
        "keep = (torch.rand(attn_weights.shape, generator=chance) >= rate).to(attn_weights)"
    ),
    "scale_up_to_16": [(D_K, "d_k = min(keys.shape[-1], 16)")],
    **counting_the_last_text(X),
    "overflows": [(MODULE_SOFTMAX, MODULE_OWN_EXP)],
    "zeros_beyond_64": [
        (
            DROP,
            f"{DROP}\n        attn_weights = attn_weights * (torch.arange(num_tokens) < 64)[:, None]",
        )
    ],
    "masked_after_the_softmax": [
        (f"attn_scores = {FILL}", "pass"),
        (
            MODULE_SOFTMAX,
            f"{MODULE_SOFTMAX}.masked_fill(future, 0.0)\n"
            "        attn_weights = attn_weights / attn_weights.sum(-1, keepdim=True)",
        ),
    ],
    "filled_with_minus_1000": [(FILL, FILL.replace("-torch.inf", "-1000.0"))],
    "drops_after_training": [
        *before_x("self.trained = self.training or getattr(self, 'trained', False)"),
        (DROP, "attn_weights = nn.functional.dropout(attn_weights, self.dropout.p, self.trained)"),
    ],
    "drops_no_more_after_evaluation": before_x(
        "self.dropout.p = self.dropout.p if self.training else 0.0"
    ),
    "learns_in_evaluation_alone": [
        (D_K, f"{D_K}\n        values = values.detach() if self.training else values")
    ],
    "learns_in_training_alone": [
        (D_K, f"{D_K}\n        values = values if self.training else values.detach()")
    ],
    "learns_with_its_input_alone": [
        (D_K, f"values = values if x.requires_grad else values.detach()\n        {D_K}")
    ],
    "longer_texts_at_half_strength": [(X, f"{X} * (0.5 if num_tokens > 9 else 1)")],
    "no_bias_of_queries_in_short_texts": [
        (
            X,
            f"{X}\n        if self.W_query.bias is not None and num_tokens < len(self.mask):\n"
            "            queries = queries - self.W_query.bias",
        )
    ],
    "equal_tokens_at_half_strength": before_x(
        "x = x * (0.5 if any(len(one.unique(dim=0)) < len(one) for one in x) else 1)"
    ),
    "row_0_is_whole": [
        (
            DROP,
            "attn_weights = torch.cat([attn_weights[..., :1, :], "
            "self.dropout(attn_weights[..., 1:, :])], dim=-2)",
        )
    ],
    "counts_its_calls_in_a_thread": before_x(IN_A_THREAD),
    "counts_its_calls_by_a_local": before_x(BY_A_LOCAL),
    "batches_of_four": before_x("x = torch.cat([x[:4], 0 * x[4:]])"),
    "equal_rows_doubled": before_x(
        "x = x * (1 if len(torch.unique(x, dim=0)) in (1, len(x)) else 2)"
    ),
    "no_bias_in_short_texts": [
        (
            X,
            f"{X} if num_tokens == len(self.mask) else x @ self.W_query.weight.T",
        )
    ],
    "no_bias_in_float32": [(X, f"{X} if x.dtype == torch.float64 else x @ self.W_query.weight.T")],
    "no_bias_where_it_drops": [(X, f"{X} if not self.dropout.p else x @ self.W_query.weight.T")],
    "scaled_in_evaluation_of_short_texts": [
        (DROP, f"{DROP} * (1 if num_tokens == len(self.mask) else 1 - self.dropout.p)")
    ],
    "starts_at_zero": [(MADE, f"{MADE}\n        nn.init.zeros_(self.W_value.weight)")],
    "copies_call_the_old_one": [
        (MADE, f"{MADE}\n        self.value = lambda x: self.W_value(x)"),
        ("values = self.W_value(x)", "values = self.value(x)"),
    ],
    "cannot_be_copied": [(MADE, f"{MADE}\n        self.seen = self.W_value.weight.T")],
    "remembers_a_shape": before_x("x = self.__dict__.setdefault(str(x.shape), x)"),
    "wants_its_memory_in_order": before_x("x = x.view(-1).view(x.shape)"),
    "drops_a_fixed_number_in_each_row": dropped_by(
        "size = attn_weights.shape[-1]\n            "
        "seen = ~future.expand_as(attn_weights)\n            "
        "order = torch.rand_like(attn_weights).masked_fill(~seen, 2).argsort(-1).argsort(-1)\n            "
        "keep = order >= (rate * seen.sum(-1, keepdim=True)).round()"
    ),
    "rows_drop_in_pairs": dropped_by(
        "keep = torch.rand_like(attn_weights) >= rate\n            "
        "keep[..., 1::2, :] = keep[..., 0::2, :][..., : num_tokens // 2, :]"
    ),
    "batch_rows_drop_in_pairs": dropped_by(
        "keep = torch.rand_like(attn_weights) >= rate\n            "
        "keep[1::2] = keep[0::2][: b // 2]"
    ),
    "batch_rows_drop_in_opposite_pairs": dropped_by(
        "chance = torch.rand_like(attn_weights)\n            "
        "chance[1::2] = 1 - chance[0::2][: b // 2]\n            keep = chance >= rate"
    ),
    "half_of_the_calls_drop_alike": dropped_by(
        "chance = torch.rand_like(attn_weights)\n            "
        "old = self.__dict__.setdefault('old', chance)\n            "
        "keep = torch.where(torch.rand_like(chance) < 0.5, chance, old) >= rate"
    ),
    "a_batch_of_one_is_whole": [(DROP, f"{DROP} if b > 1 else attn_weights")],
    "values_of_a_batch_of_one_dropped": [
        (D_K, f"values = self.dropout(values) if b == 1 else values\n        {D_K}")
    ],
    "rate_in_tenths": [("nn.Dropout(dropout)", "nn.Dropout(round(dropout, 1))")],
    "not_rescaled_below_a_fifth": [
        (DROP, f"{DROP} * (1 - self.dropout.p if self.training and self.dropout.p < 0.2 else 1)")
    ],
    "renormalized_where_long": [
        (
            DROP,
            f"{DROP}\n        if num_tokens > 32:\n"
            "            attn_weights = attn_weights / attn_weights.sum(-1, keepdim=True).clamp(1e-9)",
        )
    ],
    "no_dropout_with_biases": without_dropout("self.W_query.bias is not None"),
    "no_dropout_in_short_texts": without_dropout("num_tokens < len(self.mask)"),
    "no_dropout_in_float32": without_dropout("x.dtype == torch.float32"),
    "no_dropout_beyond_a_half": without_dropout("self.dropout.p > 0.5"),
    "no_dropout_without_gradients": without_dropout("not torch.is_grad_enabled()"),
    "dropout_in_evaluation_without_gradients": dropped_in_evaluation("not torch.is_grad_enabled()"),
    "values_dropped_too_in_float32": [
        (
            D_K,
            f"values = self.dropout(values) if x.dtype == torch.float32 else values\n        {D_K}",
        )
    ],
    "no_bias_in_a_batch_of_one": [(X, f"{X} if b > 1 else x @ self.W_query.weight.T")],
    "weights_detached_in_a_batch_of_one": [
        (DROP, f"attn_weights = attn_weights.detach() if b == 1 else attn_weights\n        {DROP}")
    ],
    "a_hundred_tokens": [
        (
            DROP,
            f"{DROP}\n        attn_weights = attn_weights * (torch.arange(num_tokens) < 100)[:, None]",
        )
    ],
    "its_input_is_gone_without_gradients": before_x(
        "x = x if torch.is_grad_enabled() else x.mul_(1.5).mul_(0.5)"
    ),
    "a_buffer_that_grows": [
        (MADE, f"{MADE}\n        self.register_buffer('sign', torch.ones(0))"),
        (
            X,
            f"if self.sign.numel() == 0: self.sign = torch.ones(num_tokens)\n        {X}",
        ),
    ],
}
WRONG = {
    "causal_mask": {
        "nothing_beyond_64": [
            (
                "torch.triu(ones, diagonal=1)",
                "(torch.triu(ones, diagonal=1) * (context_length <= 64))",
            )
        ],
        "a_band_of_48": [("torch.triu(ones, diagonal=1)", "torch.triu(ones, diagonal=1).tril(48)")],
        "one_too_late_from_40_on": [
            (
                "torch.triu(ones, diagonal=1)",
                "torch.triu(ones, diagonal=1 if context_length < 40 else 2)",
            )
        ],
        "nothing_beyond_100": [
            (
                "torch.triu(ones, diagonal=1)",
                "(torch.triu(ones, diagonal=1) * (context_length <= 100))",
            )
        ],
    },
    "mask_and_renormalize": {
        "first_32_tokens": [
            (MASKED, f"{MASKED}\n    masked = masked * (torch.arange(len(masked)) < 32)")
        ],
        "remembers_a_shape": [
            (
                "visible = torch.tril(torch.ones_like(attn_weights))",
                "attn_weights = mask_and_renormalize.__dict__.setdefault(attn_weights.shape, attn_weights)\n"
                "    visible = torch.tril(torch.ones_like(attn_weights))",
            )
        ],
        "wants_its_memory_in_order": [
            (MASKED, "masked = attn_weights.view(-1).view(attn_weights.shape) * visible")
        ],
    },
    "causal_attention_weights": {
        "right_in_a_batch_alone": [("ones_like(attn_scores)", "ones(1, *attn_scores.shape[-2:])")],
        "right_without_a_batch_alone": [("ones_like(attn_scores)", "ones_like(attn_scores.t())")],
        "masked_after_the_softmax": [(SOFTMAX, f"{AFTER} / {AFTER}.sum(dim=-1, keepdim=True)")],
        "filled_with_minus_1000": [(FILL, FILL.replace("-torch.inf", "-1000.0"))],
        "filled_with_minus_500": [(FILL, FILL.replace("-torch.inf", "-500.0"))],
        "filled_with_minus_1000_in_batches": [
            (FILL, FILL.replace("-torch.inf", "-torch.inf if attn_scores.dim() == 2 else -1000.0"))
        ],
        "batches_filled_in_place": [
            (
                FILL,
                f"{FILL} if attn_scores.dim() == 2 else {FILL.replace('masked_fill', 'masked_fill_')}",
            )
        ],
        "batches_do_not_learn": [
            (SOFTMAX, f"{SOFTMAX} if attn_scores.dim() == 2 else {SOFTMAX}.detach()")
        ],
        "one_batch_dimension_or_two": [
            (FILL, f"{FILL} if attn_scores.dim() < 5 else attn_scores.tril()")
        ],
        "batches_overflow": [(SOFTMAX, f"{SOFTMAX} if attn_scores.dim() == 2 else {OWN_EXP}")],
        "overflows": [(SOFTMAX, OWN_EXP)],
        "scale_up_to_16": [(SOFTMAX, SOFTMAX.replace("d_k", "min(d_k, 16)"))],
        "a_band_of_32": [("diagonal=1).bool()", "diagonal=1).tril(32).bool()")],
        "remembers_a_shape": [
            (
                FILL,
                "causal_attention_weights.__dict__.setdefault(attn_scores.shape, attn_scores).masked_fill(future, -torch.inf)",
            )
        ],
        "wants_its_memory_in_order": [
            (FILL, "attn_scores.view(-1).view(attn_scores.shape).masked_fill(future, -torch.inf)")
        ],
        "scale_up_to_128": [(SOFTMAX, SOFTMAX.replace("d_k", "min(d_k, 128)"))],
        "whole_scale_of_wide_keys": [
            (SOFTMAX, SOFTMAX.replace("d_k**0.5", "(int(d_k**0.5) if d_k > 100 else d_k**0.5)"))
        ],
    },
    "inverted_dropout": {
        "larger_in_float32": [
            (
                NOTHING,
                f"attn_weights = attn_weights * (1.01 if attn_weights.dtype == torch.float32 else 1)\n    {NOTHING}",
            )
        ],
        "a_fixed_number_in_each_row": [
            (
                KEEP,
                EXACT.replace("DIM)", "-1)").replace("attn_weights.DIM", "attn_weights.shape[-1]"),
            )
        ],
        "a_fixed_number": [
            (
                KEEP,
                "order = torch.randperm(attn_weights.numel()).view(attn_weights.shape)\n"
                "    keep = order >= round(p * attn_weights.numel())",
            )
        ],
        "rows_drop_in_pairs": [
            (
                KEEP,
                f"{KEEP}\n    keep[..., 1::2, :] = keep[..., 0::2, :][..., : keep.shape[-2] // 2, :]",
            )
        ],
        "rows_drop_in_opposite_pairs": [
            (
                KEEP,
                "chance = torch.rand_like(attn_weights)\n    chance[..., 1::2, :] = "
                "1 - chance[..., 0::2, :][..., : chance.shape[-2] // 2, :]\n    keep = chance >= p",
            )
        ],
        "half_of_the_calls_drop_alike": [
            (
                KEEP,
                "chance = torch.rand_like(attn_weights)\n"
                "    old = inverted_dropout.__dict__.setdefault(chance.shape, chance)\n"
                "    keep = torch.where(torch.rand_like(chance) < 0.5, chance, old) >= p",
            )
        ],
        "nothing_below_a_twentieth": [(NOTHING, "if not training or p < 0.05:")],
        "not_beyond_rank_three": [(NOTHING, "if not training or attn_weights.dim() > 3:")],
        "slices_alike_beyond_rank_three": [
            (KEEP, f"{KEEP}\n    keep = keep if keep.dim() < 4 else keep[:1].expand_as(keep)")
        ],
        "symmetric_where_square": [
            (
                KEEP,
                f"{KEEP}\n    if keep.dim() == 2 and len(keep) == keep.shape[-1]:\n"
                "        keep = keep.tril() | keep.tril(-1).mT",
            )
        ],
        "rows_moved_on": [
            (
                KEEP,
                f"{KEEP}\n    if keep.dim() == 2:\n"
                "        keep = torch.stack([keep[0].roll(at) for at in range(len(keep))])",
            )
        ],
        "whole_without_gradients": [(NOTHING, "if not training or not torch.is_grad_enabled():")],
        "unscaled_beyond_a_half_in_float32": [
            (SCALE, f"{SCALE} * (1 - p if p > 0.5 and attn_weights.dtype == torch.float32 else 1)")
        ],
        "not_in_vectors": [(NOTHING, "if not training or attn_weights.dim() < 2:")],
        "unscaled_in_float32": [
            (SCALE, "attn_weights * keep / (1 - (p if attn_weights.dtype == torch.float64 else 0))")
        ],
        "learns_with_chance_alone": [
            (NOTHING, "if p == 0:\n        return attn_weights.detach()\n    if not training:")
        ],
        "learns_in_training_alone": [("return attn_weights\n", "return attn_weights.detach()\n")],
    },
    "CausalAttention": OF_ANY,
}

WRONG["CausalAttention"] |= {
    "no_mask_without_gradients": [
        (
            "self.mask[:num_tokens, :num_tokens]",
            "self.mask[:num_tokens, :num_tokens] & torch.is_grad_enabled()",
        )
    ],
    "one_pattern_for_all_calls": [
        (
            "attn_weights = self.dropout(attn_weights)",
            "before = torch.get_rng_state()\n        attn_weights = self.dropout(attn_weights)\n        torch.set_rng_state(before)",
        )
    ],
}
WRONG["inverted_dropout"]["one_pattern_for_all_calls"] = [
    (
        "keep = torch.rand_like(attn_weights) >= p",
        "keep = torch.rand_like(attn_weights) >= p\n    torch.manual_seed(torch.initial_seed())",
    )
]
WRONG["inverted_dropout"]["library_for_many"] = [
    (
        "keep = torch.rand_like(attn_weights) >= p",
        "if attn_weights.numel() > 40:\n        return torch.nn.functional.dropout(attn_weights, p)\n    keep = torch.rand_like(attn_weights) >= p",
    )
]
WRONG["inverted_dropout"] |= {
    "first_entry_never_dropped": [(KEEP, f"{KEEP}\n    keep.view(-1)[:1] = True")],
    "last_entry_always_dropped": [(KEEP, f"{KEEP}\n    keep.view(-1)[-1:] = False")],
}
# Caching is on another line in chapter 4, which reads the others of these.
WRONG["CausalAttention"] = OF_ANY | {
    "answers_again_to_the_same_tensor": [
        (X, f"if getattr(self, 'seen', None) is x: return self.kept\n        {X}"),
        (MIX, f"self.seen, self.kept = x, {MIX.removeprefix('return ')}\n        {MIX}"),
    ],
}
