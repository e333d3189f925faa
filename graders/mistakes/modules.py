"""Modules that cannot be made: `super` without brackets, nn.parameter for nn.Parameter."""

from tensorgrade.author import mistake, on

# The line before which `super().__init__()` stands, by exercise.
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
    """Return edits that put a line in front of the first one of every `__init__`."""
    return [on(names, (first, f"{line}\n        {first}")) for names, first in FIRST_LINES.items()]


MISTAKES = [
    mistake(
        "super_without_brackets",
        "There are no brackets behind `super`. Write `super().__init__()`.",
        *before_the_first("super.__init__()"),
    ),
    mistake(
        "super_init_not_called",
        "A part is assigned before nn.Module's own `__init__` has run. Call `super().__init__()` "
        "first, with both pairs of brackets.",
        *before_the_first("self.__dict__.clear()"),
    ),
    mistake(
        "module_called",
        "A Python module is called as if it were a class or a function. Is `nn.parameter` written "
        "where `nn.Parameter` is meant?",
        *(
            on(exercise, (made, made.replace("Parameter", "parameter")))
            for exercise, made in PARAMETERS.items()
        ),
    ),
]
