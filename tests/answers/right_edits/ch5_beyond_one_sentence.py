"""Right in unusual ways: edits of the solution, by exercise."""

HIDE = "hidden = mask.expand(b, n, m).unsqueeze(1)"
CROSS_FILL = "attn_scores = attn_scores.masked_fill(hidden, -torch.inf)"
FILL = "attn_scores = attn_scores.masked_fill(future, -torch.inf)"
DROP = "attn_weights = self.dropout(attn_weights)"
JOIN_KEYS = "keys = torch.cat((cache[0], keys), dim=2)"
JOIN_VALUES = "values = torch.cat((cache[1], values), dim=2)"

LOW = {
    "filled_with_minus_1e9": [("-torch.inf)", "-1e9)")],
    "filled_with_the_least_number": [("-torch.inf)", "torch.finfo(x.dtype).min)")],
}

RIGHT = {
    "padding_mask": {
        "counted_along": [
            (
                "positions >= lengths[:, None, None]",
                "(torch.ones(len(lengths), 1, num_tokens).cumsum(-1) > lengths[:, None, None])",
            )
        ],
    },
    "CrossAttention": LOW
    | {
        "mask_given_leading_dimensions": [
            (
                HIDE,
                "hidden = mask.reshape((1,) * (3 - mask.dim()) + mask.shape)[:, None]",
            )
        ],
        "mask_by_its_dimensions": [
            (HIDE, "hidden = mask if mask.dim() < 3 else mask.unsqueeze(1)"),
        ],
        "mask_added": [
            (
                CROSS_FILL,
                "attn_scores = attn_scores + torch.zeros_like(attn_scores).masked_fill_(hidden, -torch.inf)",
            )
        ],
        "mask_remembered_for_pictures": [
            ("if mask is not None:", "self.mask = mask\n        if mask is not None:")
        ],
    },
    "sinusoidal_positions": {
        "rates_by_exp": [
            (
                "10000.0 ** (-torch.arange(0, d, 2) / d)",
                "torch.exp(torch.arange(0, d, 2).float() * (-9.210340371976184 / d))",
            )
        ],
    },
    "rotate": {
        "rates_by_exp": [
            (
                "base ** (-torch.arange(half, device=x.device) / half)",
                "torch.exp(-torch.arange(half) / half * torch.log(torch.tensor(float(base))))",
            )
        ],
        "angles_in_float64": [
            ("positions[:, None] * rates", "positions.double()[:, None] * rates")
        ],
        "turned_in_float32": [
            ("half = x.shape[-1] // 2", "half, dtype, x = x.shape[-1] // 2, x.dtype, x.float()"),
            ("first * sin), dim=-1)", "first * sin), dim=-1).to(dtype)"),
        ],
    },
    "GroupedQueryAttention": LOW
    | {
        "dropout_only_where_there_is_some": [
            (DROP, f"if self.training and self.dropout.p > 0:\n            {DROP}")
        ],
        "keys_expanded": [
            (
                "keys = keys.repeat_interleave(group, dim=1)",
                "keys = keys[:, :, None].expand(-1, -1, group, -1, -1).flatten(1, 2)",
            )
        ],
    },
    "CachedAttention": LOW
    | {
        "empty_at_the_start": [
            (
                "if cache is not None:",
                "if cache is None:\n            cache = (keys[:, :, :0], values[:, :, :0])\n        if cache:",
            )
        ],
        "an_empty_cache_is_none": [
            ("if cache is not None:", "if cache is not None and cache[0].numel() > 0:")
        ],
    },
    "sliding_window_mask": {
        "two_triangles": [
            (
                "(distance < 0) | (distance >= window)",
                "torch.ones_like(distance).triu(1).bool() | torch.ones_like(distance).tril(-window).bool()",
            )
        ],
    },
    "append_to_window": {
        "by_a_count_from_the_front": [
            (
                "return all_keys[..., -window:, :], all_values[..., -window:, :]",
                "start = max(0, all_keys.shape[-2] - window)\n"
                "    return all_keys[..., start:, :], all_values[..., start:, :]",
            )
        ],
    },
    "online_softmax_attention": {
        "starts_at_the_least_number": [
            ("(n, 1), -torch.inf)", "(n, 1), torch.finfo(queries.dtype).min)")
        ],
    },
    "LatentAttention": LOW,
}
