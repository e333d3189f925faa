"""Answers every case under the id of another one."""

import sys

serve = sys.modules["tensorgrade.runner.serve"]
honest = serve.pack


def renamed(header, tensors=None):
    if "id" in header:
        header = header | {"id": header["id"] + "x"}
    return honest(header, tensors)


serve.pack = renamed
