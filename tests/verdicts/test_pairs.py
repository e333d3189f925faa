"""Several known mistakes at once: which of them are named, and what they cost together."""

import math

import pytest

from tensorgrade.author.mistakes import known

from ..answers.reader import solution
from ..support import Judge, Project, with_mistakes

CH1, CH2 = "ch1_simplified_attention", "ch2_self_attention"
SIMPLE, SCALED = "simplified_self_attention", "scaled_dot_product_attention"
# Mistakes that are made, in the course's order, and those of them that are named.
SETS = [
    (CH2, SCALED, "multiplied_by_sqrt_d_k scores_transposed", 2),
    # Scores of tokens with themselves are symmetric: two pairs look the same.
    (CH1, SIMPLE, "softmax_over_columns weights_not_returned", 1),
    (CH1, SIMPLE, "weights_transposed weights_not_returned", 1),
]


@pytest.mark.slow
@pytest.mark.parametrize("chapter, exercise, made, named", SETS)
def test_mistakes_together_take_their_share_of_what_is_left(
    judge: Judge, project: Project, chapter: str, exercise: str, made: str, named: int
):
    prices = {one.name: one.price for one in known(project, exercise)}
    names = sorted(made.split(), key=[*prices].index)
    text = with_mistakes(project, chapter, exercise, *names)
    found = judge(chapter, exercise, text, explain=False)
    assert set(found.mistakes) == set(made.split()[-named:])
    costs = [prices[name] for name in names]
    if None not in costs:
        left = math.prod(1 - cost for cost in costs)
        assert found.points == pytest.approx(found.max_points * left) and found.points > 0


@pytest.mark.slow
def test_what_gives_the_same_as_a_pair_in_public_alone_is_not_named(judge: Judge, project: Project):
    """A learner has the public cases, and could tell these from hidden ones."""
    text = with_mistakes(project, CH2, SCALED, *SETS[0][2].split())
    given = "return attn_weights @ values"
    assert given in text and solution(CH2) != text
    other = text.replace(given, f"{given} + (1.0 if d_k > 20 else 0.0)", 1)
    found = judge(CH2, SCALED, other, explain=False)
    assert (found.mistakes, found.points) == ((), 0)
