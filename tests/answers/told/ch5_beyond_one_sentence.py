"""Messages on wrong answers in chapter 5: see `Told` in reader.py."""

HALVES = """
def sinusoidal_positions(num_tokens, d):
    pe = torch.zeros(num_tokens, d)
    position = torch.arange(0, num_tokens, dtype=torch.float).unsqueeze(1)
    div_term = torch.exp(torch.arange(0, d, 2).float() * (-math.log(10000.0) / d))
    pe[:, : d // 2] = torch.sin(position * div_term)
    pe[:, d // 2 :] = torch.cos(position * div_term)
    return pe
"""
ROTATED = "return torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1)"
ROTATED_AT_ONCE = """cos, sin = torch.cat((cos, cos), dim=-1), torch.cat((sin, sin), dim=-1)
    return x + torch.cat((-second, first), dim=-1) * sin"""
KEYS = "keys.reshape(b, m, self.num_heads, self.head_dim)"

# A row a case, with its edits and what is expected.
# fmt: off
TOLD = {
    "padding_mask": {
        "changes_its_input": ([
            ("positions = ", "lengths -= 1\n    positions = "),
            ("return positions >= lengths", "return positions > lengths"),
        ], {"says": "overwritten", "line": "lengths -= 1"}),
    },
    "sinusoidal_positions": {
        "halves_in_another_form": (f"import math\n{HALVES}",
            {"names": ["sines_then_cosines"], "line": "pe[:, d // 2 :] = "}),
    },
    "rotate": {
        "first_half_not_turned": ([(ROTATED, ROTATED_AT_ONCE)],
            {"says": "Up to", "line": "x + torch.cat", "public": True}),
    },
    "CrossAttention": {
        "heads_of_keys_left": ([(f"{KEYS}.transpose(1, 2)", KEYS)],
            {"says": "must match", "line": "keys.transpose", "public": True}),
    },
    "online_softmax_attention": {
        "no_block": ([("range(0, len(keys), block_size)", "range(0)")],
            {"says": "NaN", "public": True}),
        "divided_twice": ([("return context / total", "return context / total**2")],
            {"says": "wrong on line", "line": "total**2", "public": True}),
    },
    "GroupedQueryAttention": {
        "group": ([("self.num_heads // self.num_kv_heads", "self.num_heads * self.num_kv_heads")],
            {"says": "`keys` has shape"}),
    },
    "LatentAttention": {
        "down_twice": ([("self.W_value_up(latent)", "self.W_value_up(self.W_down(latent))")],
            {"says": "`latent` & shape", "line": "self.W_down(latent)"}),
    },
}
