"""Known mistakes are caught and named, alone and together, and what they cost together.

`python -m tests.floors` judges all of them and prints the shares, those of the lines included.
"""

import math

import pytest

from tensorgrade.author.mistakes import known

from ..answers.reader import changed_lines, solution, twins
from ..support import ROOT, Judge, Project, known_mistakes, some, with_mistakes

PROJECT = Project(ROOT)
NEAR, ELSEWHERE = 0.85, 0.04  # of the lines: see floors.json


@pytest.mark.parametrize("public", [False, True], ids=["hidden", "public"])
def test_known_mistakes_are_named(judge: Judge, public: bool):
    near = elsewhere = 0
    drawn = some(known_mistakes(PROJECT), 3 if public else 68)
    for chapter, exercise, name in drawn:
        text = with_mistakes(PROJECT, chapter, exercise, name)
        found = judge(chapter, exercise, text, public=public)
        assert 0 <= found.points < found.max_points, found
        assert set(found.mistakes) <= {name} | twins(exercise, name), (name, found)
        assert found.mistakes, (name, found)
        distance = distance_of(found.line, changed_lines(solution(chapter), text))
        near, elsewhere = near + (distance <= 1), elsewhere + (1 < distance < 1000)
    if not public:
        assert near >= NEAR * len(drawn) - 2 and elsewhere <= ELSEWHERE * len(drawn) + 2


def distance_of(line: int | None, faults: frozenset[int]) -> int:
    """Return how far a line is from the nearest fault; a large number without a line."""
    return min((abs(line - one) for one in faults), default=1000) if line else 1000


CH1, CH2 = "ch1_simplified_attention", "ch2_self_attention"
SIMPLE, SCALED = "simplified_self_attention", "scaled_dot_product_attention"
# Mistakes that are made, in the course's order, and how many of them are named.
SETS = [
    (CH2, SCALED, "multiplied_by_sqrt_d_k scores_transposed", 2),
    # Scores of tokens with themselves are symmetric: two pairs look the same.
    (CH1, SIMPLE, "softmax_over_columns weights_not_returned", 1),
]


@pytest.mark.slow
@pytest.mark.parametrize("chapter, exercise, made, named", SETS)
def test_mistakes_together_take_their_share_of_what_is_left(
    judge: Judge, chapter: str, exercise: str, made: str, named: int
):
    prices = {one.name: one.price for one in known(PROJECT, exercise)}
    names = sorted(made.split(), key=[*prices].index)
    text = with_mistakes(PROJECT, chapter, exercise, *names)
    found = judge(chapter, exercise, text, explain=False)
    assert set(found.mistakes) == set(made.split()[-named:])
    costs = [prices[name] for name in names]
    if None not in costs:
        left = math.prod(1 - cost for cost in costs)
        assert found.points == pytest.approx(found.max_points * left) and found.points > 0


@pytest.mark.slow
def test_what_gives_the_same_as_a_pair_in_public_alone_is_not_named(judge: Judge):
    """A learner has the public cases, and could tell these from hidden ones."""
    text = with_mistakes(PROJECT, CH2, SCALED, *SETS[0][2].split())
    given = "return attn_weights @ values"
    other = text.replace(given, f"{given} + (1.0 if d_k > 20 else 0.0)", 1)
    assert other != text
    found = judge(CH2, SCALED, other, explain=False)
    assert (found.mistakes, found.points) == ((), 0)
