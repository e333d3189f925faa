"""Sends replies whose parts have other types than they should."""

import sys

serve = sys.modules["tensorgrade.runner.serve"]
honest = serve.pack
ODD = [[], "x", 5, None, True, [[[[[[[]]]]]]], {"error": {"line": "x" * 10**5, "text": 10**400}}]


def odd(header, tensors=None):
    if "id" in header:
        some = ODD[len(header["id"]) % len(ODD)]
        header = header | {"values": some, "facts": {"x": some}, "error": {"type": some}}
    return honest(header, tensors)


serve.pack = odd
