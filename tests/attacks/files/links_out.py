"""Makes symbolic and hard links out of its folder and reads, or writes, through them."""

import os

TARGETS = ("COURSE_FOLDER/solutions/ch1_simplified_attention.py", "/etc/passwd", "/etc/shadow")


def attention_scores(query, inputs):
    for number, target in enumerate(TARGETS):
        for make in (os.symlink, os.link):
            name = f"{make.__name__}{number}"
            try:
                make(target, name)
                open(name).read()
            except OSError:
                continue
            raise RuntimeError(f"ACHIEVED: read {target} through a {name}")
    return torch.zeros(len(inputs), dtype=inputs.dtype)
