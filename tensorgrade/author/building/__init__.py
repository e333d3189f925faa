"""Derives every generated file from `solutions/`, `graders/` and the config."""

import sys
from importlib import import_module
from types import ModuleType

# What reads notebooks imports a grammar of web addresses if there is one, and builds it, for longer
# than torch takes; no notebook is held against it. An empty module is as good as none.
GRAMMAR = "rfc3987_syntax"
empty = ModuleType(GRAMMAR)
if sys.modules.setdefault(GRAMMAR, empty) is empty:
    import_module("nbformat")
    del sys.modules[GRAMMAR]
