"""Which of many cases alike run by default: the first of each kind. CI runs all of them."""

from collections.abc import Callable, Hashable, Iterable

import pytest


def first_of_each(cases: Iterable, kind: Callable[..., Hashable]) -> list:
    """Cases as parameters of a test, those marked as slow that are not the first of their kind.

    A case that is a tuple is several parameters; kind: called with a case.
    """
    seen: set[Hashable] = set()
    marked = []
    for case in cases:
        values = case if isinstance(case, tuple) else (case,)
        marks = [pytest.mark.slow] if kind(case) in seen else []
        marked.append(pytest.param(*values, marks=marks))
        seen.add(kind(case))
    return marked
