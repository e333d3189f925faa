"""Runs a shell, and a fresh Python, in place of this process and beside it."""

import os
import subprocess
import sys


def attention_scores(query, inputs):
    for command in (["/bin/sh", "-c", "true"], [sys.executable, "-c", "0"]):
        try:
            subprocess.run(command, check=True)
            raise RuntimeError("ACHIEVED: ran a program")
        except OSError:
            pass
    if os.system("true") == 0:
        raise RuntimeError("ACHIEVED: a shell")
    for program in ("/bin/sh", sys.executable):
        try:
            os.execv(program, [program, "-c", "touch /tmp/TOKEN-exec"])
        except OSError:
            pass
    return torch.zeros(len(inputs), dtype=inputs.dtype)
