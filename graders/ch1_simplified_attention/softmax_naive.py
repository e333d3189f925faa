"""Cases, tests and known mistakes of the exercise softmax_naive."""

import torch

from tensorgrade import exercise, for_learners
from tensorgrade.author import call, case, computed, normal, shown

from ..relations import one_after_another, scattered
from ..shared import SENTENCE
from ..sizes import TOKENS, Sizes


def cases(pick):
    """Return cases with vectors of several lengths."""
    (n,) = Sizes(pick, "softmax_naive")(TOKENS)
    return [
        shown("sentence/token 2", call(x=SENTENCE @ SENTENCE[1])),
        *(case(f"values/{n}", call(x=normal(n))) for n in pick(public=[6, 4], hidden=[6, 1, 5, n])),
        case("values/float32", call(x=normal(8)), dtype=torch.float32),
        case("values/one after another", *one_after_another(x=(4,))),
        case("values/far apart", call(x=4 * normal(9))),
        case("values/negative", call(x=-computed(torch.abs, normal(7)) - 1)),
        case("gradients/5", call(x=normal(5), gradient=normal(5))),
        case("same/scattered", *scattered(x=normal(6))),
        *(
            case(f"own/{n}", call(x=normal(n), watch=True), signature="softmax used")
            for n in (300, 4)
        ),
    ]


@for_learners("softmax_naive")
def test_softmax_naive_on_the_sentence(attempt):
    """Exponentials divided by their sum, for the scores of token 2."""
    attempt.softmax_naive.agrees("sentence")


@exercise("softmax_naive", points=3.5)
def test_softmax_naive_values(attempt):
    """Exponentials divided by their sum."""
    attempt.softmax_naive.agrees("values")


@exercise("softmax_naive", points=1)
def test_softmax_naive_gradients(attempt):
    """Gradients reach the scores."""
    attempt.softmax_naive.agrees("gradients", only="gradient")


@exercise("softmax_naive", points=0.25)
def test_softmax_naive_inputs(attempt):
    """The arguments stay unchanged, and need not be contiguous in memory."""
    attempt.softmax_naive.keeps_inputs("values")
    attempt.softmax_naive.gives_the_same("same")


@exercise("softmax_naive", points=0.25)
def test_softmax_naive_is_your_own(attempt):
    """It is your own code and does not call torch's softmax."""
    attempt.softmax_naive.names_no_softmax()
    attempt.softmax_naive.agrees("own")
    attempt.softmax_naive.avoids_softmax("own")


MISTAKES = """
divided_by_max: The largest entry is 1: either the exponentials are divided by the largest one, or
  the maximum is subtracted but nothing is divided by the sum. The entries should sum to 1.
    exponentials / exponentials.sum() -> exponentials / exponentials.max()
exponential_in_place: The scores that were passed in are overwritten. The caller still needs them.
    torch.exp(x) -> x.exp_()
"""
