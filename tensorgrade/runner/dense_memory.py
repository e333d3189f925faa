"""Fills the holes that imports leave in Python's memory, before children are forked.

A forked child shares each page of memory with its parent until one of them writes to it; then the
page is copied, which takes longer than many a line of Python. Imports leave gaps of freed objects
on thousands of pages, and what a child makes would go there first: a page copied for a few bytes.
With the gaps filled, new objects lie side by side on fresh pages.

This rests on CPython: small objects lie in pools of one size each, and id() is where one lies.
Elsewhere it does nothing useful, and no harm.
"""

from collections.abc import Callable
from itertools import pairwise

STEP, LARGEST = 16, 512  # sizes of small objects, in bytes; larger ones lie elsewhere
POOL = 16 << 10  # bytes of a pool, all of whose objects are of one size
IN_A_ROW = 0.9  # the share of new objects that lie beside the one before where no holes are left
MOST = 16 << 20  # bytes of fillers of one size, should this Python put them anywhere else
BARE, NUMBER, AROUND_BYTES = 16, 32, 33  # what an `object()`, a number and what frames bytes take


def fill_holes() -> list[list[object]]:
    """Objects of all small sizes, as many as there are gaps for. Whoever drops them reopens these.

    >>> kept = fill_holes()
    >>> new = [bytes(100) for _ in range(1000)]  # they fill one pool after another
    >>> len({id(one) // POOL for one in new}) < 16
    True
    """
    return [fillers(size) for size in range(STEP, LARGEST + 1, STEP)]


def fillers(size: int) -> list[object]:
    """Objects of one size, until the last of them lie side by side, pool after pool."""
    make, in_two_pools = maker(size), 2 * POOL // size
    made: list[object] = []
    while len(made) * size < MOST:
        new = [make() for _ in range(in_two_pools)]
        made += new
        places = list(map(id, new))
        steps = [there - here for here, there in pairwise(places)]
        if steps.count(size) >= IN_A_ROW * len(steps):
            break
    return made


def maker(size: int) -> Callable[[], object]:
    """Makes a fresh object of a size, in which Python looks for no garbage."""
    if size == BARE:
        return object
    if size == NUMBER:
        return complex
    filling = b"." * (size - AROUND_BYTES - 1)
    return lambda: filling + b"."
