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
    "GroupedQueryAttention": {
        "group": ([("self.num_heads // self.num_kv_heads", "self.num_heads * self.num_kv_heads")],
            {"says": "`keys` has shape"}),
    },
    "LatentAttention": {
        "down_twice": ([("self.W_value_up(latent)", "self.W_value_up(self.W_down(latent))")],
            {"says": "`latent` & shape", "line": "self.W_down(latent)"}),
    },
}
