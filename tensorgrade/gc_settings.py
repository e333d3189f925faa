"""Make Python's garbage collector run rarely, because learners wait for it."""

import atexit
import gc

MANY = 400_000  # new objects; torch and a complete check create fewer


def collect_garbage_rarely() -> None:
    """Raise the collector's threshold, and skip the collection when Python exits.

    By default Python collects after 700 new objects, and scans all of torch without finding any
    garbage. Call this before torch is imported.
    """
    gc.set_threshold(MANY)
    atexit.register(gc.freeze)
