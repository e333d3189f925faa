"""Tries to earn points by replacing the runner's own functions with ones that praise."""

import sys

for name, module in list(sys.modules.items()):
    if name.startswith("tensorgrade.runner"):
        for key in ("describe_error", "changed", "describe_module", "load_weights"):
            if hasattr(module, key):
                setattr(module, key, lambda *a, **k: {})
    if name.startswith(("tensorgrade.judging", "tensorgrade.attempts", "tensorgrade.course")):
        raise RuntimeError("ACHIEVED: the engine is in this process")
