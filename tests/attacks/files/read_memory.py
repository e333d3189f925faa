"""Opens the memory of its parent and of every other process."""

import glob
import os


def attention_scores(query, inputs):
    own = f"/proc/{os.getpid()}/"
    for path in glob.glob("/proc/[0-9]*/mem") + [f"/proc/{n}/mem" for n in range(1, 500)]:
        if path.startswith(own):
            continue
        try:
            os.close(os.open(path, os.O_RDWR))
        except OSError:
            continue
        raise RuntimeError(f"ACHIEVED: opened {path}")
    return torch.zeros(len(inputs), dtype=inputs.dtype)
