"""Leaves a process behind that outlives its parent."""

import os
import time


def attention_scores(query, inputs):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            open("/tmp/TOKEN-daemon", "w").write("here")
            time.sleep(600)
        os._exit(0)
    raise RuntimeError("ACHIEVED: a daemon")
