"""Cases, checks and known mistakes of the exercise attention_scores."""

import torch

from tensorgrade.author import call, case, check, it, normal, shown

from ..steps import FEATURES, MODERATE, SENTENCE, TOKENS, one_after_another, scattered
from ..usual import GRADIENTS, SAME, UNCHANGED


def cases(draw):
    """Return cases with one query (d,) and inputs (n, d)."""
    (n, d), few = draw(TOKENS, FEATURES), draw(MODERATE, MODERATE)
    example = torch.tensor([[1.0, 0.0], [0.0, 1.0], [3.0, -1.0]])
    return [
        shown("sentence/token 2", call(query=SENTENCE[1], inputs=SENTENCE)),
        case("values/example", call(query=torch.tensor([1.0, 2.0]), inputs=example)),
        *(case(f"values/{size}", scored(*size)) for size in [(5, 8), (9, 1), (1, 4), (3, 3)]),
        case("values/drawn", scored(n, d)),
        case("values/one after another", *one_after_another(query=(3,), inputs=(4, 3))),
        case("values/float32", scored(7, 5), dtype=torch.float32),
        case("gradients/drawn", scored(*few, gradient=normal(few[0]))),
        case("gradients/of the query", scored(5, 3, constants=["inputs"], gradient=normal(5))),
        case("same/scattered", *scattered(query=normal(5), inputs=normal(7, 5))),
    ]


def scored(n, d, **settings):
    """Return a call on n tokens of d features."""
    return call(query=normal(d), inputs=normal(n, d), **settings)


CHECKS = [
    check(0, "The dot products of token 2 with all six tokens.", it.agrees("sentence")),
    check(3.5, "One dot product for every row of the inputs.", it.agrees("values")),
    check(1, "Gradients reach the query and the inputs.", GRADIENTS),
    check(0.5, UNCHANGED, it.keeps_inputs("values", "gradients"), SAME),
]


MISTAKES = """
scores_scaled 30%: The scores are scaled; this exercise uses plain dot products.
    inputs @ query -> inputs @ query / query.shape[-1] ** 0.5
scores_softmaxed: Weights are returned instead of the scores before the softmax.
    inputs @ query -> torch.softmax(inputs @ query, dim=-1)
products_not_summed: The products are not added up; a dot product is one number for each row.
    inputs @ query -> inputs * query
summed_over_tokens: The products are added over the tokens; a dot product adds over the features.
    inputs @ query -> (inputs * query).sum(dim=0)
products_averaged 30%: The products are averaged; a dot product is their sum.
    inputs @ query -> (inputs * query).mean(dim=-1)
all_pairs: Scores of all pairs are returned, not only the query's.
    inputs @ query -> inputs @ inputs.T
cosine: The scores are divided by the lengths of the vectors (cosine). Use the plain dot product.
    inputs @ query -> torch.cosine_similarity(inputs, query[None], dim=-1)
distance: The result contains distances. Unlike a distance, a dot product grows with similarity.
    inputs @ query -> (inputs - query).norm(dim=-1)
first_token_as_query: The first row of the inputs is used as the query instead of the query passed
  in.
    inputs @ query -> inputs @ inputs[0]
six_tokens: The code assumes six tokens, as in the example.
    inputs @ query -> torch.stack([inputs[i] @ query for i in range(6)])
scores_detached: No gradient flows back through the scores (detach, no_grad, .item() or a new
  tensor).
    inputs @ query -> (inputs @ query).detach()
scores_as_column: The scores are returned as a column; their shape should be (n,).
    inputs @ query -> (inputs @ query)[:, None]
"""
