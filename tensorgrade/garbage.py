"""How often Python looks for garbage, in what a learner waits for."""

import atexit
import gc

MANY = 400_000  # new objects; torch and a whole self-check make fewer


def look_seldom() -> None:
    """Python looks after 700 new objects, and goes through all of torch, which is none.

    Before torch is imported is the time to say so. At its end it would look through all once more.
    """
    gc.set_threshold(MANY)
    atexit.register(gc.freeze)
