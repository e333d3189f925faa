"""Cases, checks and known mistakes of the exercise LayerNorm."""

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

from ..modules import at_work, structure
from ..steps import BATCH, FEATURES, TOKENS, copied, with_an_equal_row
from ..usual import COPIED, GRADIENTS, SAME


def cases(draw):
    """Return cases with rows of several ranks and spreads, and with different scales and shifts.

    The default eps only shows in rows with a small spread.
    """
    b, n, d = draw(BATCH, TOKENS, FEATURES)
    shapes = [(4, 3), (2, 3, 5), (1, 3, 2, 5), (7,), (3, 1), (b, 1, d), (n, d)]
    return [
        shown("sentence/two rows", *normed(2, 4)),
        case("plain/example", construct(d=4), call(x=torch.tensor([[1.0, 3.0, 1.0, 3.0]]))),
        *(
            case(f"plain/{shape}", construct(d=shape[-1]), call(x=10 * normal(*shape)))
            for shape in shapes
        ),
        *(case(f"values/{shape}", *used(*shape)) for shape in shapes),
        case("values/equal rows", *normed(2, 5, 6, change=with_an_equal_row)),
        case("values/float32", *normed(3, 6, dtype="float32"), dtype=torch.float32),
        case("spread/tiny", *normed(b, d, factor=1e-3)),
        case("eps/0.5", *normed(b, d, factor=1.0, eps=0.5)),
        case("eps/0.01", *normed(3, 5, factor=0.1, eps=1e-2)),
        case("eps/equal numbers", *normed(2, 4, change=torch.ones_like)),
        case("gradients/drawn", *normed(b, d, factor=0.1, gradient=normal(b, d))),
        case("gradients/in evaluation", *normed(5, gradient=normal(5), training=False)),
        *(
            case(f"own/{shape}", *normed(*shape, factor=0.1, watch=True), signature="norm used")
            for shape in [(3, 4), (2, 3, 5), (6,), (2, 1, 3, 4), (b, d)]
        ),
        case("same/copies", *copied({"d": 5}, columns(5), normal(2, 3, 5))),
        case("parameters/6", *structure(d=6, state=True), signature="structure"),
    ]


def columns(d):
    """Return a scale and a shift for each column."""
    return {"scale": weights(d), "shift": weights(d)}


def normed(
    *shape,
    factor=10.0,
    change=torch.clone,
    gradient=None,
    dtype="float64",
    watch=False,
    training=True,
    **eps,
):
    """Construct the module, load a scale and a shift, and call it on rows of this spread."""
    x = computed(change, factor * normal(*shape))
    return (
        construct(d=shape[-1], **eps, dtype=dtype),
        load(columns(shape[-1])),
        mode(training),
        call(x=x, gradient=gradient, watch=watch),
    )


def used(*shape):
    """Return the same in evaluation and without gradients."""
    made = construct(d=shape[-1])
    return made, load(columns(shape[-1])), *at_work(made, x=10 * normal(*shape))


CHECKS = [
    check(0, "Two rows of four.", it.agrees("sentence")),
    check(2, "A new module gives rows of mean 0 and variance 1.", it.agrees("plain")),
    check(
        3.5, "Each column is scaled and shifted afterwards, in evaluation too.", it.agrees("values")
    ),
    check(1, "Rows of any spread are normalised.", it.agrees("spread")),
    check(1, "The eps that is passed in is added to the variance.", it.agrees("eps")),
    check(
        1.5, "Gradients reach x, the scale and the shift, in training and in evaluation.", GRADIENTS
    ),
    check(0.5, "A scale and a shift, and no other parameters.", it.has_parameters("parameters")),
    check(
        0.25,
        "It is your own code and does not call torch's norm.",
        it.agrees("own"),
        it.avoids_library("own", "norm"),
    ),
    check(0.25, COPIED, it.keeps_inputs("values", "plain"), SAME),
]

MISTAKES = """
unbiased_variance: The sum of the squares is divided by d - 1; it should be divided by d.
    x.var(dim=-1, keepdim=True, unbiased=False) -> x.var(dim=-1, keepdim=True)
divided_by_variance: The rows are divided by their variance. Divide by its root, the standard
  deviation.
    torch.sqrt(variance + self.eps) -> (variance + self.eps)
eps_outside_the_root: eps is added to the root. It belongs to the variance, under the root.
    torch.sqrt(variance + self.eps) -> (torch.sqrt(variance) + self.eps)
without_eps: eps is missing, so a row of equal numbers is divided by 0.
    variance + self.eps -> variance
eps_fixed: eps is a fixed number; the one that was passed in is ignored.
    self.eps = eps -> self.eps = 1e-5
default_eps 10%: The default of eps is not 1e-5.
    self.eps = eps -> self.eps = 1e-6 if eps == 1e-5 else eps
larger_default_eps 10%: The default of eps is larger than 1e-5.
    self.eps = eps -> self.eps = 1e-3 if eps == 1e-5 else eps
mean_not_subtracted: The mean is not subtracted.
    (x - mean) -> x
rms_norm: This is RMSNorm: the mean is not subtracted, and the mean of the squares takes the place
  of the variance.
    mean = x.mean(dim=-1, keepdim=True) -> mean = 0.0
    x.var(dim=-1, keepdim=True, unbiased=False) -> x.pow(2).mean(dim=-1, keepdim=True)
library_norm 10%: It calls torch's own norm; the exercise is to write it yourself.
    - normed = (x - mean) / torch.sqrt(variance + self.eps)
    + normed = nn.functional.layer_norm(x, x.shape[-1:], eps=self.eps)
nothing_normalised: Nothing is normalised: x itself is scaled and shifted.
    normed = (x - mean) / torch.sqrt(variance + self.eps) -> normed = x
variance_not_divided_out: The rows are not divided by their spread.
    normed = (x - mean) / torch.sqrt(variance + self.eps) -> normed = x - mean
normed_along_dimension_0: Mean and variance run along the first dimension, over tokens or whole
  texts. They should run over each token's row, along the last dimension.
    mean = x.mean(dim=-1, keepdim=True) -> mean = x.mean(dim=0, keepdim=True)
    x.var(dim=-1, keepdim=True, unbiased=False) -> x.var(dim=0, keepdim=True, unbiased=False)
normed_along_dimension_1: Mean and variance run along dimension 1, which is the last only if x has
  two dimensions. Use the last dimension.
    mean = x.mean(dim=-1, keepdim=True) -> mean = x.mean(dim=1, keepdim=True)
    x.var(dim=-1, keepdim=True, unbiased=False) -> x.var(dim=1, keepdim=True, unbiased=False)
normed_over_everything: All rows share one mean and one variance; each row should have its own.
    mean = x.mean(dim=-1, keepdim=True) -> mean = x.mean()
    x.var(dim=-1, keepdim=True, unbiased=False) -> x.var(unbiased=False)
scale_left_out: The learned scale is never applied.
    return self.scale * normed + self.shift -> return normed + self.shift
shift_left_out: The learned shift is never added.
    return self.scale * normed + self.shift -> return self.scale * normed
shift_before_scale: The shift is scaled too. Scale first, then shift.
    return self.scale * normed + self.shift -> return self.scale * (normed + self.shift)
scale_not_learned: Scale and shift are plain tensors. Only as nn.Parameters can they be learned.
    nn.Parameter(torch.ones(d)) -> torch.ones(d)
    nn.Parameter(torch.zeros(d)) -> torch.zeros(d)
scale_starts_at_zero: The scale starts with zeros, so only the shift is left. It should start with
  ones.
    nn.Parameter(torch.ones(d)) -> nn.Parameter(torch.zeros(d))
shift_starts_at_one: The shift starts with ones; it should start with zeros.
    nn.Parameter(torch.zeros(d)) -> nn.Parameter(torch.ones(d))
statistics_detached: No gradient flows through mean and variance; it should.
    - normed = (x - mean) / torch.sqrt(variance + self.eps)
    + normed = (x - mean.detach()) / torch.sqrt(variance.detach() + self.eps)
normed_in_place: A tensor that was passed in is overwritten. The caller still needs its old values.
    - normed = (x - mean) / torch.sqrt(variance + self.eps)
    + normed = x.copy_((x - mean) / torch.sqrt(variance + self.eps)).clone()
"""
