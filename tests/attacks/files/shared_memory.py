"""Fills System V and POSIX shared memory, which outlives the process."""

import ctypes
import os

LIBC = ctypes.CDLL(None, use_errno=True)


def attention_scores(query, inputs):
    if LIBC.shmget(0, 1 << 28, 0o1600) >= 0:
        raise RuntimeError("ACHIEVED: a System V segment")
    try:
        os.open("/dev/shm/TOKEN-hoard", os.O_CREAT | os.O_RDWR)
    except OSError:
        return torch.zeros(len(inputs), dtype=inputs.dtype)
    raise RuntimeError("ACHIEVED: a POSIX segment")
