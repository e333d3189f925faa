"""Cases, checks and known mistakes of the exercise TransformerBlock."""

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
    weights,
)

from ..modules import at_work, structure
from ..steps import BATCH, MODERATE, TOKENS, copied, with_an_equal_row
from ..usual import COPIED, GRADIENTS, SAME

# The names of a block's parts, with the shapes of their parameters for a width d.
PARTS = {
    "norm1.scale": (1,),
    "norm1.shift": (1,),
    "attention.projection.weight": (1, 1),
    "norm2.scale": (1,),
    "norm2.shift": (1,),
    "feed_forward.layers.0.weight": (4, 1),
    "feed_forward.layers.0.bias": (4,),
    "feed_forward.layers.2.weight": (1, 4),
    "feed_forward.layers.2.bias": (1,),
}


def cases(draw):
    """Return cases (b, n, d, context_length, heads) with substitute attention.

    Rows are spread so widely that LayerNorm's eps does not show: LayerNorm has its own exercise.
    """
    b, n, d, more = draw(BATCH, TOKENS, (25, 27), (33, 39))
    (few,) = draw(MODERATE)
    sizes = [(1, 5, 6, 7, 3), (2, 3, 1, 4, 1), (b, 1, d, 9, 1), (1, n, d, n + more, d)]
    small: dict = {"d": 4, "context_length": 5, "num_heads": 2}
    return [
        case("values/example", *module(2, 3, 8, 4, 2)),
        *(case(f"values/{size}", *module(*size)) for size in sizes),
        case("values/float32", *module(2, 3, 4, 5, 1, dtype="float32"), dtype=torch.float32),
        case("arguments/one head", *used(2, 3, 4, 11, 1, dropout=0.6)),
        case("arguments/drawn", *used(b, 8, few, n + 9, few, dropout=0.1)),
        *(
            case(
                f"dropout/of {part} {p}",
                *in_training(p, OTHERS[part]),
                signature="added",
                rate="dropout",
            )
            for part, p in [("attention", 0.3), ("feed forward", 0.7)]
        ),
        case(
            "both/of both parts",
            *in_training(0.6, BOTH, shape=(1, 30, 16), dtype="float32"),
            dtype=torch.float32,
            signature="both dropped",
            rate="dropout",
        ),
        case(
            "gradients/drawn", *module(b, 8, few, 9, 1, gradient=normal(b, 8, few), training=True)
        ),
        case("gradients/in evaluation", *module(1, 4, 6, 5, 3, gradient=normal(1, 4, 6))),
        case("same/copies", *copied(small | {"dropout": 0.0}, parts(4), normal(2, 3, 4))),
        case("parameters/4", *structure(**small, dropout=0.1), signature="structure"),
    ]


def parts(d, prefix=""):
    """Return weights of all parts; those of norms are scales and shifts."""
    return {
        prefix + name: weights(*(factor * d for factor in shape)) for name, shape in PARTS.items()
    }


def made(d, context, heads, dropout=0.0, dtype="float64", fixed=None):
    """Construct the module and load all weights. fixed: weights that are not random."""
    sizes = {"d": d, "context_length": context, "dropout": dropout, "num_heads": heads}
    return construct(**sizes, dtype=dtype), load(parts(d) | (fixed or {}))


def module(b, n, d, context, heads, *, gradient=None, training=False, **settings):
    """Return a call in evaluation, or in training, where only dropout differs."""
    steps = made(d, context, heads, **settings)
    return *steps, mode(training), call(x=10 * normal(b, n, d), gradient=gradient)


def used(b, n, d, *sizes, **settings):
    """Return a call in evaluation, without gradients, on texts with two equal tokens."""
    block, values = made(d, *sizes, **settings)
    x = computed(with_an_equal_row, 10 * normal(b, n, d))
    return block, values, *at_work(block, x=x)


# Weights with which the other part adds nothing, so that each number is dropped once.
OTHERS = {
    "attention": {
        "feed_forward.layers.2.weight": torch.zeros(16, 64),
        "feed_forward.layers.2.bias": torch.zeros(16),
    },
    "feed forward": {"attention.projection.weight": torch.zeros(16, 16)},
}
# Weights with which the feed-forward part adds the same number to each entry that is not dropped.
BOTH = {
    "feed_forward.layers.2.weight": torch.zeros(16, 64),
    "feed_forward.layers.2.bias": torch.full((16,), 100.0),
}


def in_training(p, other, shape=(3, 10, 16), dtype="float64"):
    """Return two calls in training and one in evaluation. other: weights of the other part."""
    x = 3 * normal(*shape)
    return (
        *made(16, 32, 2, dropout=p, fixed=other, dtype=dtype),
        mode(training=True),
        call(x=x, seed=1, result="dropped"),
        call(x=x, seed=None, no_grad=True, result="again"),
        mode(training=False),
        call(x=x, result="plain"),
    )


CHECKS = [
    check(7.6, "Normalise, compute, add; twice.", it.agrees("values")),
    check(
        2,
        "Attention gets the context_length, the dropout and the heads that are passed in.",
        it.agrees("arguments"),
    ),
    check(
        2,
        "In training, entries of both parts' results are dropped; in evaluation none.",
        it.agrees("dropout", only="plain"),
        it.drops_what_is_added("dropout"),
        it.drops_parts_apart("both"),
    ),
    check(
        2,
        "Gradients reach x and all weights, in training without dropout and in evaluation.",
        GRADIENTS,
    ),
    check(
        0.9,
        "Two norms, attention and a feed-forward part, and no other parameters.",
        it.has_parameters("parameters"),
    ),
    check(0.5, COPIED, it.keeps_inputs("values", "arguments"), SAME),
]

MISTAKES = """
nothing_added: The input is not added to the results of the parts.
    x + self.dropout(self.attention( -> self.dropout(self.attention(
    x + self.dropout(self.feed_forward( -> self.dropout(self.feed_forward(
attention_not_added: The input is not added to the result of attention.
    x + self.dropout(self.attention( -> self.dropout(self.attention(
feed_forward_not_added: The input of the feed-forward part is not added to its result.
    x + self.dropout(self.feed_forward( -> self.dropout(self.feed_forward(
norm_after_the_sum: The norms come after the sums. Each norm should come before its part.
    - x + self.dropout(self.attention(self.norm1(x)))
    + self.norm1(x + self.dropout(self.attention(x)))
    - x + self.dropout(self.feed_forward(self.norm2(x)))
    + self.norm2(x + self.dropout(self.feed_forward(x)))
results_normed: The norms are applied to the results of the parts. Each norm should come before its
  part.
    self.attention(self.norm1(x)) -> self.norm1(self.attention(x))
    self.feed_forward(self.norm2(x)) -> self.norm2(self.feed_forward(x))
normed_input_added: The normalised x is added. Add x from before the norm instead.
    x + self.dropout(self.attention( -> self.norm1(x) + self.dropout(self.attention(
    x + self.dropout(self.feed_forward( -> self.norm2(x) + self.dropout(self.feed_forward(
one_norm_for_both: One norm is used for both parts; each should have its own.
    self.norm2(x) -> self.norm1(x)
norms_are_one_object: Both norms are the same object, so they can never learn to differ.
    self.norm2 = LayerNorm(d) -> self.norm2 = self.norm1
feed_forward_without_norm: The feed-forward part gets x without its norm.
    self.norm2(x) -> x
attention_without_norm: Attention gets x without its norm.
    self.norm1(x) -> x
parts_in_the_other_order: Feed-forward comes before attention.
    self.attention(self.norm1(x)) -> self.feed_forward(self.norm1(x))
    self.feed_forward(self.norm2(x)) -> self.attention(self.norm2(x))
parts_side_by_side: Both parts start from the block's input. The second should start from the first
  sum.
    - x = x + self.dropout(self.attention(
    + start = x
    + x = x + self.dropout(self.attention(
    self.norm2(x) -> self.norm2(start)
first_input_added_twice: The second sum adds the block's input instead of x after attention.
    - x = x + self.dropout(self.attention(
    + start = x
    + x = x + self.dropout(self.attention(
    x + self.dropout(self.feed_forward( -> start + self.dropout(self.feed_forward(
one_sum_around_both: The block's input is added only once, after both parts. Each part needs its own
  sum.
    - x = x + self.dropout(self.attention(
    + start = x
    + x = self.dropout(self.attention(
    x + self.dropout(self.feed_forward( -> start + self.dropout(self.feed_forward(
first_sum_lost: The result of attention is never used: the second part starts from the block's input
  and is added to it.
    x = x + self.dropout(self.attention( -> y = x + self.dropout(self.attention(
block_dropout_left_out: Dropout never acts on the results of the parts in training.
    self.dropout(self.attention( -> (self.attention(
    self.dropout(self.feed_forward( -> (self.feed_forward(
attention_dropout_left_out: Dropout never acts on the result of attention in training.
    self.dropout(self.attention( -> (self.attention(
feed_forward_dropout_left_out: Dropout never acts on the result of the feed-forward part in
  training.
    self.dropout(self.feed_forward( -> (self.feed_forward(
dropout_on_the_sum: Dropout acts on too much or too early: on a sum, on x, or on the input of a
  part. It should act on a part's result, before that is added.
    x + self.dropout(self.attention( -> self.dropout(x + self.attention(
    x + self.dropout(self.feed_forward( -> self.dropout(x + self.feed_forward(
block_dropout_not_passed_on: Attention does not get the dropout rate that was passed in.
    dropout, num_heads) -> 0.0, num_heads)
one_head_only: Attention does not get the number of heads that was passed in.
    dropout, num_heads) -> dropout, 1)
block_input_overwritten: A tensor that was passed in is overwritten. The caller still needs its old
  values.
    x = x + self.dropout(self.attention( -> x += self.dropout(self.attention(
normed_input_added_to_attention 40%: The normalised x is added to the result of attention. Add x
  from before the norm instead.
    x + self.dropout(self.attention( -> self.norm1(x) + self.dropout(self.attention(
normed_input_added_to_feed_forward 40%: The normalised x is added to the result of the feed-forward
  part. Add x from before the norm instead.
    self.norm2(x) -> x
    - ))
    - x = x +
    + ))
    + x = self.norm2(x)
    + x = x +
attention_of_torch: `attention` is torch's nn.MultiheadAttention; it should be your own
  `MultiHeadAttention`.
    - self.attention = MultiHeadAttention(d, d, context_length, dropout, num_heads)
    + self.attention = nn.MultiheadAttention(d, num_heads, dropout=dropout, batch_first=True)
    - x = x + self.dropout(self.attention(self.norm1(x)))
    + normed = self.norm1(x)
    + future = torch.ones(x.shape[1], x.shape[1]).triu(1).bool()
    + x = x + self.dropout(self.attention(normed, normed, normed, attn_mask=future)[0])
"""
