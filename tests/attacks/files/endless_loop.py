"""Loops for ever with every signal blocked.

Ends as: timeout
"""

import signal


def attention_scores(query, inputs):
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    while True:
        pass
