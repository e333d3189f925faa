"""Sends a header of a hundred thousand nested lists."""

import struct
import sys

serve = sys.modules["tensorgrade.runner.serve"]
honest = serve.pack


def deep(header, tensors=None):
    if "id" not in header:
        return honest(header, tensors)
    text = b'{"id": "x", "values": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    return struct.pack("<Q", len(text)) + text + struct.pack("<Q", 2) + b"{}"


serve.pack = deep
