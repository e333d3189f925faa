"""Tries to earn points by replacing the runner's answer with one that claims full points."""

import sys


def praise(runner, steps, tensors):
    return {"values": {}, "facts": {"passed": True, "points": 5}, "error": None}, {}


for name in ("serve", "cases"):
    sys.modules[f"tensorgrade.runner.{name}"].run_case = praise
