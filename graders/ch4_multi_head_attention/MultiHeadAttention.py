"""Cases, checks and known mistakes of the exercise MultiHeadAttention."""

import torch

from tensorgrade.author import (
    call,
    case,
    check,
    construct,
    it,
    load,
    normal,
    shown,
    weights,
)

from ..attention_modules import (
    called,
    changed_future,
    dropped_weights,
    equal_tokens,
    in_pairs,
    large_scores,
    low_scores,
    on_another_device,
    options_of_dropout,
    rates,
    short_then_long,
    zero_scores,
)
from ..modules import linear_layers, starts, structure
from ..steps import LONG, SENTENCE, Sizes, copied


def cases(pick):
    """Return cases with several numbers of heads, and a head_dim unlike every other size."""
    draw = Sizes(pick, "MultiHeadAttention")
    one_head = pick(public=[(2, 5, 3, 4)], hidden=[(2, 5, 3, 4)])
    sizes = pick(
        public=[(2, 6, 3, 4, 2), (1, 5, 4, 9, 3)],
        hidden=[
            (3, 4, 6, 12, 4),
            (2, 3, 4, 1, 1),
        ],
    )
    short = pick(
        public=[(2, 3, 4, 6, 2, 7)],
        hidden=[(1, 1, 3, 4, 2, *draw(LONG))],
    )
    made: dict = {"d_in": 3, "d_out": 2, "context_length": 6, "dropout": 0.0, "num_heads": 2}
    pairs = in_pairs(pick, draw, heads=(1, "few", "many"))
    twins = [construct(**made | {"d_out": 4}, qkv_bias=True) for _ in range(2)]
    equal = pick(public=[], hidden=[(2, 5, 3, 6)])
    few, most = rates(pick, "MultiHeadAttention")
    (tokens,) = draw((19, 22))
    thinned = pick(
        public=[("dropout", 8, 20, 0.3, 1), ("dropout in heads", 4, 12, 0.4, 3)],
        hidden=[
            ("dropout", 8, tokens, most, 1),
            ("dropout", 1, 2 * tokens, few, 1),
            ("dropout in heads", 6, 8, 0.4, *draw((5, 7))),
        ],
    )
    options = options_of_dropout(pick, "MultiHeadAttention", [group for group, *_ in thinned])
    twice = call(x=torch.stack((SENTENCE, SENTENCE)))
    return [
        shown(
            "sentence/seed 123, twice",
            construct(**made, seed=123, dtype="float32"),
            twice,
            signature="ignored",
        ),
        *(case(f"one head/{size}", *module(*size, 1, size[1])) for size in one_head),
        *(
            case(f"values/{heads} heads {tuple(size)}", *module(*size, heads, size[1]))
            for *size, heads in sizes
        ),
        *(
            case(
                f"{group}/{number}",
                *module(b, n, d_in, heads * width, heads, context, **settings),
                dtype=getattr(torch, settings["dtype"]),
            )
            for number, (group, settings, (b, n, d_in, context, width, heads)) in enumerate(pairs)
        ),
        # With equal sizes, mistakes that raise an error elsewhere give values that identify them.
        case("values/square", *module(2, 2, 4, 4, 2, 2)),
        case("values/heads of one feature", *module(2, 4, 1, 2, 2, 4)),
        case("values/float32", *module(2, 5, 4, 6, 2, 5, dtype="float32"), dtype=torch.float32),
        case("values/low scores", *low_scores(layers(3, 8), 2, 4, 3, 8, num_heads=2)),
        case("values/zero scores", *zero_scores(layers(3, 6), 2, 4, 3, 6, num_heads=2)),
        *(
            case("values/equal tokens", *equal_tokens(layers(3, 6), *size, num_heads=2))
            for size in equal
        ),
        case("short/2 tokens, then 5", *short_then_long(layers(3, 6), 3, 6, num_heads=2)),
        *(case(f"short/{size[1]} tokens of {size[-1]}", *module(*size)) for size in short),
        *(
            case(f"bias/{size}", *module(*size, bias=True))
            for size in pick(public=[(2, 4, 3, 6, 2, 5)], hidden=[])
        ),
        case("large/1e6", *large_scores(layers(3, 6), 4, 4, 3, 6, num_heads=2)),
        case(
            "gradients/in training",
            *module(2, 4, 3, 6, 2, 5, bias=True, gradient=True, training=True),
        ),
        case(
            "gradients/of weights in evaluation",
            *module(
                1, 3, 7, 6, 3, 3, gradient=True, constants=["x"], dropout=most, dtype="float32"
            ),
            dtype=torch.float32,
        ),
        case("same/copies", *copied(twins, load(layers(3, 4, True)), normal(2, 5, 3))),
        *starts(**made | {"d_out": 6}),
        case("future/cut 3", *changed_future(layers(3, 6), 6, 3, 3, 6, num_heads=2)),
        *(
            case(
                f"{group}/p {p}",
                *dropped(b, n, p, heads, **more),
                dtype=getattr(torch, more.get("dtype", "float64")),
                signature="dropped weights",
                rate="dropout",
                parts="num_heads",
            )
            for (group, b, n, p, heads), more in zip(thinned, options, strict=True)
        ),
        *(
            case(
                f"parameters/bias {bias}",
                *structure(
                    **made | {"d_out": 6, "context_length": 5, "dropout": 0.1}, qkv_bias=bias
                ),
                signature="structure",
            )
            for bias in (False, True)
        ),
        *(
            case(
                f"indivisible/{d_out} by {heads}",
                *structure(**made | {"d_out": d_out, "context_length": 5, "num_heads": heads}),
                signature="error",
            )
            for d_out, heads in pick(public=[(7, 2)], hidden=draw.uneven(5))
        ),
        case("operations/growth", *watched("few", 2), *watched("many", 8), signature="growth"),
        # Last, because values that learner code caches there cannot help it anywhere else.
        case(
            "moved/in training",
            *on_another_device(5, 3, 4, num_heads=2),
            dtype=torch.float32,
            signature="ignored",
        ),
    ]


def module(*sizes: int, bias=False, **settings):
    """Construct the module, load all weights, and call it on b rows of n tokens.

    sizes: b, n, d_in, d_out, heads, context_length.
    """
    b, n, d_in, d_out, heads, context = sizes
    settings |= {"num_heads": heads} | ({"qkv_bias": True} if bias else {})
    return called(layers(d_in, d_out, bias), b, n, d_in, d_out, context, **settings)


def layers(d_in, d_out, bias=False):
    """Return weights of three input projections and an output projection, which has a bias."""
    return linear_layers(d_in, d_out, bias) | {
        "out_proj.weight": weights(d_out, d_out),
        "out_proj.bias": weights(d_out),
    }


def dropped(b, n, p, heads, **more):
    """Return steps with an identity as output projection, so that the result shows the weights."""
    d_out = 2 * n * heads
    identity = {
        "out_proj.weight": torch.eye(d_out, dtype=torch.float64),
        "out_proj.bias": torch.zeros(d_out, dtype=torch.float64),
    }
    return dropped_weights(b, n, p, identity, heads, num_heads=heads, **more)


def watched(result, heads):
    """Return a watched call: the number of matrix products must not grow with the heads."""
    made = construct(d_in=3, d_out=8, context_length=5, dropout=0.0, num_heads=heads)
    return made, call(x=normal(2, 5, 3), watch=True, result=result)


CHECKS = [
    check(
        0,
        "It runs on a batch that contains the sentence twice (seed 123).",
        it.answered("sentence"),
    ),
    check(
        3,
        "With one head, it is causal attention followed by an output projection.",
        it.agrees("one head"),
    ),
    check(8, "With several heads.", it.agrees("values")),
    check(1, "Scores of ten thousand do not overflow.", it.agrees("large")),
    check(4, "Texts shorter than context_length.", it.agrees("short")),
    check(2, "With `qkv_bias=True` each input projection adds its bias.", it.agrees("bias")),
    check(
        2,
        "Later tokens do not change earlier results, in training or in evaluation.",
        it.sees_no_future("future"),
        it.hides_in_training("dropout"),
    ),
    check(1, "In evaluation nothing is dropped.", it.agrees("dropout", only="plain")),
    check(
        3,
        "In training, single attention weights are dropped and the others scaled up.",
        it.drops_both_halves("dropout"),
        it.drops_entries("dropout in heads", twice=True),
    ),
    check(3, "Gradients reach x and all weights.", it.agrees("gradients", only="gradient")),
    check(
        0.75,
        "A d_out that num_heads does not divide raises an error.",
        it.refuses(
            "indivisible",
            "a d_out that num_heads does not divide is accepted; raise an error when the "
            "module is created",
        ),
    ),
    check(
        0.75,
        "All heads are computed at once: more heads need no more operations.",
        it.mixes_tokens("future"),
        it.does_not_grow("operations", "more heads take more operations"),
    ),
    check(0.25, "The mask is a buffer named `mask`.", it.has_buffer("parameters", "mask")),
    check(
        0.25,
        "All its tensors move with it to another device, such as a GPU.",
        it.mixes_tokens("future"),
        it.moves_as_a_whole("moved"),
    ),
    check(
        0.5,
        "Three input projections and an output projection, and no other parameters.",
        it.has_parameters("parameters"),
        it.starts_alive("start"),
    ),
    check(
        0.5,
        "The input stays unchanged; a copy, or a loaded `state_dict`, gives the same result.",
        it.mixes_tokens("future"),
        it.keeps_inputs("values", "bias", "gradients", "same"),
        it.gives_the_same("same"),
    ),
]

SOFTMAX = "torch.softmax(attn_scores / d_k**0.5, dim=-1)"

MISTAKES = """
softmax_over_heads 40%: The softmax runs over the heads, so the heads compete for each pair of
  tokens instead of each distributing its own attention.
    , dim=-1) -> , dim=1)
dropout_on_output_too: Dropout acts on the weights, and then again on the values or the output. It
  should act on the weights only.
    return self.out_proj(context_vec) -> return self.dropout(self.out_proj(context_vec))
dropout_pattern_shared_by_heads: All heads drop the same entries. Drop each weight of each head
  independently.
    - attn_weights = self.dropout(attn_weights)
    + attn_weights = attn_weights * self.dropout(torch.ones_like(attn_weights[:, :1]))
no_output_projection: The heads are joined but not mixed: the output projection is not applied.
    return self.out_proj(context_vec) -> return context_vec
output_projection_twice 30%: The output projection is applied twice.
    return self.out_proj(context_vec) -> return self.out_proj(self.out_proj(context_vec))
output_projection_from_d_in: The output projection expects d_in features, but the joined heads have
  d_out.
    nn.Linear(d_out, d_out) -> nn.Linear(d_in, d_out)
output_projection_without_bias 20%: The output projection has no bias; it should always have one.
    nn.Linear(d_out, d_out) -> nn.Linear(d_out, d_out, bias=False)
output_bias_tied_to_qkv_bias 20%: The output projection's bias follows `qkv_bias`, which is about
  queries, keys and values only.
    nn.Linear(d_out, d_out) -> nn.Linear(d_out, d_out, bias=qkv_bias)
keys_split_differently 40%: Queries and keys are split in different ways, so a head compares
  features that do not belong together.
    - keys = keys.reshape(b, num_tokens, self.num_heads, self.head_dim).transpose(1, 2)
    + keys = keys.reshape(b, self.num_heads, num_tokens, self.head_dim)
values_split_differently 40%: Values are split differently from queries and keys.
    - values = values.reshape(b, num_tokens, self.num_heads, self.head_dim).transpose(1, 2)
    + values = values.reshape(b, self.num_heads, num_tokens, self.head_dim)
heads_in_a_loop: The heads are computed one after another; compute them all at once.
    - queries @ keys.transpose(2, 3)
    + torch.stack(
    +     [queries[:, i] @ keys[:, i].transpose(1, 2) for i in range(self.num_heads)], dim=1
    + )
num_heads_unchecked: A d_out that is not divisible by num_heads is accepted; it should be refused
  with a clear error.
    if d_out % num_heads != 0: -> if False:
head_dim_from_d_in: head_dim is computed from d_in. The heads divide the projections' features,
  d_out.
    self.head_dim = d_out // num_heads -> self.head_dim = d_in // num_heads
"""
