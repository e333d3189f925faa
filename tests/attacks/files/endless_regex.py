"""Runs a regular expression that takes longer than the universe has.

Ends as: timeout
"""

import re


def attention_scores(query, inputs):
    return re.match(r"(a+)+$", "a" * 60 + "b")
