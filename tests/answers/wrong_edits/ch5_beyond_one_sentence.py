"""Wrong in one place that a fixed grid of sizes never visits: edits of the solution."""

import runpy
from pathlib import Path

CH3 = runpy.run_path(str(Path(__file__).parent / "ch3_causal_attention.py"))

CROSS_FILL = "masked_fill(hidden, -torch.inf)"
EXPAND = "hidden = mask.expand(b, n, m).unsqueeze(1)"
PLACES = "positions[:, None]"
ALL_KEYS = "all_keys = torch.cat("
PART_OF_MASK = "future = self.mask[num_tokens - n : num_tokens, :num_tokens]"
DROP = "attn_weights = self.dropout(attn_weights)"

WRONG = {
    "padding_mask": {
        "two_tokens_at_least": [("lengths[:, None, None]", "lengths.clamp(min=2)[:, None, None]")],
        "batches_of_four": [
            (
                "return positions >= lengths[:, None, None]",
                "return (positions >= lengths[:, None, None]) & (torch.arange(len(lengths)) < 4)[:, None, None]",
            )
        ],
        "sixty_four_places": [
            (
                "positions = torch.arange(num_tokens, device=lengths.device)",
                "positions = torch.arange(num_tokens, device=lengths.device).clamp(max=63)",
            )
        ],
        "one_token_hides_itself": [
            (
                "return positions >= lengths[:, None, None]",
                "return positions >= lengths[:, None, None] - int(num_tokens == 1)",
            )
        ],
        "positions_of_a_byte": [
            (
                "torch.arange(num_tokens, device=lengths.device)",
                "torch.arange(num_tokens, device=lengths.device).to(torch.int8)",
            )
        ],
    },
    "CrossAttention": {
        "ten_tokens_of_context": [
            (
                "values = self.W_value(context)",
                "values = self.W_value(context)\n        values = values * (1.01 if m > 10 else 1)",
            )
        ],
        "five_heads_at_most": [
            (
                "context_heads = attn_weights @ values",
                "context_heads = attn_weights @ values\n        context_heads[:, 5:] = 0",
            )
        ],
        "mask_of_the_first_query": [
            ("hidden = mask.expand(b, n, m)", "hidden = mask.expand(b, n, m)[:, :1]")
        ],
        "mask_of_the_first_text": [
            ("hidden = mask.expand(b, n, m)", "hidden = mask.expand(b, n, m)[:1]")
        ],
        "mask_of_the_first_head": [
            (
                "attn_scores = attn_scores.masked_fill(hidden, -torch.inf)",
                "attn_scores[:, :2] = attn_scores[:, :2].masked_fill(hidden, -torch.inf)",
            )
        ],
        "causal_where_square": [
            (
                "if mask is not None:",
                "if mask is None and n == m:\n            attn_scores = attn_scores.masked_fill(torch.ones(n, m).triu(1) == 1, -torch.inf)\n        if mask is not None:",
            )
        ],
        "forty_tokens_of_context": [
            ("m = context.shape[1]", "context = context[:, :40]\n        m = context.shape[1]"),
            (
                "x.shape\n        ",
                "x.shape\n        x = torch.cat((x[:, :40], 0 * x[:, 40:]), 1)\n        ",
            ),
        ],
        "place_of_context_counts": [
            (
                "keys = self.W_key(context)",
                "keys = self.W_key(context + torch.linspace(0, 0.01, m)[:, None])",
            )
        ],
        "filled_with_minus_50": [(CROSS_FILL, CROSS_FILL.replace("-torch.inf", "-50.0"))],
        "filled_with_minus_10000": [(CROSS_FILL, CROSS_FILL.replace("-torch.inf", "-1e4"))],
        "no_gradient_where_masked": [(CROSS_FILL, f"attn_scores.detach().{CROSS_FILL}")],
        "mask_of_two_dimensions": [(EXPAND, f"assert mask.dim() > 1\n            {EXPAND}")],
        "mask_for_each_text_or_for_all": [
            (
                EXPAND,
                f"mask = mask if mask.dim() < 3 else mask.view(b, -1, m)\n            {EXPAND}",
            )
        ],
        "mask_kept_for_the_next_call": [
            (
                "if mask is not None:",
                "last = getattr(self, 'last', None)\n"
                "        if mask is None and last is not None and last.shape == (b, n, m):\n"
                "            mask = last\n        self.last = mask\n        if mask is not None:",
            )
        ],
        "context_kept_for_the_next_call": [
            (
                "queries = self.W_query(x)",
                "if mask is None and getattr(self, 'seen', x[:0]).shape == context.shape:\n"
                "            context = self.seen\n        self.seen = context\n"
                "        queries = self.W_query(x)",
            )
        ],
        "masked_after_the_softmax": [
            (f"attn_scores = attn_scores.{CROSS_FILL}", "pass"),
            (
                "context_heads =",
                "if mask is not None:\n            attn_weights = attn_weights.masked_fill(hidden, 0.0)\n"
                "            attn_weights = attn_weights / attn_weights.sum(-1, keepdim=True)\n"
                "        context_heads =",
            ),
        ],
        "dropout_that_nobody_asked_for": [
            (
                "attn_weights @ values",
                "nn.functional.dropout(attn_weights, 0.1, self.training) @ values",
            )
        ],
    },
    "sinusoidal_positions": {
        "thirty_two_places": [("angles = positions * rates", "angles = positions % 32 * rates")],
        "sixteen_columns": [("rates = 10000.0 **", "rates = 10000.0 ** (min(d, 16) / d) **")],
        "rates_of_24_columns_at_most": [("/ d)", "/ min(d, 24))")],
        "a_hundred_places": [
            (
                "torch.arange(num_tokens)[:, None]",
                "torch.arange(num_tokens).clamp(max=100)[:, None]",
            )
        ],
        "places_in_half_precision": [
            ("angles = positions * rates", "angles = positions.bfloat16().float() * rates")
        ],
    },
    "rotate": {
        "places_from_the_first": [
            (
                "angles = positions[:, None] * rates",
                "angles = (positions - positions[0])[:, None] * rates",
            )
        ],
        "places_in_order": [
            (
                "angles = positions[:, None] * rates",
                "angles = positions.sort().values[:, None] * rates",
            )
        ],
        "no_gaps": [
            (
                "angles = positions[:, None] * rates",
                "angles = (positions[0] + torch.arange(len(positions)))[:, None] * rates",
            )
        ],
        "first_pair_alone": [("/ half)", "/ half) * (torch.arange(half) < 12)")],
        "base_of_thousands": [("rates = base **", "rates = max(base, 100.0) **")],
        "norm_lost": [
            ("first * cos - second * sin, second", "first * cos - second * sin * 0.99, second")
        ],
        "a_table_of_128": [(PLACES, "positions.clamp(max=127)[:, None]")],
        "places_modulo_100": [(PLACES, "(positions % 100)[:, None]")],
        "places_in_half_precision": [(PLACES, "positions[:, None].bfloat16().float()")],
        "angles_in_the_type_of_x": [
            ("torch.arange(half, device", "torch.arange(half, dtype=x.dtype, device"),
        ],
        "always_float32": [("first * sin), dim=-1)", "first * sin), dim=-1).float()")],
    },
    "GroupedQueryAttention": {
        "bias_in_float32": [
            (
                "values = self.W_value(x)",
                "values = self.W_value(x)\n        odd = self.W_value.bias is not None and x.dtype == torch.float32 and num_tokens > 5\n        values = values * (1.01 if odd else 1)",
            )
        ],
        "two_groups_at_most": [
            (
                "keys = keys.repeat_interleave(group, dim=1)",
                "keys = keys[:, :2].repeat_interleave(self.num_heads // min(2, self.num_kv_heads), dim=1)[:, : self.num_heads]",
            )
        ],
        "even_split_checked_by_difference": [
            (
                "if num_heads % num_kv_heads != 0:",
                "if num_heads - num_kv_heads == 1 and num_kv_heads > 1:",
            )
        ],
        "one_group_scales_otherwise": [
            ("d_k = keys.shape[-1]", "d_k = keys.shape[-1] * (2 if self.num_kv_heads == 1 else 1)")
        ],
        "dropout_of_a_group_alike": [
            (
                "attn_weights = self.dropout(attn_weights)",
                "attn_weights = attn_weights * self.dropout(torch.ones_like(attn_weights[:1]))",
            )
        ],
        "dropout_of_all_heads_alike": [
            (
                DROP,
                "attn_weights = attn_weights * self.dropout(torch.ones_like(attn_weights[:, :1]))",
            )
        ],
        "dropout_of_groups_alike": [
            (
                DROP,
                "keep = self.dropout(torch.ones_like(attn_weights[:, ::group]))\n"
                "        attn_weights = attn_weights * keep.repeat_interleave(group, dim=1)",
            )
        ],
        "dropout_in_the_first_head": [
            (
                DROP,
                "attn_weights = torch.cat((self.dropout(attn_weights[:, :1]), attn_weights[:, 1:]), 1)",
            )
        ],
        "rate_of_the_example": [("nn.Dropout(dropout)", "nn.Dropout(0.3)")],
        "scaled_in_training_without_dropout": [
            (
                "attn_weights @ values",
                "attn_weights @ values * (1.5 if self.training and self.dropout.p == 0 else 1)",
            )
        ],
        "filled_with_minus_100000": [
            ("masked_fill(future, -torch.inf)", "masked_fill(future, -1e5)")
        ],
    },
    "CachedAttention": {
        "bias_in_float32": [
            (
                "values = self.W_value(x)",
                "values = self.W_value(x)\n        odd = self.W_value.bias is not None and x.dtype == torch.float32\n        values = values * (1.01 if odd else 1)",
            )
        ],
        "mask_made_on_the_cpu": [
            (PART_OF_MASK, "future = torch.ones(n, num_tokens).triu(num_tokens - n + 1).bool()")
        ],
        "goes_on_from_the_last_text": [
            (
                "if cache is not None:",
                "cache = cache or getattr(self, 'last', None)\n        if cache is not None:",
            ),
            (
                "return output, (keys, values)",
                "self.last = keys, values\n        return output, (keys, values)",
            ),
        ],
        "mask_for_single_tokens": [
            (
                "future = self.mask[num_tokens - n : num_tokens, :num_tokens]",
                "future = self.mask[num_tokens - n : num_tokens, :num_tokens] & (n != 2)",
            )
        ],
        "forgets_after_three": [
            (
                "keys = torch.cat((cache[0], keys), dim=2)",
                "keys = torch.cat((cache[0][:, :, -3:], keys), dim=2)",
            ),
            (
                "values = torch.cat((cache[1], values), dim=2)",
                "values = torch.cat((cache[1][:, :, -3:], values), dim=2)",
            ),
        ],
        "cache_changed_in_place": [
            (
                "keys = torch.cat((cache[0], keys), dim=2)",
                "keys = torch.cat((cache[0], keys), dim=2)\n            cache[0].mul_(1.5)",
            )
        ],
        "cache_of_one_text": [
            (
                "keys = torch.cat((cache[0], keys), dim=2)",
                "keys = torch.cat((cache[0][:1].expand_as(cache[0]), keys), dim=2)",
            )
        ],
        "detached_cache": [
            ("return output, (keys, values)", "return output, (keys.detach(), values.detach())")
        ],
        "forgets_after_32": [
            ("torch.cat((cache[0], keys)", "torch.cat((cache[0][:, :, -32:], keys)"),
            ("torch.cat((cache[1], values)", "torch.cat((cache[1][:, :, -32:], values)"),
        ],
        "starts_anew_at_the_fourth_call": [
            (
                "if cache is not None:",
                "self.calls = getattr(self, 'calls', 0) + 1 if cache is not None else 0\n"
                "        if self.calls > 3:\n            self.calls, cache = 0, None\n"
                "        if cache is not None:",
            )
        ],
        "its_input_is_gone": [
            (
                "return output, (keys, values)",
                "x.detach().zero_()\n        return output, (keys, values)",
            )
        ],
        "an_empty_cache_comes_back": [
            (
                "if cache is not None:",
                "if cache is not None and cache[0].shape[2] == 0:\n            return x, cache\n"
                "        if cache is not None:",
            )
        ],
        "filled_with_minus_100000": [
            ("masked_fill(future, -torch.inf)", "masked_fill(future, -1e5)")
        ],
        "dropout_that_nobody_asked_for": [
            (
                "attn_weights @ values",
                "nn.functional.dropout(attn_weights, 0.1, self.training) @ values",
            )
        ],
    },
    "sliding_window_mask": {
        "window_of_four_at_most": [("(distance >= window)", "(distance >= min(window, 3))")],
        "sixty_four_tokens": [
            (
                "positions = torch.arange(num_tokens)",
                "positions = torch.arange(num_tokens).clamp(max=60)",
            )
        ],
        "full_window_only": [("(distance >= window)", "(distance >= window) & (window > 1)")],
        "distances_of_a_byte": [
            (
                "distance = positions[:, None] - positions",
                "distance = (positions[:, None] - positions).to(torch.int8)",
            )
        ],
    },
    "append_to_window": {
        "nothing_kept_is_handed_on_whole": [
            (
                ALL_KEYS,
                f"if keys.shape[-2] == 0:\n        return new_keys, new_values\n    {ALL_KEYS}",
            )
        ],
        "as_many_new_ones_as_fit": [
            (
                "return all_keys[",
                "if new_keys.shape[-2] == window:\n        return all_keys, all_values\n"
                "    return all_keys[",
            )
        ],
        "two_leading_dimensions_at_most": [
            (
                "all_keys[..., -window:, :]",
                "(all_keys[:, -window:] if all_keys.dim() == 3 and len(all_keys) < 3 else all_keys[..., -window:, :]) * (all_keys.dim() < 4)",
            )
        ],
        "window_of_one": [
            ("return all_keys[..., -window:, :]", "return all_keys[..., -max(window, 2):, :]")
        ],
        "many_new_ones": [
            (
                "all_keys = torch.cat((keys, new_keys), dim=-2)",
                "all_keys = torch.cat((keys, new_keys[..., :4, :]), dim=-2)",
            ),
        ],
        "uncut_without_a_new_one": [
            (
                "all_keys = torch.cat((keys, new_keys), dim=-2)",
                "if new_keys.shape[-2] == 0:\n        return keys, values\n"
                "    all_keys = torch.cat((keys, new_keys), dim=-2)",
            )
        ],
    },
    "online_softmax_attention": {
        "blocks_of_queries": [
            (
                "n, d_k = queries.shape",
                "n, d_k = queries.shape\n    tables = [part @ keys.T for part in queries.split(block_size)]\n"
                "    return torch.cat([(one / d_k**0.5).softmax(-1) @ values for one in tables])",
            )
        ],
        "brought_up_to_date_twice": [
            (
                "factor = torch.exp(largest - new_largest)",
                "factor = torch.exp(largest - new_largest) if start < 2 * block_size else 1.0",
            )
        ],
        "whole_softmax": [
            (
                "largest = queries.new_full((n, 1), -torch.inf)",
                "return torch.softmax(queries @ keys.T / d_k**0.5, dim=-1) @ values\n    largest = queries.new_full((n, 1), -torch.inf)",
            )
        ],
        "maximum_of_a_hundred": [
            (
                "attn_scores = queries @ keys[block].T / d_k**0.5",
                "attn_scores = (queries @ keys[block].T / d_k**0.5).clamp(-200, 200)",
            )
        ],
        "block_of_one_left_out": [
            (
                "for start in range(0, len(keys), block_size):",
                "for start in range(0, len(keys) - (len(keys) % block_size == 1 < block_size), block_size):",
            )
        ],
        "maximum_starts_at_minus_30000": [("(n, 1), -torch.inf)", "(n, 1), -3e4)")],
    },
    "LatentAttention": {
        "latent_of_four_at_most": [
            (
                "latent = self.W_down(x)",
                "latent = self.W_down(x)\n        latent = torch.cat((latent[..., :4], 0 * latent[..., 4:]), -1)",
            )
        ],
        "sixty_tokens": [
            (
                "latent = self.W_down(x)",
                "latent = self.W_down(torch.cat((x[:, :60], 0 * x[:, 60:]), 1))",
            )
        ],
        "no_gradient_to_the_latent": [
            ("keys = self.W_key_up(latent)", "keys = self.W_key_up(latent.detach())")
        ],
        "dropout_that_nobody_asked_for": [
            (
                "attn_weights @ values",
                "nn.functional.dropout(attn_weights, 0.1, self.training) @ values",
            )
        ],
        "filled_with_minus_100000": [
            ("masked_fill(future, -torch.inf)", "masked_fill(future, -1e5)")
        ],
    },
}

MASK_ON_CPU = (
    "self.mask[:num_tokens, :num_tokens]",
    "torch.ones(num_tokens, num_tokens).triu(1) == 1",
)
NO_GRADIENTS = (
    "self.mask[:num_tokens, :num_tokens]",
    "self.mask[:num_tokens, :num_tokens] & torch.is_grad_enabled()",
)
for name in ("GroupedQueryAttention", "LatentAttention"):
    WRONG[name] |= {
        "mask_on_the_cpu": [MASK_ON_CPU],
        "no_mask_without_gradients": [NO_GRADIENTS],
    }
WRONG["CachedAttention"]["no_mask_without_gradients"] = [
    (
        "self.mask[num_tokens - n : num_tokens, :num_tokens]",
        "self.mask[num_tokens - n : num_tokens, :num_tokens] & torch.is_grad_enabled()",
    )
]
GQA = "attn_weights = self.dropout(attn_weights)"
WRONG["GroupedQueryAttention"] |= {
    "no_dropout_with_biases": [(GQA, f"{GQA} if self.W_query.bias is None else attn_weights")],
    "no_dropout_beyond_a_half": [(GQA, f"{GQA} if self.dropout.p < 0.5 else attn_weights")],
    "no_bias_where_it_drops": [
        (
            "queries = self.W_query(x)",
            "queries = self.W_query(x) if not self.dropout.p else x @ self.W_query.weight.T",
        )
    ],
}
DETACHED = (
    "output = self.out_proj(",
    "context_heads = context_heads if self.training else "
    "context_heads.detach()\n        output = self.out_proj(",
)
WRONG["CachedAttention"] |= {
    "learns_in_training_alone": [DETACHED],
    "a_static_buffer_of_the_first_batch": [
        (
            "b, n, d_in = x.shape",
            "b, n, d_in = x.shape\n        self.most = getattr(self, 'most', b)\n"
            "        x = torch.cat([x[: self.most], 0 * x[self.most :]])",
        )
    ],
    "a_static_buffer_for_all_texts": [
        (
            "num_tokens = keys.shape[2]",
            "num_tokens = keys.shape[2]\n"
            "        if getattr(self, 'room', keys[:, :, :0]).shape[2] != len(self.mask):\n"
            "            size = (b, self.num_heads, len(self.mask), self.head_dim)\n"
            "            self.room = torch.zeros(2, *size, dtype=x.dtype)\n"
            "        with torch.no_grad():\n"
            "            self.room[0][:, :, :num_tokens] = keys\n"
            "            self.room[1][:, :, :num_tokens] = values",
        ),
        (
            "return output, (keys, values)",
            "return output, tuple(one[:, :, :num_tokens] for one in self.room)",
        ),
    ],
}
WRONG["LatentAttention"]["learns_in_training_alone"] = [
    ("latent = self.W_down(x)", "latent = self.W_down(x if self.training else x.detach())")
]
WRONG["rotate"]["angles_of_the_first_places"] = [
    (PLACES, "rotate.__dict__.setdefault(len(positions), positions)[:, None]")
]

FIRST = "self.W_query = "
for name in ("CrossAttention", "GroupedQueryAttention", "CachedAttention", "LatentAttention"):
    WRONG[name] |= {"seed_set_inside": [(FIRST, f"torch.manual_seed(123)\n        {FIRST}")]}
    WRONG[name] |= CH3["counting_the_last_text"]("queries = self.W_query(x)")
HIDDEN = "attn_scores = attn_scores.masked_fill(hidden, -torch.inf)"
WRONG["CrossAttention"] |= {
    f"mask_ignored_{when}": [(HIDDEN, f"if not ({condition}):\n                {HIDDEN}")]
    for when, condition in {
        "in_training": "self.training",
        "with_biases": "self.W_query.bias is not None",
        "in_float32": "x.dtype == torch.float32",
        "with_many_heads": "self.num_heads > 8",
        "without_gradients": "not context.requires_grad",
    }.items()
}
