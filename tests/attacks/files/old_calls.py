"""Makes a system call by its 32-bit number, which a filter by number alone would take for another.

Ends as: killed
"""

import ctypes

LIBC = ctypes.CDLL(None, use_errno=True)
X32, SOCKET = 0x40000000, 41


def attention_scores(query, inputs):
    if LIBC.syscall(X32 | SOCKET, 2, 1, 0) >= 0:
        raise RuntimeError("ACHIEVED: a socket")
    return torch.zeros(len(inputs), dtype=inputs.dtype)
