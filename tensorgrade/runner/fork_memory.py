"""Make forking fast: few pages of memory to share, and few to copy.

A forked child shares each page of memory with its parent until one of them writes to it. Then the
page is copied, which takes longer than running several lines of Python. Imports leave gaps of freed
objects on thousands of pages. A child's new objects would go there first, so that a whole page is
copied for a few bytes. With the gaps filled, new objects are adjacent to each other on new pages.

Huge pages make the fork itself faster: it copies one entry of the page table instead of 512.

This relies on CPython, which stores small objects in pools of one size each, and whose id() is an
object's address. On other implementations it is useless but harmless.
"""

import ctypes
from collections.abc import Callable, Iterator
from itertools import pairwise

from .system import LIBC

SMALL = range(16, 512 + 1, 16)  # sizes of objects in bytes; larger ones are stored elsewhere
POOL = 16 << 10  # bytes of a pool, in which all objects have the same size
IN_A_ROW = 0.9  # the share of new objects adjacent to the previous one if no gaps are left
MOST = 16 << 20  # bytes of fillers of one size, in case this Python allocates differently
COLLAPSE = 25  # Linux 6.1's MADV_COLLAPSE, which Python does not have a name for
BARE, NUMBER, AROUND_BYTES = 16, 32, 33  # bytes of an `object()`, a number, the frame of bytes


def fillers(size: int) -> list[object]:
    """Return objects of one size, enough that the last of them are adjacent, pool after pool.

    Deleting them opens the gaps again.

    >>> kept = [fillers(size) for size in SMALL]
    >>> new = [bytes(100) for _ in range(1000)]  # they fill one pool after another
    >>> len({id(one) // POOL for one in new}) < 16
    True
    """
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


def use_huge_pages() -> None:
    """Put this process's own memory on huge pages, as far as the system can and allows it.

    A child that writes to a huge page copies only 4 KB of it, as without them.
    """
    for start, end in own_memory():
        LIBC.madvise(ctypes.c_void_p(start), ctypes.c_size_t(end - start), COLLAPSE)


def own_memory() -> Iterator[tuple[int, int]]:
    """Yield (start, end) of each writable mapping that belongs to no file and is not a stack."""
    try:
        with open("/proc/self/maps") as file:
            mappings = [line.split() for line in file]
    except OSError:
        return
    for addresses, rights, _, _, inode, *name in mappings:
        if rights == "rw-p" and inode == "0" and name != ["[stack]"]:
            start, _, end = addresses.partition("-")
            yield int(start, 16), int(end, 16)
