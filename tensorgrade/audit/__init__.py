"""Audit anybody's attention code: find out what it is, and which relations hold for it.

`child.py` runs next to the audited code, in a sandbox. It imports only torch, `runner/` and this
folder. `run.py` starts it, and `report.py` turns its answer into words.
"""
