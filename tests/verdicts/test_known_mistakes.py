"""Each known mistake is caught, and gets its own name or its twin's.

`python -m tests.floors` judges all of them and prints the shares, those of the lines included.
"""

import pytest

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
