"""Cases, checks and known mistakes of the exercise LatentAttention."""

from tensorgrade.author import call, check, construct, it, shown, weights

from ..attention_modules import FEW, LONGEST, AttentionModule
from ..steps import SENTENCE
from ..usual import COPIED, GRADIENTS, SAME


def layers(d_in, d_out, d_latent, **_):
    """Return weights of all projections; the output has a bias."""
    return {
        "W_query.weight": weights(d_out, d_in),
        "W_down.weight": weights(d_latent, d_in),
        "W_key_up.weight": weights(d_out, d_latent),
        "W_value_up.weight": weights(d_out, d_latent),
        "out_proj.weight": weights(d_out, d_out),
        "out_proj.bias": weights(d_out),
    }


FEW = FEW | {"b": (19, 20), "d_latent": (36, 37)}
MODULE = AttentionModule(
    layers, "d_in d_out d_latent context_length num_heads", few=FEW, d_latent=6
)


def cases(draw):
    """Return cases with a latent that is wider and one that is narrower than a head."""
    first = construct(
        **MODULE.arguments(n=6, d_in=3, width=2, heads=2, d_latent=2), seed=123, dtype="float32"
    )
    example = {"b": 1, "n": 3, "room": 3, "d_in": 16, "width": 8, "heads": 2, "d_latent": 4}
    return [
        shown("sentence/a latent of 2", first, call(x=SENTENCE[None]), signature="ignored"),
        *MODULE.values("values", example, MODULE.drawn(draw, LONGEST, b=1, d_latent=9)),
        *MODULE.values("values", MODULE.drawn(draw, FEW)),
        *MODULE.values("short", MODULE.drawn(draw, FEW, room=40)),
        *MODULE.always(draw, bias=False, constants=()),
        *MODULE.causal(draw),
    ]


CHECKS = [
    check(0, "It runs on the sentence (seed 123).", it.answered("sentence")),
    check(6, "Keys and values come from the latent, for several heads.", it.agrees("values")),
    check(1, "Texts shorter than context_length.", it.agrees("short")),
    check(0.5, "Scores of a million do not overflow.", it.agrees("large")),
    check(1.5, "Gradients reach x and all weights.", GRADIENTS),
    check(
        0.5,
        "One projection down, two up, a bias only in the output; the mask is a registered buffer.",
        it.has_parameters("parameters"),
        it.starts_alive("start"),
        it.has_buffer("parameters", "mask"),
        it.moves_as_a_whole("moved"),
    ),
    check(0.5, COPIED, it.keeps_inputs("values"), SAME),
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
    W_key_up = nn.Linear(d_latent, d_out, bias=False) -> W_key_up = nn.Linear(d_latent, d_out)
    W_value_up = nn.Linear(d_latent, d_out, bias=False) -> W_value_up = nn.Linear(d_latent, d_out)
down_with_a_bias 20%: The projection down has a bias; only the output projection should have one.
    self.W_down = nn.Linear(d_in, d_latent, bias=False) -> self.W_down = nn.Linear(d_in, d_latent)
"""
