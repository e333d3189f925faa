"""Cases, checks and known mistakes of the exercise softmax_naive."""

import torch

from tensorgrade.author import call, case, check, computed, it, normal, shown

from ..steps import SENTENCE, TOKENS, Sizes, one_after_another, scattered


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


CHECKS = [
    check(
        0, "Exponentials divided by their sum, for the scores of token 2.", it.agrees("sentence")
    ),
    check(3.5, "Exponentials divided by their sum.", it.agrees("values")),
    check(1, "Gradients reach the scores.", it.agrees("gradients", only="gradient")),
    check(
        0.25,
        "The arguments stay unchanged, and need not be contiguous in memory.",
        it.keeps_inputs("values"),
        it.gives_the_same("same"),
    ),
    check(
        0.25,
        "It is your own code and does not call torch's softmax.",
        it.names_no_softmax(),
        it.agrees("own"),
        it.avoids_softmax("own"),
    ),
]


MISTAKES = """
divided_by_max: The largest entry is 1: either the exponentials are divided by the largest one, or
  the maximum is subtracted but nothing is divided by the sum. The entries should sum to 1.
    exponentials / exponentials.sum() -> exponentials / exponentials.max()
exponential_in_place: The scores that were passed in are overwritten. The caller still needs them.
    torch.exp(x) -> x.exp_()
"""
