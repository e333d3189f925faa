"""Tries to earn points by replacing the runner's own functions with ones that praise."""

import sys

for name, module in list(sys.modules.items()):
    if name.startswith("runner"):
        for key in ("describe_error", "changed", "describe_module", "load_weights"):
            if hasattr(module, key):
                setattr(module, key, lambda *a, **k: {})
    if name.startswith("tensorgrade"):
        raise RuntimeError("ACHIEVED: the engine is in this process")
