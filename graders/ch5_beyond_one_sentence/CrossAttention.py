"""Cases, checks and known mistakes of the exercise CrossAttention."""

import torch

from tensorgrade.author import call, case, check, computed, construct, it, normal, shown, weights

from ..attention_modules import FEW, LONGEST, AttentionModule, averaging, enlarged
from ..modules import starts
from ..steps import QKV, SENTENCE
from ..usual import COPIED, FOUR_LAYERS, GRADIENTS, SAME


class Cross(AttentionModule):
    """The cases of attention from a text of n tokens to a context of m."""

    def inputs(self, *, change=torch.clone, mask="", **sizes) -> dict:
        """Return a call's arguments. mask: for what there is one, if there is one."""
        b, n, m, d_context = (sizes[name] for name in ("b", "n", "m", "d_context"))
        context = min(1.0, 8 / d_context) * normal(b, m, d_context)
        given = super().inputs(change=change, **sizes) | {"context": computed(change, context)}
        shapes = {"each pair": (b, n, m), "each text": (b, 1, m), "all texts": (n, m)}
        shapes |= {"all rows": (1, 1, m), "everything": (m,)}
        hidden = {"mask": computed(low_half, normal(*shapes[mask]))} if mask else {}
        return given | hidden


def layers(d_in, d_context, d_out, qkv_bias=False, **_):
    """Return weights of the projections."""
    values = {f"{name}.weight": weights(d_out, d_context) for name in QKV}
    values |= {"W_query.weight": weights(d_out, d_in)}
    values |= {"out_proj.weight": weights(d_out, d_out), "out_proj.bias": weights(d_out)}
    return values | ({f"{name}.bias": weights(d_out) for name in QKV} if qkv_bias else {})


def low_half(numbers: torch.Tensor) -> torch.Tensor:
    """Return True for the numbers below the median of their row: always less than half of it."""
    return numbers < numbers.median(dim=-1, keepdim=True).values


CONTEXT = {"m": (36, 37), "d_context": (40, 41)}
MANY = LONGEST | CONTEXT | {"m": (151, 170)}
FEWER = {name: range_ for name, range_ in (FEW | CONTEXT).items() if name != "b"}
MODULE = Cross(layers, "d_in d_context d_out num_heads", few=FEWER, b=10, m=6, d_context=13)


def cases(draw):
    """Return cases with a mask and without one."""
    drawn, few = MODULE.drawn, MODULE.few
    # If few tokens are visible, all their scores can be lower than a fill that is not low enough.
    large = {name: range_ for name, range_ in few.items() if name != "m"}
    example = {"b": 1, "n": 1, "m": 3, "d_in": 1, "d_context": 1, "width": 1, "heads": 1}
    first = construct(
        **MODULE.arguments(d_in=3, d_context=3, width=2, heads=2), seed=123, dtype="float32"
    )
    text = torch.stack((SENTENCE, SENTENCE))
    return [
        shown("sentence/reads itself", first, call(x=text, context=text), signature="ignored"),
        *MODULE.values("one head", drawn(draw, few, heads=1)),
        *MODULE.values("values", example | {"weights": averaging}, {"n": 6, "m": 6}),
        *MODULE.values("values", drawn(draw, MANY, b=1), drawn(draw, few)),
        case("values/one after another", *MODULE.in_turn()),
        *MODULE.values("bias", drawn(draw, few, qkv_bias=True)),
        *MODULE.values("mask", *({"mask": kind} for kind in ("each text", "all rows"))),
        *MODULE.values("mask", {"mask": "each pair", "training": True, "qkv_bias": True}),
        *MODULE.values("mask", {"mask": "all texts", "n": 9, "dtype": "float32"}),
        *MODULE.values("mask", drawn(draw, MANY, b=1, mask="each pair")),
        case("mask/and then none", *masked_once()),
        *MODULE.values("large", drawn(draw, large, m=4, mask="each pair", weights=enlarged)),
        case("order/exchanged", *exchanged()),
        *MODULE.always(draw, mask="each text"),
        *starts(**MODULE.arguments()),
    ]


def masked_once():
    """Return a call with a mask and one without: no mask may be remembered."""
    masked, other = (MODULE.inputs(**MODULE.usual, mask=mask) for mask in ("each pair", ""))
    return *MODULE.made(), call(**masked, result="first"), call(**other)


def exchanged():
    """Return calls with the context and its mask in reverse order: the sum must not change."""
    given = MODULE.inputs(**MODULE.usual, mask="everything")
    turned = {"context": computed(torch.flip, given["context"], (1,))}
    turned |= {"mask": computed(torch.flip, given["mask"], (0,))}
    return *MODULE.made(), call(**given), call(**given | turned, result="exchanged")


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
    check(2.5, "Gradients reach both texts and all weights.", GRADIENTS),
    check(1, *FOUR_LAYERS),
    check(0.5, COPIED, it.keeps_inputs("values", "mask", "bias"), SAME),
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
    masked_fill(hidden, -> masked_fill(~hidden,
mask_meets_the_heads: In a mask with one row for each text, the batch lines up with the heads. Add a
  dimension for the heads right after the batch.
    hidden = mask.expand(b, n, m).unsqueeze(1) -> hidden = mask
mask_filled_too_high: Hidden scores are set to 0 or nearly 0. The softmax gives a score of 0 a
  weight like any other.
    masked_fill(hidden, -torch.inf) -> masked_fill(hidden, 0.0)
mask_needed: It fails without a mask. The mask may be None; then nothing is hidden.
    if mask is not None: -> if True:
context_width_is_d_in: Keys and values are projected from d_in features, but the context has
  d_context.
    self.W_key = nn.Linear(d_context, -> self.W_key = nn.Linear(d_in,
    self.W_value = nn.Linear(d_context, -> self.W_value = nn.Linear(d_in,
"""
