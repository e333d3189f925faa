"""Modules that cannot be created: `super` without parentheses, nn.parameter for nn.Parameter."""

from tensorgrade.author import mistake, on

# The line after `super().__init__()`, by exercise.
FIRST_LINES = {
    "SelfAttention_v1": "self.W_query = nn.Parameter(",
    "SelfAttention_v2 CausalAttention": "self.W_query = nn.Linear(",
    "MultiHeadAttentionWrapper": "self.heads = nn.ModuleList(",
    "MultiHeadAttention GroupedQueryAttention": "if d_out % num_heads != 0:",
    "CrossAttention CachedAttention LatentAttention": "self.num_heads = num_heads",
    "LayerNorm": "self.eps = eps",
    "FeedForward": "self.layers = nn.Sequential(",
    "TransformerBlock": "self.norm1 = LayerNorm(d)",
    "SmallGPT": "self.context_length = context_length",
}
PARAMETERS = {
    "SelfAttention_v1": "self.W_query = nn.Parameter(",
    "LayerNorm": "self.scale = nn.Parameter(",
}


def before_the_first(line: str) -> list[dict]:
    """Return edits that insert a line before the first one of every `__init__`."""
    return [on(names, (first, f"{line}\n        {first}")) for names, first in FIRST_LINES.items()]


MISTAKES = [
    mistake(
        "super_without_brackets",
        "The parentheses after `super` are missing. Write `super().__init__()`.",
        *before_the_first("super.__init__()"),
    ),
    mistake(
        "super_init_not_called",
        "A part is assigned before nn.Module's own `__init__` has run. Call `super().__init__()` "
        "first, with both pairs of parentheses.",
        *before_the_first("self.__dict__.clear()"),
    ),
    mistake(
        "module_called",
        "A Python module is called like a class or a function. Did you mean `nn.Parameter` "
        "instead of `nn.parameter`?",
        *(
            on(exercise, (made, made.replace("Parameter", "parameter")))
            for exercise, made in PARAMETERS.items()
        ),
    ),
]
