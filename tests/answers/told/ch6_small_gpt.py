"""Messages on wrong answers in chapter 6: see `Told` in reader.py."""

FIRST = "x = x + self.dropout(self.attention(self.norm1(x)))"
SECOND = "x = x + self.dropout(self.feed_forward(self.norm2(x)))"
ROLLED = "        z = self.norm2(self.norm1(x).roll(1, 2) + y.flip(1))\n"
HELPER = "def added(x, y):\n    both = x - y\n    return both\n"
MEAN = "mean = x.mean(dim=-1, keepdim=True)"
VARIANCE = "variance = x.var(dim=-1, keepdim=True, unbiased=False)"
BLOCK = "TransformerBlock(d, context_length, dropout, num_heads)"
LOOP = "for _ in range(max_new_tokens):"
LARGER = [(f"self.norm{n} = LayerNorm(d)", f"self.norm{n} = LayerNorm(d + d // 2)") for n in (1, 2)]
NOT_WRITTEN = """
class LayerNorm(nn.Module):
    def __init__(self, d, eps=1e-5):
        super().__init__()
        self.scale, self.shift = nn.Parameter(torch.ones(d)), nn.Parameter(torch.zeros(d))

    def forward(self, x):
        raise NotImplementedError
"""
# A row a case, with its edits and what is expected.
# fmt: off
TOLD = {
    "LayerNorm": {
        "variance_of_everything": ([(VARIANCE, "variance = x.var()")],
            {"says": "become wrong on", "line": "variance = x.var()", "public": True}),
        "mean_added": ([("normed = (x - mean)", "normed = (x + mean)")],
            {"says": "mean, variance. Then", "line": "normed = ", "public": True}),
        "one_scale": ([("self.scale * normed", "self.scale[:1] * normed")],
            {"says": "column `[:, 0]`", "line": "self.scale[:1]", "public": True}),
        "in_place": ([
            (MEAN, "x = x - x.mean(dim=-1, keepdim=True)"),
            (VARIANCE, "x *= (x.square().mean(dim=-1, keepdim=True) + self.eps).rsqrt()"),
            ("normed = (x - mean) / torch.sqrt(variance + self.eps)", "normed = x"),
        ], {"says": "overwrites values", "public": True}),
        "default_eps": ([("eps: float = 1e-5", "eps: float = 2e-5")], {"says": "mean, variance"}),
    },
    "FeedForward": {
        "parentheses_missing": ([("nn.GELU()", "nn.GELU")],
            {"says": "parentheses", "line": "nn.GELU, nn.Linear"}),
    },
    "TransformerBlock": {
        "norm_outside": ([("self.feed_forward(self.norm2(x))", "self.norm2(self.feed_forward(x))")],
            {"line": "self.norm2(self.feed_forward(x))"}),
        "one_pattern": ([
            (FIRST,
             "kept = self.dropout(torch.ones_like(x))\n        x = x + kept * self.attention(self.norm1(x))"),
            (SECOND, "x = x + kept * self.feed_forward(self.norm2(x))"),
        ], {"says": "same numbers"}),
        "calls_what_is_not_written": ([NOT_WRITTEN],
            {"says": "`LayerNorm` & not written"}),
        "norm_gets_a_wrong_value": ([
            (f"        {FIRST}\n        {SECOND}\n        return x",
             f"        y = {FIRST[4:]}\n{ROLLED}        return y + self.dropout(self.feed_forward(z))"),
        ], {"line": "z = self.norm2(self.norm1(x).roll"}),
        "helper": ([(f"{SECOND}\n        return x", f"return added(x, {SECOND[8:]})"), HELPER],
            {"line": "    both = x - y"}),
        "larger_norms": (LARGER, {"says": "(12,)", "line": LARGER[0][1], "unsays": "projection"}),
        "gradient_never_arrives": ([
            ("self.attention(self.norm1(x))", "self.attention(self.norm1(x)).detach()"),
        ], {"says": "`attention."}),
        "norm_in_a_list": ([
            ("self.norm2 = LayerNorm(d)", "self.norm2 = [LayerNorm(d)]"),
            ("self.norm2(x)", "self.norm2[0](x)"),
        ], {"says": "parameters & `norm2`", "line": "[LayerNorm(d)]"}),
    },
    "SmallGPT": {
        "arguments_swapped": ([(BLOCK, BLOCK.replace("dropout, num_heads", "num_heads, dropout"))],
            {"says": "in `TransformerBlock`", "line": "self.blocks ="}),
    },
    "batches": {
        "windows_depend_on_one_another": ([
            ("windows = starts",
             "starts[1::2] = starts[::2][: batch_size // 2]\n    windows = starts"),
        ], {"says": "independently"}),
    },
    "train_step": {
        "loss_of_torch": ([("cross_entropy(model", "nn.functional.cross_entropy(model")],
            {"says": "dimension 1", "line": "nn.functional.cross_entropy("}),
    },
    "generate": {
        "mode_not_restored": ([
            (LOOP, f"model.eval()\n    {LOOP}"),
            ("chosen), dim=1)\n    return ids",
             "chosen), dim=1)\n    model.train()\n    return ids"),
        ], {"says": "`model`"}),
    },
}
