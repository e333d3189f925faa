"""Cases, checks and known mistakes of the exercise softmax."""

import torch

from tensorgrade.author import call, case, check, computed, it, normal, shown

from ..steps import MODERATE, SENTENCE, TOKENS, eighths, one_after_another, scattered
from ..usual import GRADIENTS, NO_SOFTMAX, SAME, UNCHANGED

FLOATS = (torch.float64, torch.float32, torch.float16, torch.bfloat16)


def cases(draw):
    """Return cases of every rank and dimension, with large scores and with scores of -inf."""
    (n,), (few,) = draw(TOKENS), draw(MODERATE)
    shapes = [(n,), (3, 7), (1, 4, 3, 5)]
    dims = [((n, 5), 0), ((2, 3, 4), 1), ((4, 3), -2), ((5, 2, 1, 4), -4), ((3, 2, 1, 4, 6), 1)]
    example = torch.tensor([[1000.0, 1000.0], [0.0, -torch.inf]])
    rows = torch.tensor([[1e4], [0], [-1e4]])
    hidden = computed(some_hidden, normal(few, 5))
    return [
        shown("sentence/all scores", call(x=SENTENCE @ SENTENCE.T)),
        *(case(f"last/{shape}", call(x=normal(*shape))) for shape in shapes),
        case("last/float32", call(x=normal(3, 8)), dtype=torch.float32),
        case("last/one after another", *one_after_another(x=(3, 4))),
        case("dim/example", call(x=torch.zeros(4, 2), dim=0)),
        *(
            case(f"dim/{len(shape)}-D dim {dim}", call(x=normal(*shape), dim=dim))
            for shape, dim in dims
        ),
        case("large/1000", call(x=1e3 * eighths(3, n))),
        case("large/10000", call(x=1e4 * eighths(3, few))),
        case("large/far below", call(x=eighths(3, 5) - 1e4)),
        case("large/dim 1 of 3-D", call(x=1e4 * eighths(2, 3, 4), dim=1)),
        case("large/rows", call(x=eighths(3, 4) + rows)),
        case("large/example", call(x=example)),
        case("hidden/-inf", call(x=hidden)),
        case("hidden/-inf dim 0", call(x=hidden, dim=0)),
        case("gradients/dim 0", call(x=normal(few, 4), dim=0, gradient=normal(few, 4))),
        case("gradients/dim -1", call(x=normal(2, 3, 4), gradient=normal(2, 3, 4))),
        case("same/scattered", *scattered(x=normal(6, 5))),
        *(
            case(f"dtype/{dtype}", call(x=normal(2, 3, 4), dim=1), dtype=dtype, signature="dtype")
            for dtype in FLOATS
        ),
        *(
            case(
                f"own/{len(shape)}-D dim {dim}",
                call(x=normal(*shape), dim=dim, watch=True),
                signature="softmax used",
            )
            for shape, dim in [((40, 33), -1), ((5,), 0), *dims]
        ),
    ]


def some_hidden(scores: torch.Tensor) -> torch.Tensor:
    """Return scores with some -inf, but none in all of a row or column."""
    scores[0, 1:3] = scores[1, 4] = -torch.inf
    return scores


CHECKS = [
    check(0, "Along the last dimension of all scores of the sentence.", it.agrees("sentence")),
    check(2.5, "Along the last dimension, for tensors of every rank.", it.agrees("last")),
    check(
        2.5,
        "Along the `dim` that is passed in, counted from the front or from the back.",
        it.agrees("dim"),
    ),
    check(1.5, "Scores of ten thousand do not overflow or vanish.", it.agrees("large")),
    check(
        1,
        "Scores of -inf get the weight 0.",
        it.agrees("hidden"),
        it.is_zero_where_expected("hidden"),
    ),
    check(1, "Gradients reach the scores.", GRADIENTS),
    check(0.5, "The result has the dtype of the scores.", it.keeps_dtype("dtype")),
    check(0.5, UNCHANGED, it.keeps_inputs("last", "dim", "large", "hidden"), SAME),
    check(0.5, *NO_SOFTMAX),
]


MISTAKES = """
no_maximum_subtracted: Large scores overflow: the exponential of 10,000 is infinite. Subtracting the
  same number from all scores would not change the result.
    x - x.amax(dim=dim, keepdim=True) -> x
one_maximum_for_all: One maximum is subtracted from all slices, so a slice far below it becomes 0 /
  0.
    x - x.amax(dim=dim, keepdim=True) -> x - x.max()
mean_subtracted: The mean is subtracted; a value far above it still overflows.
    x - x.amax(dim=dim, keepdim=True) -> x - x.mean(dim=dim, keepdim=True)
minimum_subtracted: The minimum is subtracted, so the largest number can still be far above 0 and
  overflow. Subtract the maximum: then no number is above 0.
    x - x.amax(dim=dim, keepdim=True) -> x - x.amin(dim=dim, keepdim=True)
dim_ignored 30%: The `dim` that is passed in is ignored: the softmax always runs over the last
  dimension.
    .amax(dim=dim -> .amax(dim=-1
    exponentials.sum(dim=dim -> exponentials.sum(dim=-1
dim_ignored_in_sum: The sum always runs over the last dimension; like the maximum, it should run
  over the `dim` that is passed in.
    exponentials.sum(dim=dim -> exponentials.sum(dim=-1
always_dim_zero 40%: The `dim` that is passed in is ignored: the softmax always runs over the first
  dimension.
    .amax(dim=dim -> .amax(dim=0
    exponentials.sum(dim=dim -> exponentials.sum(dim=0
all_entries_share_one_sum 40%: All entries together sum to 1; each slice along `dim` should.
    exponentials / exponentials.sum(dim=dim, keepdim=True) -> exponentials / exponentials.sum()
keepdim_forgotten: The sum loses its dimension (`keepdim=True` keeps it), so it no longer lines up
  with its slices.
    exponentials.sum(dim=dim, keepdim=True) -> exponentials.sum(dim=dim)
keepdim_forgotten_in_maximum: The maximum loses its dimension (`keepdim=True` keeps it), so it no
  longer lines up with its slices.
    x - x.amax(dim=dim, keepdim=True) -> x - x.amax(dim=dim)
default_is_dim_zero: Without a `dim`, the softmax runs over the first dimension; it should run over
  the last.
    - shifted = x - x
    + dim = 0 if dim == -1 else dim
    + shifted = x - x
float32_inside: The result is float32; it should have the dtype of the input.
    torch.exp(shifted) -> torch.exp(shifted.float())
softmax_in_place: The input is overwritten. The caller still needs its old values.
    - shifted = x - x
    + shifted = x
    + shifted -= x.detach().clone()
"""
