"""Sends replies of a megabyte that become many times as large when they are parsed."""

import sys

modules = [vars(module) for module in list(sys.modules.values()) if hasattr(module, "__dict__")]
honest = next(names["pack"] for names in modules if "LENGTH" in names and "pack" in names)
left = [{"facts": {"x": {"y": [[[]] * 1990] * 140}}}] * 30


def pack(header, tensors=None):
    return honest(header | left.pop() if "facts" in header and left else header, tensors)


for names in modules:
    if names.get("pack") is honest:
        names["pack"] = pack
