"""The marker by which a test says which exercise it judges, and for how many points."""

import pytest


def exercise(name: str, points: float, *, guard: bool = False):
    """Mark a test: it judges this exercise and is worth so many of its points.

    guard: no known mistake fails this test alone; it stands against what nobody thought of.

        @exercise("softmax", points=2.5)
        def test_softmax_any_dim(attempt):
            \"\"\"It runs along the `dim` that is passed in.\"\"\"
            attempt.softmax.agrees("dim")
    """
    return pytest.mark.exercise(name, points=points, guard=guard)
