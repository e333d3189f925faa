"""Starts a process through posix_spawn, vfork and multiprocessing instead of fork."""

import multiprocessing
import os
import sys


def attention_scores(query, inputs):
    try:
        os.posix_spawn(sys.executable, [sys.executable, "-c", "while 1: pass"], {})
        raise RuntimeError("ACHIEVED: posix_spawn")
    except OSError:
        pass
    for method in ("spawn", "fork", "forkserver"):
        try:
            multiprocessing.get_context(method).Process(target=print).start()
            raise RuntimeError(f"ACHIEVED: {method}")
        except OSError:
            pass
    return torch.zeros(len(inputs), dtype=inputs.dtype)
