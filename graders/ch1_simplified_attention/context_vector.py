"""Cases, checks and known mistakes of the exercise context_vector."""

import torch

from tensorgrade.author import call, case, check, it, normal, shown

from ..steps import FEATURES, MODERATE, SENTENCE, TOKENS, one_after_another, scattered
from ..usual import GRADIENTS, SAME, UNCHANGED


def cases(draw):
    """Return cases with one query (d,) and inputs (n, d)."""
    n, d = draw(TOKENS, FEATURES)
    narrow, few = sorted(draw(MODERATE, MODERATE))  # more tokens than features
    example = torch.tensor([[2.0, 1.0], [4.0, 1.0], [6.0, 1.0], [8.0, 1.0]])
    return [
        shown("sentence/token 2", call(query=SENTENCE[1], inputs=SENTENCE)),
        case("values/example", call(query=torch.tensor([0.0, 1.0]), inputs=example)),
        *(case(f"values/{size}", mixed(*size)) for size in [(5, 8), (9, 1), (1, 4), (3, 3)]),
        case("values/drawn", mixed(n, d, 0.3)),
        case("values/one after another", *one_after_another(query=(3,), inputs=(4, 3))),
        case("values/float32", mixed(7, 5), dtype=torch.float32),
        case("large/1e6", mixed(few, narrow, 1e6)),
        case("gradients/drawn", mixed(few, narrow, 0.3, gradient=normal(narrow))),
        case("gradients/of the query", mixed(5, 3, constants=["inputs"], gradient=normal(3))),
        case("same/scattered", *scattered(query=normal(5), inputs=normal(7, 5))),
    ]


def mixed(n, d, size=1.0, **settings):
    """Return a call on n tokens of d features. size: the factor on the query."""
    return call(query=size * normal(d), inputs=normal(n, d), **settings)


CHECKS = [
    check(0, "The context vector of token 2.", it.agrees("sentence")),
    check(3, "The sum of all rows, each multiplied by its weight.", it.agrees("values")),
    check(0.5, "Scores of ten thousand do not overflow.", it.agrees("large")),
    check(1, "Gradients reach the query and the inputs, through the weights too.", GRADIENTS),
    check(0.5, UNCHANGED, it.keeps_inputs("values", "gradients"), SAME),
]


MISTAKES = """
summed_over_features: The sum runs over the query's features instead of the tokens: no rows of the
  inputs are mixed, and the result has n numbers instead of d.
    - return attn_weights @ inputs
    + total = torch.zeros(len(inputs))
    + for i, part in enumerate(query):
    +     total += attn_weights[i] * part
    + return total
summed_over_query_features: The sum runs over the query's features instead of the tokens. Each
  weight belongs to one row of the inputs.
    - return attn_weights @ inputs
    + total = torch.zeros_like(query)
    + for i, part in enumerate(query):
    +     total += attn_weights[i] * part
    + return total
summed_over_query_features_and_overflowing: The sum runs over the query's features instead of over
  the tokens. One row of the inputs belongs to each weight. And the softmax overflows for large
  scores: `torch.softmax` does not.
    torch.softmax(attn_scores, dim=-1) -> torch.exp(attn_scores) / torch.exp(attn_scores).sum()
    - return attn_weights @ inputs
    + total = torch.zeros_like(query)
    + for i, part in enumerate(query):
    +     total += attn_weights[i] * part
    + return total
weights_overflow: The exponentials of large scores overflow, so their weights are NaN.
  `torch.softmax` subtracts the largest score first.
    torch.softmax(attn_scores, dim=-1) -> torch.exp(attn_scores) / torch.exp(attn_scores).sum()
query_repeated 100%: The weights multiply the query itself instead of the rows of the inputs.
    attn_weights @ inputs -> attn_weights.sum() * query
rows_not_summed: The weighted rows are not added up; the result should be one vector.
    attn_weights @ inputs -> attn_weights[:, None] * inputs
rows_unweighted: The rows are added up unweighted: every weight multiplies every row, or none does.
  Weight j belongs to row j alone.
    attn_weights @ inputs -> inputs.sum(dim=0)
rows_averaged 30%: The weighted rows are averaged; the weights already sum to 1.
    attn_weights @ inputs -> (attn_weights[:, None] * inputs).mean(dim=0)
weights_returned: The weights are returned instead of the weighted sum.
    attn_weights @ inputs -> attn_weights
best_row_only: Only the most similar row is returned; every row should count, each by its weight.
    attn_weights @ inputs -> inputs[attn_weights.argmax()]
query_added: The query is added to the weighted sum.
    attn_weights @ inputs -> attn_weights @ inputs + query
"""
