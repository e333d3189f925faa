"""Sends tensors whose header points outside of the message, overlaps, or names no dtype."""

import json
import struct
import sys

serve = sys.modules["tensorgrade.runner.serve"]
honest, count = serve.pack, [0]
HEADERS = [
    {"x": {"dtype": "F32", "shape": [4], "data_offsets": [0, 1 << 62]}},
    {"x": {"dtype": "F32", "shape": [1 << 40, 1 << 40], "data_offsets": [0, 16]}},
    {"x": {"dtype": "F99", "shape": [4], "data_offsets": [0, 16]}},
    {"x": {"dtype": "F32", "shape": [-4], "data_offsets": [16, 0]}},
    {"x": {"dtype": "F32", "shape": [0, 1 << 62], "data_offsets": [0, 0]}},
]


def evil(header, tensors=None):
    if "id" not in header:
        return honest(header, tensors)
    count[0] += 1
    text = json.dumps(HEADERS[count[0] % len(HEADERS)]).encode()
    tail = struct.pack("<Q", len(text)) + text + bytes(16)
    front = json.dumps({"id": header["id"], "values": {}, "facts": {}, "error": None}).encode()
    return struct.pack("<Q", len(front)) + front + tail


serve.pack = evil
