"""Cases, checks and known mistakes of the exercise LatentAttention."""

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
    moved,
    normal,
    shown,
    weights,
)

from ..attention_modules import without_token_1
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
    """Return cases (b, n, d_in, d_latent, width of a head, heads, context_length)."""
    draw = Sizes(pick, "LatentAttention")
    b, n, d_in, width = draw(BATCH, TOKENS, FEATURES, WIDTH)
    (many,) = draw(HEADS)
    sizes = pick(
        public=[(2, 5, 4, 3, 2, 2, 5), (1, 4, 5, 2, 3, 2, 4)],
        hidden=[(3, 4, 6, 2, 3, 2, 4), (1, n, 1, 4, 2, many, n), (b, 3, d_in, 5, width, 2, 3)],
    )
    made: dict = {"d_in": 3, "d_out": 4, "d_latent": 2, "context_length": 6, "num_heads": 2}
    twins = [construct(**made) for _ in range(2)]
    return [
        shown(
            "sentence/a latent of 2",
            construct(**made, seed=123, dtype="float32"),
            call(x=SENTENCE[None]),
            signature="ignored",
        ),
        *(case(f"values/{size}", *module(*size)) for size in sizes),
        case("values/zero scores", *module(2, 4, 3, 5, 2, 2, 4, change=without_token_1)),
        case("values/square", *module(2, 4, 4, 4, 2, 2, 4)),
        *(
            case("values/equal tokens", *module(*size, change=with_an_equal_row))
            for size in pick(public=[], hidden=[(1, 5, 4, 2, 3, 2, 6)])
        ),
        case("values/float32", *module(2, 5, 4, 3, 2, 2, 5, dtype="float32"), dtype=torch.float32),
        *(
            case(f"short/{size[1]} tokens of {size[-1]}", *module(*size))
            for size in [
                (2, 3, 4, 2, 2, 3, 7),
                (1, 6, 3, 2, 2, 2, 8),
                *pick(public=[], hidden=[(2, 1, 3, 1, 1, 1, 4)]),
            ]
        ),
        # Many texts, because a fill that is not low enough only shows if visible scores are lower.
        case("large/1e6", *module(8, 4, 3, 2, 3, 2, 4, factor=1000)),
        case(
            "gradients/in training",
            *module(2, 4, 3, 2, 3, 2, 5, gradient=normal(2, 4, 6), training=True),
        ),
        case("gradients/in evaluation", *module(1, 5, 7, 3, 2, 2, 5, gradient=normal(1, 5, 4))),
        case("same/copies", *copied(twins, load(layers(3, 4, 2)), normal(2, 5, 3))),
        case("parameters/2 heads", *structure(**made), signature="structure"),
        *starts(**made),
        case(
            "moved/in training",
            construct(**made, dtype="float32"),
            moved(x=normal(2, 4, 3)),
            dtype=torch.float32,
            signature="ignored",
        ),
    ]


def layers(d_in, d_out, d_latent, factor=1):
    """Return weights of all projections. factor: on the weights of queries and keys."""
    return {
        "W_query.weight": factor * weights(d_out, d_in),
        "W_down.weight": weights(d_latent, d_in),
        "W_key_up.weight": factor * weights(d_out, d_latent),
        "W_value_up.weight": weights(d_out, d_latent),
        "out_proj.weight": weights(d_out, d_out),
        "out_proj.bias": weights(d_out),
    }


def module(
    b,
    n,
    d_in,
    d_latent,
    width,
    heads,
    context,
    *,
    factor=1,
    dtype="float64",
    gradient=None,
    training=False,
    change=torch.clone,
):
    """Construct the module, load all weights, and call it on b rows of n tokens after `change`."""
    sizes = {"d_in": d_in, "d_out": width * heads, "d_latent": d_latent}
    return (
        construct(**sizes, context_length=context, num_heads=heads, dtype=dtype),
        load(layers(d_in, width * heads, d_latent, factor)),
        mode(training),
        call(gradient=gradient, x=computed(change, normal(b, n, d_in))),
    )


CHECKS = [
    check(0, "It runs on the sentence (seed 123).", it.answered("sentence")),
    check(6, "Keys and values come from the latent, for several heads.", it.agrees("values")),
    check(1, "Texts shorter than context_length.", it.agrees("short")),
    check(0.5, "Scores of a million do not overflow.", it.agrees("large")),
    check(1.5, "Gradients reach x and all weights.", it.agrees("gradients", only="gradient")),
    check(
        0.5,
        "One projection down, two up, a bias only in the output; the mask is a registered buffer.",
        it.has_parameters("parameters"),
        it.starts_alive("start"),
        it.has_buffer("parameters", "mask"),
        it.moves_as_a_whole("moved"),
    ),
    check(
        0.5,
        "The input stays unchanged; a copy, or a loaded `state_dict`, gives the same result.",
        it.keeps_inputs("values"),
        it.gives_the_same("same"),
    ),
]

MISTAKES = """
queries_from_the_latent: The queries come from the latent too. They need not be cached, so they are
  projected from x.
    self.W_query = nn.Linear(d_in, -> self.W_query = nn.Linear(d_latent,
    queries = self.W_query(x) -> queries = self.W_query(latent)
two_latents: Keys and values have separate latents; one should serve both.
    - self.W_key_up =
    + self.W_down_value = nn.Linear(d_in, d_latent, bias=False)
    + self.W_key_up =
    self.W_value_up(latent) -> self.W_value_up(self.W_down_value(x))
latent_scale: The scale comes from the latent. The dot products run over head_dim numbers.
    d_k = keys.shape[-1] -> d_k = latent.shape[-1]
key_and_value_up_exchanged: Keys and values are swapped, in the projections up or after them.
    keys = self.W_key_up(latent) -> keys = self.W_value_up(latent)
    values = self.W_value_up(latent) -> values = self.W_key_up(latent)
values_are_keys: The weights mix the keys. Are the values projected like the keys, or not used?
  Values have their own projection, and the weights mix them.
    values = self.W_value_up(latent) -> values = self.W_key_up(latent)
latent_activated: The latent goes through an activation; there should be none.
    latent = self.W_down(x) -> latent = torch.relu(self.W_down(x))
all_with_a_bias 20%: The projections have biases; only the output projection should have one.
    self.W_query = nn.Linear(d_in, d_out, bias=False) -> self.W_query = nn.Linear(d_in, d_out)
    self.W_down = nn.Linear(d_in, d_latent, bias=False) -> self.W_down = nn.Linear(d_in, d_latent)
    - self.W_key_up = nn.Linear(d_latent, d_out, bias=False)
    + self.W_key_up = nn.Linear(d_latent, d_out)
    - self.W_value_up = nn.Linear(d_latent, d_out, bias=False)
    + self.W_value_up = nn.Linear(d_latent, d_out)
down_with_a_bias 20%: The projection down has a bias; only the output projection should have one.
    self.W_down = nn.Linear(d_in, d_latent, bias=False) -> self.W_down = nn.Linear(d_in, d_latent)
"""
