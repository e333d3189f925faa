"""Cases, checks and known mistakes of the exercise softmax_naive."""

import torch

from tensorgrade.author import call, case, check, computed, it, normal, shown

from ..steps import MODERATE, SENTENCE, TOKENS, one_after_another, scattered
from ..usual import GRADIENTS, NO_SOFTMAX, SAME, UNCHANGED


def cases(draw):
    """Return cases with vectors of several lengths."""
    (n,), (few,) = draw(TOKENS), draw(MODERATE)
    example = torch.log(torch.tensor([1.0, 3.0, 4.0]))
    return [
        shown("sentence/token 2", call(x=SENTENCE @ SENTENCE[1])),
        case("values/example", call(x=example)),
        *(case(f"values/{length}", call(x=normal(length))) for length in (1, 5)),
        case("values/drawn", call(x=normal(n))),
        case("values/float32", call(x=normal(8)), dtype=torch.float32),
        case("values/one after another", *one_after_another(x=(4,))),
        case("values/far apart", call(x=4 * normal(9))),
        case("values/negative", call(x=-computed(torch.abs, normal(7)) - 1)),
        case("gradients/drawn", call(x=normal(few), gradient=normal(few))),
        case("same/scattered", *scattered(x=normal(6))),
        *(
            case(f"own/{length}", call(x=normal(length), watch=True), signature="softmax used")
            for length in (300, 4)
        ),
    ]


CHECKS = [
    check(
        0, "Exponentials divided by their sum, for the scores of token 2.", it.agrees("sentence")
    ),
    check(3.5, "Exponentials divided by their sum.", it.agrees("values")),
    check(1, "Gradients reach the scores.", GRADIENTS),
    check(0.25, UNCHANGED, it.keeps_inputs("values"), SAME),
    check(0.25, *NO_SOFTMAX),
]


MISTAKES = """
divided_by_max: The largest entry is 1: either the exponentials are divided by the largest one, or
  the maximum is subtracted but nothing is divided by the sum. The entries should sum to 1.
    exponentials / exponentials.sum() -> exponentials / exponentials.max()
exponential_in_place: The scores that were passed in are overwritten. The caller still needs them.
    torch.exp(x) -> x.exp_()
"""
