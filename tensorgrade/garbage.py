"""How often Python looks for garbage, in what a learner waits for."""

import gc

MANY = 100_000  # new objects


def look_seldom() -> None:
    """Python looks after 700 new objects, and goes through all of torch, which is none.

    Before torch is imported is the time to say so.
    """
    gc.set_threshold(MANY)
