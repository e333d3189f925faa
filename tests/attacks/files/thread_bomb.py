"""Starts threads until nothing else can run."""

import threading
import time


def attention_scores(query, inputs):
    started = 0
    try:
        for _ in range(5000):
            threading.Thread(target=time.sleep, args=(100,), daemon=True).start()
            started += 1
    except RuntimeError:
        pass
    if started > 200:
        raise RuntimeError(f"ACHIEVED: {started} threads")
    return torch.zeros(len(inputs), dtype=inputs.dtype)
