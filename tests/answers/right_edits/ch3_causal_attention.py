"""Right in unusual ways: edits of the solution, by exercise."""

MASKED = "masked_scores = attn_scores.masked_fill(future, -torch.inf)"
SOFTMAX = "torch.softmax(masked_scores / d_k**0.5, dim=-1)"
FILL = "attn_scores = attn_scores.masked_fill(future, -torch.inf)"
MODULE_SOFTMAX = "torch.softmax(attn_scores / d_k**0.5, dim=-1)"
MADE = 'self.register_buffer("mask", future.bool())'
CUT = "future = self.mask[:num_tokens, :num_tokens]"
KEEP = "keep = torch.rand_like(attn_weights) >= p"
DROP, MIX = "attn_weights = self.dropout(attn_weights)", "attn_weights @ values"

OF_ANY = {
    "softmax_in_float32": [
        (MODULE_SOFTMAX, "torch.softmax((attn_scores / d_k**0.5).float(), dim=-1).to(x.dtype)")
    ],
    "additive_mask_of_the_least_number": [
        (FILL, "attn_scores = attn_scores + future.to(x.dtype) * torch.finfo(x.dtype).min")
    ],
    "additive_mask_made_in_forward": [
        (
            FILL,
            "least = torch.full((num_tokens, num_tokens), torch.finfo(x.dtype).min, device=x.device)\n        attn_scores = attn_scores + least.triu(1)",
        )
    ],
    "additive_buffer": [
        (
            MADE,
            "self.register_buffer('mask', torch.full((context_length, context_length), torch.finfo(torch.get_default_dtype()).min).triu(1))",
        ),
        (FILL, "attn_scores = attn_scores + future"),
    ],
    "additive_buffer_of_minus_inf": [
        (
            MADE,
            "self.register_buffer('mask', torch.zeros(context_length, context_length).masked_fill(future.bool(), -torch.inf))",
        ),
        (FILL, "attn_scores = attn_scores + future"),
    ],
    "filled_with_minus_1e9": [(FILL, FILL.replace("-torch.inf", "-1e9"))],
    "where": [(FILL, "attn_scores = torch.where(future, -torch.inf, attn_scores)")],
    "not_saved_with_the_state": [
        (MADE, 'self.register_buffer("mask", future.bool(), persistent=False)')
    ],
    "in_place_on_its_own": [(FILL, "attn_scores.masked_fill_(future, -torch.inf)")],
    "keeps_its_weights": [(DROP, f"{DROP}\n        self.attn_weights = attn_weights")],
    "keeps_its_weights_detached": [(DROP, f"self.last = attn_weights.detach()\n        {DROP}")],
    "dropout_only_where_there_is_some": [
        (DROP, f"if self.training and self.dropout.p > 0:\n            {DROP}")
    ],
    "asserts_its_length": [
        (CUT, f"{CUT}\n        assert num_tokens <= self.mask.shape[-1], 'too long'")
    ],
    "made_where_x_is": [
        (CUT, "future = torch.ones(num_tokens, num_tokens, device=x.device).triu(1).bool()")
    ],
    "made_and_carried_over": [
        (CUT, "future = torch.ones(num_tokens, num_tokens).triu(1).bool().to(x.device)")
    ],
    "places_named_on_the_cpu": [
        (CUT, "future = torch.ones(num_tokens, num_tokens).triu(1).bool()"),
        (FILL, "attn_scores[..., future] = -torch.inf"),
    ],
    "one_number_on_the_cpu": [
        (FILL, "attn_scores = torch.where(future, torch.tensor(-torch.inf), attn_scores)")
    ],
    "asks_for_a_number": [(FILL, f"if future.sum().item() > 0:\n            {FILL}")],
    "looks_at_numpy": [(DROP, f"{DROP}\n        attn_weights.detach().numpy()")],
    "copied_in": [
        (FILL, f"filled = torch.zeros_like(attn_scores)\n        filled.copy_({FILL[14:]})"),
        ("d_k = keys", "attn_scores = filled\n        d_k = keys"),
    ],
    "partial": [
        (
            MADE,
            f"{MADE}\n        import functools\n        self.soft = functools.partial(torch.softmax, dim=-1)",
        ),
        (MODULE_SOFTMAX, "self.soft(attn_scores / d_k**0.5)"),
    ],
}
RIGHT = {
    "causal_mask": {
        "compared_positions": [
            (
                "torch.triu(ones, diagonal=1).bool()",
                "torch.arange(context_length)[None] > torch.arange(context_length)[:, None]",
            )
        ],
        "not_tril": [("torch.triu(ones, diagonal=1).bool()", "~ones.tril().to(torch.bool)")],
    },
    "mask_and_renormalize": {
        "normalize": [
            (
                "masked / masked.sum(dim=-1, keepdim=True)",
                "nn.functional.normalize(masked, p=1, dim=-1)",
            )
        ],
        "tril_of_the_weights": [("attn_weights * visible", "attn_weights.tril()")],
    },
    "causal_attention_weights": {
        "softmax_in_float32": [
            (
                SOFTMAX,
                "torch.softmax((masked_scores / d_k**0.5).float(), dim=-1).to(attn_scores.dtype)",
            )
        ],
        "additive_mask_of_the_least_number": [
            (MASKED, "masked_scores = attn_scores + future * torch.finfo(attn_scores.dtype).min")
        ],
        "least_number_made_in_float32": [
            (
                MASKED,
                "least = torch.full(attn_scores.shape, torch.finfo(attn_scores.dtype).min)\n    masked_scores = attn_scores + least.triu(1)",
            )
        ],
        "filled_with_minus_1e9": [(MASKED, MASKED.replace("-torch.inf", "-1e9"))],
        "scaled_first": [
            (MASKED, MASKED.replace("attn_scores.m", "(attn_scores / d_k**0.5).m")),
            (SOFTMAX, "masked_scores.softmax(-1)"),
        ],
    },
    "inverted_dropout": {
        "bernoulli": [(KEEP, "keep = torch.bernoulli(torch.full_like(attn_weights, 1 - p))")],
        "in_place_bernoulli": [(KEEP, "keep = torch.empty_like(attn_weights).bernoulli_(1 - p)")],
        "random_row_by_row": [
            (KEEP, "keep = torch.rand(attn_weights.numel()).reshape(attn_weights.shape).ge(p)")
        ],
        "pythons_own_chance": [
            (
                KEEP,
                "import random\n    keep = torch.tensor([random.random() >= p for _ in range(attn_weights.numel())]).view(attn_weights.shape)",
            )
        ],
    },
    "CausalAttention": OF_ANY,
}
