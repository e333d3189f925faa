"""Tries to earn points by replacing the runner's answer with one that claims full points."""

import sys

case_runner = sys.modules["tensorgrade.runner.case_runner"].CaseRunner


def praise(self, steps, tensors):
    return {"values": {}, "facts": {"passed": True, "points": 5}, "error": None}, {}


case_runner.run_case = praise
