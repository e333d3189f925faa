"""Messages on wrong answers in chapter 1: see `Told` in reader.py."""

SUM = "return exponentials / exponentials.sum(dim=dim, keepdim=True)"
SHIFT = "x - x.amax(dim=dim, keepdim=True)"
SCORES = "attn_scores = inputs @ inputs.T"
BOTH = "return context_vecs, attn_weights"
HELPER = "def scores_of(a, b):\n    return a @ b.T\n"
HALF, TENTH = (0.5, 0.5), (0.9, 0.9)  # of the points are left if softmax is not written


def returns(value: str) -> list[tuple[str, str]]:
    """Another result of attention_scores."""
    return [("return inputs @ query", f"return {value}")]


def with_softmax(lines: str) -> str:
    """Another softmax."""
    return f"def softmax(x, dim=-1):\n    {lines}\n"


def with_softmax_naive(lines: str) -> str:
    """Another naive softmax."""
    return f"def softmax_naive(x):\n    {lines}\n"


LOOP_RETURNS_EARLY = """
def attention_scores(query, inputs):
    attn_scores_2 = torch.empty(inputs.shape[0])
    for i, x_i in enumerate(inputs):
        attn_scores_2[i] = torch.dot(x_i, query)
        return attn_scores_2
"""
ACTS = r"\x1b[31m\x1b]0;title\x07\x9b31m\u202e\u2066\u200b\x08"
LOOP_OVER_TOKENS = """
def simplified_self_attention(inputs):
    scores = torch.stack([(inputs * row).sum(-1) for row in inputs])
    weights = torch.softmax(scores, dim=-1)
    return torch.stack([(w[:, None] * inputs).sum(0) for w in weights]), weights
"""

# A row a case, with its edits and what is expected.
# fmt: off
TOLD = {
    "attention_scores": {
        "two_tensors": (returns("inputs @ query, 1.0 * query"), {"says": "2 tensors"}),
        "list": (returns("[inputs @ query]"), {"says": "1 tensor;"}),
        "dict": (returns("{'scores': inputs @ query}"), {"says": "keys scores"}),
        "none": (returns("None"), {"says": "`return`"}),
        "defined_twice": (
            "def attention_scores(query, inputs):\n    return inputs @ query\n\n\n"
            "def attention_scores(query, inputs):\n    return [inputs @ query]\n",
            {"says": "`attention_scores` is defined on line & the last one"}),
        "error_of_torch": (returns("torch.nn.Module()(inputs)"),
            {"says": "NotImplementedError", "unsays": "not written"}),
        "loop_returns_early": (LOOP_RETURNS_EARLY, {"line": "        return attn_scores_2"}),
        "mistyped_argument": (returns("inputs @ quary"), {"says": "`query`?"}),
        "built_in": (returns("input @ query"), {"says": "built-in function"}),
        "value_from_outside": (returns("sentence @ query"), {"says": "argument?"}),
        "raise_left": ([("return inputs", "raise NotImplementedError\n    return inputs")],
            {"says": "never runs", "line": "raise NotImplementedError"}),
        "half": (returns("(inputs @ query).half()"), {"says": "three digits"}),
        "times_rows": (returns("inputs @ query * inputs.shape[0]"),
            {"says": "times 6", "names": [], "public": True}),
        "acting_error": (
            f"def attention_scores(query, inputs):\n    raise ValueError('a{ACTS}b')\n",
            {"says": "ValueError"}),
        "acting_key": (returns(f"{{'a{ACTS}b': 1}}"), {"says": "a dict"}),
    },
    "softmax_naive": {
        "rounded_e": ([("torch.exp(x)", "2.718 ** x")], {"says": "4 digits", "line": "2.718 ** x"}),
        "import_missing": (
            "import no_such_library as tool\n" + with_softmax_naive("return tool.softmax(x)"),
            {"says": "'no_such_library'", "line": "return tool.softmax(x)"}),
        "of_another_cell": (with_softmax_naive("return torch.exp(scores)"),
            {"says": "defines", "unsays": "self."}),
    },
    "softmax": {
        "of_torch": (with_softmax("return torch.softmax(x, dim=dim)"),
            {"points": HALF, "names": ["library_softmax"], "public": True}),
        "logsumexp": (with_softmax("return (x - x.logsumexp(dim, True)).exp()"), {"points": HALF}),
        "hidden_in_text": (with_softmax("return getattr(torch, 'soft' + 'max')(x, dim)"),
            {"points": TENTH}),
        "of_torch_and_wrong": (with_softmax("return torch.softmax(x, -1)"),
            {"points": (0, 0.5), "says": "`dim`"}),
        "gradient_overwritten": (
            with_softmax(
                "e = (x - x.amax(dim, True)).exp_()\n    e /= e.sum(dim, True)\n    return e"
            ),
            {"says": "overwrites"}),
        "dimension_lost": ([(SHIFT, "x - x.amax(dim)")], {"says": "loses its dimension"}),
        "max_for_amax": ([(SHIFT, "x - x.max(dim=dim, keepdim=True)")],
            {"says": "`.values`", "line": "x.max("}),
        "python_max": ([(SHIFT, "x - max(x)")], {"says": "True or False"}),
        "parentheses_missing": ([(SUM, "return exponentials / exponentials.sum")],
            {"says": "`()`"}),
        "math": (["import math", ("torch.exp(shifted)", "math.exp(shifted)")],
            {"says": "`math` & single"}),
        "cut_off": ([("torch.exp(shifted)", "torch.exp(x.clamp(-80, 80))")],
            {"says": "exactly 0", "unsays": "sum to 1"}),
        "other_side_of_a_square": ([(SUM, "return exponentials / exponentials.sum(dim=dim)[None]")],
            {"names": ["keepdim_forgotten"], "unsays": "swapped"}),
        "changes_its_input": ([(SHIFT, "x.sub_(x.amax(dim, True))")],
            {"says": "changes the input `x` in place", "line": ".sub_("}),
    },
    "context_vector": {
        "shapes_differ": ([("attn_weights @ inputs", "(attn_weights * inputs).sum(dim=0)")],
            {"says": "(4, 2)", "line": "(attn_weights * inputs)"}),
        "sum_of_another_shape": ([
            ("return attn_weights @ inputs",
             "out = torch.zeros(6)\n    for i in range(6):\n" "        out = out + attn_weights[i] * inputs[i]\n    return out"),
        ], {"says": "`out`", "line": "out = out + "}),
        "all_the_same": ([
            ("torch.softmax(attn_scores, dim=-1)",
             "torch.softmax(attn_scores[None], dim=0)[0]"),
        ], {"line": "[None], dim=0)[0]"}),
    },
    "simplified_self_attention": {
        "loop": (LOOP_OVER_TOKENS, {"points": (0.95, 0.95), "names": ["loop_over_tokens"]}),
        "results_swapped": ([(BOTH, "return attn_weights, context_vecs")],
            {"says": "order", "line": "return attn_weights, context_vecs"}),
        "three_results": ([(BOTH, f"{BOTH}, 'done'")], {"says": "3 results"}),
        "numpy": ([(BOTH, "return inputs.detach().numpy()")], {"says": "ndarray"}),
        "error_in_a_helper": ([HELPER, (SCORES, "attn_scores = scores_of(inputs, inputs[0, 0])")],
            {"says": "called on line", "line": "return a @ b.T"}),
        "made_by_a_failed_statement": ([
            f"{HELPER}\nstart = scores_of(torch.ones(2), torch.ones(3))",
            (SCORES, "attn_scores = scores_of(inputs, start)"),
        ], {"says": "failed"}),
    },
}
