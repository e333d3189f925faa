"""Fill the gaps that imports leave in Python's memory, before children are forked.

A forked child shares each page of memory with its parent until one of them writes to it. Then the
page is copied, which takes longer than many a line of Python. Imports leave gaps of freed objects
on thousands of pages. A child's new objects would go there first, so that a whole page is copied
for a few bytes. With the gaps filled, new objects are adjacent to each other on new pages.

This relies on CPython, which stores small objects in pools of one size each, and whose id() is an
object's address. On other implementations it is useless but harmless.
"""

from collections.abc import Callable
from itertools import pairwise

STEP, LARGEST = 16, 512  # sizes of small objects, in bytes; larger ones are stored elsewhere
POOL = 16 << 10  # bytes of a pool, in which all objects have the same size
IN_A_ROW = 0.9  # the share of new objects adjacent to the previous one if no gaps are left
MOST = 16 << 20  # bytes of fillers of one size, in case this Python allocates differently
BARE, NUMBER, AROUND_BYTES = 16, 32, 33  # bytes of an `object()`, a number, the frame of bytes


def fill_holes() -> list[list[object]]:
    """Return objects of all small sizes that fill the gaps. Deleting them opens the gaps again.

    >>> kept = fill_holes()
    >>> new = [bytes(100) for _ in range(1000)]  # they fill one pool after another
    >>> len({id(one) // POOL for one in new}) < 16
    True
    """
    return [fillers(size) for size in range(STEP, LARGEST + 1, STEP)]


def fillers(size: int) -> list[object]:
    """Return objects of one size, enough that the last of them are adjacent, pool after pool."""
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
    """Return a function that creates an object of this size, ignored by the garbage collector."""
    if size == BARE:
        return object
    if size == NUMBER:
        return complex
    filling = b"." * (size - AROUND_BYTES - 1)
    return lambda: filling + b"."
