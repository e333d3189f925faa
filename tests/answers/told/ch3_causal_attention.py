"""Messages on wrong answers in chapter 3: see `Told` in reader.py."""

FUTURE = "torch.triu(torch.ones(context_length, context_length), diagonal=1)"
MADE, CUT = 'self.register_buffer("mask", future.bool())', "self.mask[:num_tokens, :num_tokens]"
FILL = "attn_scores = attn_scores.masked_fill(future, -torch.inf)"
DROP = "attn_weights = self.dropout(attn_weights)"
SIZES, QUERIES, MIX = (
    "b, num_tokens, d_in = x.shape",
    "self.W_query(x)",
    "return attn_weights @ values",
)
MASKED = "attn_scores.masked_fill(future, -torch.inf)"
INDENT = "\n        "
IN_ALL = "torch.ones(num_tokens, num_tokens).triu(1)"
KEPT = "attn_weights = attn_weights * keep / (1 - self.dropout.p)"
HALF_A_POINT = (0.97, 0.98)  # of the points are left if a module would not run on a GPU


def dropout(lines: str, rest: str = "return attn_weights * keep / (1 - p)") -> str:
    """An inverted_dropout that draws `keep` in another way."""
    return (
        "def inverted_dropout(attn_weights, p, training=True):\n"
        f"    if not training:\n        return attn_weights\n    {lines}\n    {rest}\n"
    )


def by_call(call: str) -> str:
    """An inverted_dropout that is one call."""
    return f"def inverted_dropout(attn_weights, p, training=True):\n    return {call}\n"


WEIGHTS = "def causal_attention_weights(attn_scores, d_k):\n"
THROWN_AWAY = (
    WEIGHTS
    + """    n = attn_scores.size(-1)
    mask = torch.triu(torch.ones(n, n), diagonal=1)
    attn_scores.masked_fill(mask.bool(), -torch.inf)
    masked = attn_scores
    attn_weights = torch.softmax(masked / d_k ** 0.5, dim=-1)
    return attn_weights
"""
)
ROWS_OF_ZEROS = (
    WEIGHTS
    + """    n = attn_scores.shape[-1]
    seen = torch.ones(n, n, dtype=attn_scores.dtype).tril()
    weights = torch.softmax(attn_scores * seen / d_k**0.5, dim=-1) * seen
    return weights / (weights.sum(dim=-1, keepdim=True) + 1e-13)
"""
)
FULL = "torch.full_like(attn_scores, -torch.inf)"

# A row a case, with its edits and what is expected.
# fmt: off
TOLD = {
    "causal_mask": {
        "lower_triangle_of_numbers": ([("torch.triu(ones, diagonal=1).bool()", "torch.tril(ones)")],
            {"names": ["mask_inverted", "mask_of_numbers"]}),
    },
    "mask_and_renormalize": {
        "small_number_added": ([
            ("masked.sum(dim=-1, keepdim=True)", "(masked.sum(dim=-1, keepdim=True) + 1e-6)"),
        ], {"points": (1, 1)}),
    },
    "causal_attention_weights": {
        "changes_its_input": ([("attn_scores.masked_fill(", "attn_scores.masked_fill_(")],
            {"says": "overwritten", "line": "masked_fill_("}),
        "added_infinity": ([(MASKED, f"attn_scores + torch.triu({FULL})")],
            {"says": "NaN & first row", "line": "attn_scores + torch.triu("}),
        "thrown_away": (THROWN_AWAY,
            {"names": ["mask_thrown_away"], "line": "    attn_scores.masked_fill(mask"}),
        "rows_of_zeros": (ROWS_OF_ZEROS,
            {"says": "sum to 1", "unsays": "hides nothing"}),
    },
    "inverted_dropout": {
        "of_torch": (by_call("nn.functional.dropout(attn_weights, p, training)"),
            {"names": ["library_dropout"], "points": (0.1, 0.9)}),
        "in_another_dtype": (dropout("", "return nn.functional.dropout(attn_weights.float(), p)"),
            {"says": "torch's own dropout"}),
        "one_draw_for_all": (dropout("keep = torch.rand(1) > p"),
            {"says": "dropped", "unsays": "not all scaled"}),
        "pairs": (
            dropout(
                "keep = torch.rand_like(attn_weights) >= p\n"
                "    if keep.dim() > 1 and keep.shape[-1] == keep.shape[-2]:\n"
                "        keep = keep.tril() | keep.tril(-1).mT"
            ),
            {"says": "other entries"}),
        "same_number_each_time": (
            dropout(
                "keep, count = torch.ones(attn_weights.numel()), attn_weights.numel()\n"
                "    keep[torch.randperm(count)[: int(p * count)]] = 0\n"
                "    keep = keep.reshape(attn_weights.shape)"
            ),
            {"says": "same number"}),
        "noise": (by_call("attn_weights * (1 + p * torch.randn_like(attn_weights) * training)"),
            {"names": [], "points": (0, 0.9)}),
        "drops_in_evaluation_and_wrong_factor": ([
            ("return attn_weights\n",
             "return 0.7 * attn_weights * (torch.rand_like(attn_weights) > 0.3)\n"),
            ("keep / (1 - p)", "keep * 2"),
        ], {"says": "0 in evaluation"}),
    },
    "CausalAttention": {
        "argument_of_init": ([(CUT, "self.mask[:context_length, :context_length]")],
            {"says": "`self.context_length`"}),
        "name_not_in_quotes": ([('register_buffer("mask"', "register_buffer(mask")],
            {"says": '`"mask"`', "unsays": "`self.` missing"}),
        "batch_for_tokens": ([(SIZES, "num_tokens = x.shape[0]")],
            {"says": "size of tensor a & become wrong on"}),
        "self_no_parameter": ([("def forward(self, x", "def forward(x")],
            {"says": "`self` missing"}),
        "layer_in_a_product": ([(QUERIES, "x @ self.W_query")], {"says": "function & `layer.weight`"}),
        "mask_of_numbers": ([("future.bool()", "future")], {"says": "True and False"}),
        "import_missing": ([("d_k**0.5", "math.sqrt(d_k)")], {"says": "`import math`"}),
        "sees_the_future": ([("diagonal=1", "diagonal=3")],
            {"says": "the future", "unsays": "right shape"}),
        "wrong_for_long_texts": ([("d_k**0.5", "(d_k**0.5 if num_tokens > 6 else 9)")],
            {"line": "if num_tokens > 6", "names": []}),
        "keeps_the_first_keys": ([
            ("attn_scores = queries",
             "if not hasattr(self, 'kept'):\n            self.kept = keys\n        keys = self.kept\n        attn_scores = queries"),
        ], {"names": [], "says": "`queries` has shape"}),
        "view_of_a_transposed_input": ([(SIZES, f"{SIZES}\n        x = x.view(-1).view(x.shape)")],
            {"says": "`reshape`"}),
        "only_two_texts": ([(SIZES, f"x = x[:2]\n        {SIZES}")],
            {"says": "shape", "unsays": "itself"}),
        "half_without_bias": ([(MIX, f"{MIX} * (1 if self.W_key.bias is None else 2)")],
            {"says": "times 2", "line": "bias is None else 2"}),
        "mask_cut_for_good": ([
            (f"future = {CUT}", f"self.mask = {CUT}\n        future = self.mask"),
        ], {"names": ["mask_cut_for_good"], "says": "longer text"}),
        "zeros_taken_for_hidden": ([
            (FILL,
             "attn_scores = attn_scores.tril()\n        attn_scores = attn_scores.masked_fill(attn_scores == 0, -torch.inf)"),
        ], {"names": ["zeros_taken_for_hidden"], "says": "score of 0"}),
        "mask_of_another_size": ([
            ("torch.ones(context_length, context_length)", "torch.ones(1024, 1024)"),
        ], {"says": "(1024, 1024)"}),
        "fixed_rate": ([("nn.Dropout(dropout)", "nn.Dropout(0.4)")], {"says": "of the entries is dropped, but p is"}),
        "renormalised": ([
            (MIX, "return (attn_weights / attn_weights.sum(-1, keepdim=True)) @ values"),
        ], {"says": "NaN"}),
        "default_bias": ([("qkv_bias: bool = False", "qkv_bias: bool = True")],
            {"says": "biases although"}),
        "mask_cut_in_one_dimension": ([(CUT, "self.mask[:, :num_tokens]")],
            {"says": "become wrong on", "line": "self.mask[:, :num_tokens]"}),
        "number_called": ([("self.dropout = nn.Dropout(dropout)", "self.dropout = dropout")],
            {"says": "plain number", "line": "self.dropout(attn_weights)"}),
        "mask_made_in_one_line": ([
            (FUTURE, "torch.ones(context_length, context_length).tril(-1) == 0"),
            ("-torch.inf", "-1e30"),
        ], {"says": "become wrong on", "unsays": "swapped"}),
        "mask_stays_on_the_cpu": ([
            (MADE, f"{MADE}{INDENT}self.hidden = future.bool()"),
            (CUT, CUT.replace("mask", "hidden")),
        ], {"says": "line {}: `self.hidden` & stays & CPU", "line": FILL, "points": HALF_A_POINT}),
        "mask_stays_and_changes_on_the_way": ([
            (MADE, f"{MADE}{INDENT}self.seen = 1 - future"),
            (FILL,
             f"shut = {CUT.replace('mask', 'seen')} == 0{INDENT}{FILL.replace('future', 'shut')}"),
        ], {"says": "line {}: `shut` & created & CPU", "line": "masked_fill(shut"}),
        "mask_made_on_the_fly": ([(CUT, f"{IN_ALL}.bool()")],
            {"says": "line {}: `future` & created & CPU", "line": FILL}),
        "chance_on_the_cpu": ([
            (DROP,
             f"keep = torch.rand(attn_weights.shape) >= self.dropout.p{INDENT}if self.training:{INDENT}    {KEPT}"),
        ], {"says": "line {}: `keep` & created & CPU", "line": "attn_weights * keep"}),
    },
}
