"""Cases, tests and known mistakes of the exercise attention_weights."""

import torch

from tensorgrade import exercise, for_learners
from tensorgrade.author import call, case, normal, shown

from ..relations import one_after_another, scattered
from ..shared import SENTENCE, example_weights
from ..sizes import TOKENS, WIDTH, Sizes


def cases(pick):
    """Return cases with queries (…, n, d_k) and keys (…, m, d_k)."""
    weights = example_weights()
    queries, keys = SENTENCE @ weights["W_query"], SENTENCE @ weights["W_key"]
    draw = Sizes(pick, "attention_weights")
    n, m, d_k = draw(TOKENS, TOKENS, WIDTH)
    sizes = pick(public=[(6, 4), (4, 9)], hidden=[(6, 5), (7, 1), (n, d_k)])
    cross = pick(public=[(3, 5)], hidden=[(1, m), (4, 1)])
    leading = pick(public=[(2,)], hidden=[(3,), (2, 3), (1, 2, 1)])
    return [
        shown("sentence/seed 123", call(queries=queries, keys=keys)),
        *(case(f"values/{n} tokens, d_k {d_k}", compared(n, n, d_k)) for n, d_k in sizes),
        case("values/float32", compared(5, 5, 7), dtype=torch.float32),
        *(case(f"cross/{n} queries, {m} keys", compared(n, m, 3)) for n, m in cross),
        *(case(f"leading/{lead}", compared(4, 5, 6, lead)) for lead in leading),
        case("leading/large scores", call(queries=1e6 * normal(2, 4, 3), keys=normal(2, 5, 3))),
        case("large/1e6", call(queries=1e6 * normal(4, 3), keys=normal(5, 3))),
        case("values/one after another", *one_after_another(queries=(4, 3), keys=(4, 3))),
        case("gradients/4x3x5", compared(4, 3, 5, gradient=normal(4, 3))),
        case("gradients/batch", compared(4, 3, 5, (2,), gradient=normal(2, 4, 3))),
        case("same/scattered", *scattered(queries=normal(2, 4, 3), keys=normal(2, 5, 3))),
    ]


def compared(n, m, d_k, lead=(), **settings):
    """Return a call on n queries and m keys, with leading dimensions."""
    return call(queries=2 * normal(*lead, n, d_k), keys=normal(*lead, m, d_k), **settings)


@for_learners("attention_weights")
def test_attention_weights_on_the_sentence(attempt):
    """With the sentence's projections (seed 123)."""
    attempt.attention_weights.agrees("sentence")


@exercise("attention_weights", points=4)
def test_attention_weights_values(attempt):
    """Softmax of scaled scores, for every d_k."""
    attempt.attention_weights.agrees("values")


@exercise("attention_weights", points=1)
def test_attention_weights_large_scores(attempt):
    """Scores of ten thousand do not overflow."""
    attempt.attention_weights.agrees("large")


@exercise("attention_weights", points=1.5)
def test_attention_weights_cross(attempt):
    """The numbers of queries and keys may differ."""
    attempt.attention_weights.agrees("cross")


@exercise("attention_weights", points=1.5)
def test_attention_weights_leading_dimensions(attempt):
    """Leading dimensions stay in front."""
    attempt.attention_weights.agrees("leading")


@exercise("attention_weights", points=1.5)
def test_attention_weights_gradients(attempt):
    """Gradients reach queries and keys."""
    attempt.attention_weights.agrees("gradients", only="gradient")


@exercise("attention_weights", points=0.5)
def test_attention_weights_inputs(attempt):
    """The arguments stay unchanged, and need not be contiguous in memory."""
    attempt.attention_weights.keeps_inputs("values", "cross", "leading", "gradients")
    attempt.attention_weights.gives_the_same("same")
