"""Reads its parent's memory with process_vm_readv."""

import ctypes
import os

LIBC = ctypes.CDLL(None, use_errno=True)


class Piece(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]


def attention_scores(query, inputs):
    buffer = ctypes.create_string_buffer(8)
    here, there = Piece(ctypes.addressof(buffer), 8), Piece(id(query), 8)
    for pid in (os.getppid(), 1):
        if LIBC.process_vm_readv(pid, ctypes.byref(here), 1, ctypes.byref(there), 1, 0) > 0:
            raise RuntimeError("ACHIEVED: read another process")
    return torch.zeros(len(inputs), dtype=inputs.dtype)
