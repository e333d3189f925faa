"""Cases, checks and known mistakes of the exercise SelfAttention_v1."""

import torch

from tensorgrade.author import call, case, check, construct, it, load, normal, shown

from ..modules import matrices, of_self_attention, structure
from ..steps import MODERATE, SENTENCE, copied
from ..usual import ATTENDS, COPIED, GRADIENTS, SAME


def cases(draw):
    """Return cases with modules of several sizes, with loaded weights and with initial ones."""
    first = construct(d_in=3, d_out=2, seed=123, dtype="float32")
    n, d_in, d_out = draw(MODERATE, MODERATE, MODERATE)
    zeros, ones = torch.zeros(2, 1), torch.ones(2, 1)
    return [
        shown("sentence/seed 123", first, call(x=SENTENCE)),
        case(
            "values/example",
            construct(d_in=2, d_out=1, dtype="float32"),
            load({"W_query": zeros, "W_key": ones, "W_value": ones}),
            call(x=torch.tensor([[1.0, 2.0], [3.0, 4.0]])),
        ),
        *of_self_attention(matrices, draw),
        case("same/copies", *copied({"d_in": 3, "d_out": 4}, matrices(3, 4), normal(5, 3))),
        case("parameters/3x4", *structure(state=True, d_in=3, d_out=4), signature="structure"),
        # Without loaded weights: for layers that cannot load them, these values show whether
        # everything else is right.
        case(
            "called/as made",
            construct(d_in=d_in, d_out=d_out, dtype="float64", seed=7),
            call(x=normal(n, d_in)),
        ),
    ]


CHECKS = [
    check(0, "The sentence, with the weights of seed 123.", it.agrees("sentence")),
    check(5, *ATTENDS),
    check(1, "Scores of ten thousand do not overflow.", it.agrees("large")),
    check(2, "Gradients reach x and all three matrices.", GRADIENTS),
    check(
        1,
        "The matrices start from torch.rand, created in the order query, key, value.",
        it.starts_alive("parameters"),
        it.agrees("parameters", only="module."),
        it.agrees("called"),
    ),
    check(0.5, "Exactly three parameters of shape (d_in, d_out).", it.has_parameters("parameters")),
    check(0.5, COPIED, it.mixes_tokens("mixed"), it.keeps_inputs("values", "gradients"), SAME),
]


MISTAKES = """
randn_for_rand: The weights start from another distribution than uniform on [0, 1).
    self.W_query = nn.Parameter(torch.rand( -> self.W_query = nn.Parameter(torch.randn(
    self.W_key = nn.Parameter(torch.rand( -> self.W_key = nn.Parameter(torch.randn(
    self.W_value = nn.Parameter(torch.rand( -> self.W_value = nn.Parameter(torch.randn(
weights_start_at_zero: All weights start at zero, so all tokens give the same result and cannot be
  distinguished.
    self.W_query = nn.Parameter(torch.rand( -> self.W_query = nn.Parameter(torch.zeros(
    self.W_key = nn.Parameter(torch.rand( -> self.W_key = nn.Parameter(torch.zeros(
    self.W_value = nn.Parameter(torch.rand( -> self.W_value = nn.Parameter(torch.zeros(
one_matrix_for_all_three 40%: Queries, keys and values share one matrix. Each needs an nn.Parameter
  of its own.
    self.W_key = nn.Parameter(torch.rand(d_in, d_out)) -> self.W_key = self.W_query
    self.W_value = nn.Parameter(torch.rand(d_in, d_out)) -> self.W_value = self.W_query
not_parameters: The weights are plain tensors. An optimizer only finds an nn.Parameter.
    self.W_query = nn.Parameter(torch.rand(d_in, d_out)) -> self.W_query = torch.rand(d_in, d_out)
    self.W_key = nn.Parameter(torch.rand(d_in, d_out)) -> self.W_key = torch.rand(d_in, d_out)
    self.W_value = nn.Parameter(torch.rand(d_in, d_out)) -> self.W_value = torch.rand(d_in, d_out)
weights_of_linear_shape: The weights have the shape (d_out, d_in), as in nn.Linear. Here x is
  multiplied by them from the right, so they need (d_in, d_out).
    W_query = nn.Parameter(torch.rand(d_in, d_out) -> W_query = nn.Parameter(torch.rand(d_out, d_in)
    W_key = nn.Parameter(torch.rand(d_in, d_out) -> W_key = nn.Parameter(torch.rand(d_out, d_in)
    W_value = nn.Parameter(torch.rand(d_in, d_out) -> W_value = nn.Parameter(torch.rand(d_out, d_in)
created_in_another_order: The three matrices are not created in the order query, key, value, so a
  seed gives other weights.
    self.W_query = -> self.W_key_ =
    self.W_key = -> self.W_query =
    self.W_key_ = -> self.W_key =
created_the_other_way_round: The three matrices are created in the order value, key, query, so a
  seed gives other weights.
    self.W_query = -> self.W_value_ =
    self.W_value = -> self.W_query =
    self.W_value_ = -> self.W_value =
linear_layers_for_matrices 30%: The projections are nn.Linear layers without a bias. Each should be
  an nn.Parameter of shape (d_in, d_out), and x is multiplied by it.
    W_query = nn.Parameter(torch.rand(d_in, d_out)) -> W_query = nn.Linear(d_in, d_out, bias=False)
    W_key = nn.Parameter(torch.rand(d_in, d_out)) -> W_key = nn.Linear(d_in, d_out, bias=False)
    W_value = nn.Parameter(torch.rand(d_in, d_out)) -> W_value = nn.Linear(d_in, d_out, bias=False)
    x @ self.W_query -> self.W_query(x)
    x @ self.W_key -> self.W_key(x)
    x @ self.W_value -> self.W_value(x)
linear_layers_with_biases_for_matrices 40%: The projections are nn.Linear layers with a bias. Each
  should be an nn.Parameter of shape (d_in, d_out) without a bias, and x is multiplied by it.
    self.W_query = nn.Parameter(torch.rand(d_in, d_out)) -> self.W_query = nn.Linear(d_in, d_out)
    self.W_key = nn.Parameter(torch.rand(d_in, d_out)) -> self.W_key = nn.Linear(d_in, d_out)
    self.W_value = nn.Parameter(torch.rand(d_in, d_out)) -> self.W_value = nn.Linear(d_in, d_out)
    x @ self.W_query -> self.W_query(x)
    x @ self.W_key -> self.W_key(x)
    x @ self.W_value -> self.W_value(x)
"""
