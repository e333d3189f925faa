"""Cases, checks and known mistakes of the exercise FeedForward."""

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

from ..modules import at_work, starts, structure
from ..steps import BATCH, FEATURES, TOKENS, copied, with_an_equal_row
from ..usual import GRADIENTS, SAME


def cases(draw):
    """Return cases of several widths and ranks."""
    b, n, d = draw(BATCH, TOKENS, FEATURES)
    return [
        *(case(f"values/{s}", *used(*s)) for s in [(2, 3), (4,), (2, 3, 8), (b, 1, d), (n, 1)]),
        case("values/drawn", *used(n, d)),
        case("values/equal rows", *module(2, 5, 3, change=with_an_equal_row)),
        case("values/float32", *module(3, 4, dtype="float32"), dtype=torch.float32),
        case("gradients/drawn", *module(b, d, gradient=normal(b, d))),
        case("gradients/in evaluation", *module(5, gradient=normal(5), training=False)),
        case("same/copies", *copied({"d": 5}, layers(5), normal(2, 4, 5))),
        case("parameters/5", *structure(d=5), signature="structure"),
        *starts(d=5),
    ]


def layers(d):
    """Return weights and biases of both layers."""
    return {
        "layers.0.weight": weights(4 * d, d),
        "layers.0.bias": weights(4 * d),
        "layers.2.weight": weights(d, 4 * d),
        "layers.2.bias": weights(d),
    }


def module(*shape, dtype="float64", gradient=None, training=True, change=torch.clone):
    """Construct the module, load all weights, and call it on numbers after `change`."""
    made = construct(d=shape[-1], dtype=dtype)
    called = call(x=computed(change, normal(*shape)), gradient=gradient)
    return made, load(layers(shape[-1])), mode(training), called


def used(*shape):
    """Return the same in evaluation and without gradients."""
    made = construct(d=shape[-1])
    return made, load(layers(shape[-1])), *at_work(made, x=normal(*shape))


CHECKS = [
    check(3, "Four times the width, a GELU, and back.", it.agrees("values")),
    check(1, "Gradients reach x and all weights.", GRADIENTS),
    check(
        0.5,
        "Two linear layers with their biases, and no other parameters.",
        it.has_parameters("parameters"),
        it.starts_alive("start"),
    ),
    check(0.5, "A copy, or a loaded `state_dict`, gives the same result.", SAME),
]

MISTAKES = """
relu_for_gelu: There is a ReLU between the layers instead of a GELU.
    nn.GELU() -> nn.ReLU()
gelu_by_tanh 10%: The GELU is the one approximated by tanh; use the exact one, nn.GELU().
    nn.GELU() -> nn.GELU(approximate="tanh")
gelu_by_sigmoid 10%: The GELU is the one approximated by a sigmoid; use the exact one, nn.GELU().
    - return self.layers(x)
    + first, _, second = self.layers
    + x = first(x)
    + return second(x * torch.sigmoid(1.702 * x))
silu_for_gelu: There is a SiLU between the layers instead of a GELU.
    nn.GELU() -> nn.SiLU()
no_bend: There is no activation between the two layers, so together they are one linear layer.
    nn.GELU() -> nn.Identity()
not_four_times_as_wide: The hidden layer is not four times as wide.
    nn.Linear(d, 4 * d) -> nn.Linear(d, d)
    nn.Linear(4 * d, d) -> nn.Linear(d, d)
gelu_at_the_end_too: There is another GELU after the second layer. The result should be free to be
  negative.
    nn.Linear(4 * d, d) -> nn.Linear(4 * d, d), nn.GELU()
gelu_at_the_end: The GELU is behind both layers; it belongs between the two.
    nn.Linear(d, 4 * d), nn.GELU(), -> nn.Linear(d, 4 * d),
    nn.Linear(4 * d, d)) -> nn.Linear(4 * d, d), nn.GELU())
gelu_before_the_layers: The GELU is before the first layer; it belongs between the two.
    nn.GELU() -> nn.Identity()
    return self.layers(x) -> return self.layers(nn.functional.gelu(x))
added_already: The input is added to the result here. The block does that, in the next exercise.
    return self.layers(x) -> return x + self.layers(x)
feed_forward_without_bias 20%: The layers have no biases; both should have one.
    - nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))
    + nn.Sequential(nn.Linear(d, 4 * d, bias=False), nn.GELU(), nn.Linear(4 * d, d, bias=False))
first_layer_without_bias 20%: The first layer has no bias; both layers should have one.
    nn.Linear(d, 4 * d) -> nn.Linear(d, 4 * d, bias=False)
twice_as_wide: The hidden layer is twice as wide as d instead of four times.
    - nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))
    + nn.Sequential(nn.Linear(d, 2 * d), nn.GELU(), nn.Linear(2 * d, d))
three_times_as_wide: The hidden layer is three times as wide as d instead of four times.
    - nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))
    + nn.Sequential(nn.Linear(d, 3 * d), nn.GELU(), nn.Linear(3 * d, d))
layers_in_a_plain_list: Torch does not find the layers' parameters. Are the layers in a Python list,
  or created in each call? Create them once, in an nn.Sequential.
    - nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))
    + [nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d)]
    - return self.layers(x)
    + for layer in self.layers:
    +     x = layer(x)
    + return x
dropout_in_feed_forward 10%: There is a dropout behind the layers. The block has one, in the next
  exercise.
    nn.Linear(4 * d, d) -> nn.Linear(4 * d, d), nn.Dropout(0.1)
layers_called_twice: The layers are applied a second time, to their own result.
    return self.layers(x) -> return self.layers(self.layers(x))
first_layer_alone: Only some of the layers are applied.
    return self.layers(x) -> return self.layers[:2](x)
"""
