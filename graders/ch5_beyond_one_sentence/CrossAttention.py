"""Cases, checks and known mistakes of the exercise CrossAttention."""

import torch

from tensorgrade.author import (
    call,
    case,
    check,
    computed,
    construct,
    it,
    load,
    mode,
    normal,
    shown,
    weights,
)

from ..modules import starts, structure
from ..steps import (
    BATCH,
    FEATURES,
    HEADS,
    SENTENCE,
    TOKENS,
    WIDTH,
    Sizes,
    copied,
    with_an_equal_row,
)


def cases(pick):
    """Return cases (b, n, m, d_in, d_context, head_dim, heads), all different if possible."""
    draw = Sizes(pick, "CrossAttention")
    many_texts, long, d_in, width = draw(BATCH, TOKENS, FEATURES, WIDTH)
    (many,) = draw(HEADS)
    sizes = pick(
        public=[(2, 3, 5, 4, 6, 3, 2), (1, 5, 2, 3, 4, 2, 3)],
        hidden=[
            (3, 4, 6, 5, 2, 4, 3),
            (1, long, 3, 1, 5, 2, many),
            (many_texts, 2, 7, d_in, 3, width, 2),
            (2, 3, 1, 4, 1, 1, 1),
        ],
    )
    one_head = pick(public=[(2, 4, 3, 5, 2, 6, 1)], hidden=[(2, 3, 6, 2, 4, 5, 1)])
    masks = pick(
        public=[(2, 3, 5, "each pair"), (2, 3, 5, "each text")],
        hidden=[
            (3, 4, 6, "each pair"),
            (2, 1, 7, "one row"),
            (3, 4, 6, "all texts"),
            (3, 3, 4, "all texts"),
        ],
    )
    made: dict = {"d_in": 3, "d_context": 5, "d_out": 6, "num_heads": 2}
    twins = [construct(**made, qkv_bias=True) for _ in range(2)]
    return [
        shown("sentence/reads itself", *self_reading(), signature="ignored"),
        *(case(f"one head/{size}", *module(*size)) for size in one_head),
        *(case(f"values/{size}", *module(*size)) for size in sizes),
        case("values/square", *module(2, 4, 4, 4, 4, 2, 2)),
        case("values/float32", *module(2, 3, 5, 4, 6, 3, 2, dtype="float32"), dtype=torch.float32),
        case("bias/2 heads", *module(2, 4, 3, 5, 2, 3, 2, qkv_bias=True)),
        *(
            case(f"mask/{(b, n, m)} for {shape}", *masked(b, n, m, shape))
            for b, n, m, shape in masks
        ),
        case(
            "gradients/behind a mask for each text",
            *masked(3, 2, 5, "each text", heads=3, gradient=normal(3, 2, 9)),
        ),
        case("mask/and then none", *masked_once(2, 3, 4)),
        *(
            case(f"{group}/{number}", *steps, dtype=getattr(torch, dtype))
            for number, (group, dtype, steps) in enumerate(in_pairs(pick, draw))
        ),
        case("large/1e6", *masked(5, 8, 5, "each pair", factor=1000)),
        case(
            "gradients/in training",
            *module(2, 3, 4, 5, 2, 3, 2, qkv_bias=True, gradient=normal(2, 3, 6), training=True),
        ),
        case(
            "same/copies",
            *copied(twins, load(layers(3, 5, 6, True)), normal(2, 4, 3), context=normal(2, 3, 5)),
        ),
        case("order/exchanged", *exchanged(2, 3, 5)),
        *starts(**made),
        *(
            case(
                f"parameters/bias {bias}",
                *structure(**made, qkv_bias=bias),
                signature="structure",
            )
            for bias in (False, True)
        ),
    ]


def layers(d_in, d_context, d_out, bias=False, factor=1):
    """Return weights of the projections. factor: on the weights of queries and keys."""
    values = {
        "W_query.weight": factor * weights(d_out, d_in),
        "W_key.weight": factor * weights(d_out, d_context),
        "W_value.weight": weights(d_out, d_context),
        "out_proj.weight": weights(d_out, d_out),
        "out_proj.bias": weights(d_out),
    }
    biases = {f"{name}.bias": weights(d_out) for name in ("W_query", "W_key", "W_value")}
    return values | (biases if bias else {})


def made(d_in, d_context, d_out, heads, factor=1, dtype="float64", training=False, **settings):
    """Construct the module and load all weights."""
    sizes = {"d_in": d_in, "d_context": d_context, "d_out": d_out, "num_heads": heads}
    bias = settings.get("qkv_bias", False)
    return (
        construct(**sizes, **settings, dtype=dtype),
        load(layers(d_in, d_context, d_out, bias, factor)),
        mode(training),
    )


def module(b, n, m, d_in, d_context, width, heads, gradient=None, **settings):
    """Return a call without a mask."""
    texts = {"x": normal(b, n, d_in), "context": normal(b, m, d_context)}
    return *made(d_in, d_context, width * heads, heads, **settings), call(
        gradient=gradient, **texts
    )


# Ranges of b, n and m; one of them is unusual.
TEXTS, ONE_TEXT = ((2, 4), (1, 8), (1, 8)), ((1, 1), (2, 8), (2, 8))
LARGE_N, LARGE_M = ((2, 4), TOKENS, (1, 8)), ((2, 4), (1, 8), TOKENS)


def in_pairs(pick, draw):
    """Yield combinations of options as (group, dtype, steps), with all pairs. Hidden cases only."""
    masks: tuple = ("", "each pair", "each text", "all texts", "one row")
    options: dict = {"mask": masks, "heads": (1, 2, "many"), "dtype": ("float64", "float32")}
    options |= dict.fromkeys(("qkv_bias", "training", "gradient"), (False, True))
    for at, row in enumerate(draw.pairs(**options) if pick.hidden else ()):
        b, n, m, *many = draw(*(TEXTS, LARGE_N, LARGE_M, ONE_TEXT)[at % 4], HEADS)
        mask, heads, gradient = row.pop("mask"), row.pop("heads"), row.pop("gradient")
        heads = many[0] if heads == "many" else heads
        asked = row | ({"gradient": normal(b, n, 3 * heads)} if gradient else {})
        if mask:
            steps = masked(b, n, m, mask, heads, **asked)
        else:
            steps = module(b, n, m, 4, 3, 3, heads, **asked)
        plainly = "bias" if row["qkv_bias"] else "one head" if heads == 1 else "values"
        yield "gradients" if gradient else "mask" if mask else plainly, row["dtype"], steps


def masked(b, n, m, shape, heads=2, gradient=None, **settings):
    """Return a call with a mask for each pair of tokens, for each text, or for all texts."""
    sizes: dict = {"each pair": (b, n, m), "each text": (b, 1, m)}
    sizes |= {"all texts": (n, m), "one row": (1, 1, m)}
    mask = computed(some_hidden, normal(*sizes[shape]))
    texts = {"x": normal(b, n, 4), "context": normal(b, m, 3)}
    return *made(4, 3, 3 * heads, heads, **settings), call(gradient=gradient, **texts, mask=mask)


def masked_once(b, n, m):
    """Return a call with a mask and one without, on texts with two equal tokens.

    No mask may be remembered.
    """
    texts, others = ({"x": normal(b, n, 4), "context": normal(b, m, 3)} for _ in range(2))
    others = {name: computed(with_an_equal_row, text) for name, text in others.items()}
    mask = computed(some_hidden, normal(b, n, m))
    return (
        *made(4, 3, 6, 2),
        call(**texts, mask=mask, result="first"),
        call(**others),
    )


def some_hidden(numbers: torch.Tensor) -> torch.Tensor:
    """Return about half of the places; each row has at least one visible place."""
    return (numbers > 0) & (numbers < numbers.amax(dim=-1, keepdim=True))


def half_hidden(numbers: torch.Tensor) -> torch.Tensor:
    """Return less than half of the places, but at least one if there are three or more."""
    return numbers < numbers.median()


def exchanged(b, n, m):
    """Return calls with the context and its mask in reverse order: the sum must not change."""
    x, context = normal(b, n, 4), normal(b, m, 3)
    mask = computed(half_hidden, normal(m))  # one for all texts and all queries
    turned = {
        "context": computed(turned_round, context, 1),
        "mask": computed(turned_round, mask, 0),
    }
    return (
        *made(4, 3, 6, 2),
        call(x=x, context=context, mask=mask),
        call(x=x, **turned, result="exchanged"),
    )


def turned_round(tensor: torch.Tensor, dim: int) -> torch.Tensor:
    """Return a tensor with one dimension reversed."""
    return tensor.flip(dim)


def self_reading():
    """Return a call in which the sentence attends to itself, with seed 123."""
    text = torch.stack((SENTENCE, SENTENCE))
    sizes = {"d_in": 3, "d_context": 3, "d_out": 4, "num_heads": 2}
    return construct(**sizes, seed=123, dtype="float32"), call(x=text, context=text)


CHECKS = [
    check(0, "It runs on the sentence as its own context (seed 123).", it.answered("sentence")),
    check(
        3, "With one head: queries from x, keys and values from the context.", it.agrees("one head")
    ),
    check(
        6, "With several heads, and two texts of different lengths and widths.", it.agrees("values")
    ),
    check(
        4,
        "True hides, in a mask for each pair of tokens, for each text, or for all texts.",
        it.agrees("mask"),
    ),
    check(
        1,
        "The order of the context does not matter if its mask has the same order.",
        it.agrees("order", only="result"),
        it.gives_the_same("order"),
    ),
    check(
        1,
        "Scores of a million do not overflow, and hidden scores are lower still.",
        it.agrees("large"),
    ),
    check(1, "With `qkv_bias=True` each input projection adds its bias.", it.agrees("bias")),
    check(
        2.5, "Gradients reach both texts and all weights.", it.agrees("gradients", only="gradient")
    ),
    check(
        1,
        "Three input projections and an output projection, and no other parameters.",
        it.has_parameters("parameters"),
        it.starts_alive("start"),
    ),
    check(
        0.5,
        "The input stays unchanged; a copy, or a loaded `state_dict`, gives the same result.",
        it.keeps_inputs("values", "mask", "bias"),
        it.gives_the_same("same"),
    ),
]

MISTAKES = """
context_for_queries: x and the context are swapped: make queries from x, keys and values from the
  context.
    queries = self.W_query(x) -> queries = self.W_key(context)
    keys = self.W_key(context) -> keys = self.W_query(x)
keys_from_x: The keys come from x, but should come from the context.
    keys = self.W_key(context) -> keys = self.W_key(x)
values_from_x: The values come from x, but should come from the context.
    values = self.W_value(context) -> values = self.W_value(x)
context_ignored: The context is never used: x attends to itself.
    keys = self.W_key(context) -> keys = self.W_key(x)
    values = self.W_value(context) -> values = self.W_value(x)
    m = context.shape[1] -> m = n
cross_mask_ignored: The mask is never applied.
    attn_scores = attn_scores.masked_fill(hidden, -torch.inf) -> pass
cross_mask_shows: True in the mask is treated as visible. In this course True means hidden.
    - attn_scores = attn_scores.masked_fill(hidden, -torch.inf)
    + attn_scores = attn_scores.masked_fill(~hidden, -torch.inf)
mask_meets_the_heads: In a mask with one row for each text, the batch lines up with the heads. Add a
  dimension for the heads right after the batch.
    hidden = mask.expand(b, n, m).unsqueeze(1) -> hidden = mask
mask_filled_too_high: Hidden scores are set to 0 or nearly 0. The softmax gives a score of 0 a
  weight like any other.
    - attn_scores = attn_scores.masked_fill(hidden, -torch.inf)
    + attn_scores = attn_scores.masked_fill(hidden, 0.0)
mask_needed: It fails without a mask. The mask may be None; then nothing is hidden.
    if mask is not None: -> if True:
causal_here_too: The future is hidden, as in causal attention. All of the context is known from the
  start.
    - d_k = keys.shape[-1]
    + future = torch.ones(n, m, device=x.device).triu(1).bool()
    + attn_scores = attn_scores.masked_fill(future, -torch.inf)
    + d_k = keys.shape[-1]
context_width_is_d_in: Keys and values are projected from d_in features, but the context has
  d_context.
    self.W_key = nn.Linear(d_context, -> self.W_key = nn.Linear(d_in,
    self.W_value = nn.Linear(d_context, -> self.W_value = nn.Linear(d_in,
"""
