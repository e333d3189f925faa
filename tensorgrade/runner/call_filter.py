"""Puts a filter on system calls, made on the trusted side, in force for good."""

import ctypes

from .system import LIBC, checked, prctl

SET_SECCOMP, FILTER_MODE, NO_NEW_PRIVILEGES = 22, 2, 38
INSTRUCTION_BYTES = 8


class Program(ctypes.Structure):
    """A filter as the kernel takes it: how many instructions, and where they are."""

    _fields_ = [("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p)]


def filter_calls(config: dict) -> None:
    """From here on the kernel refuses what `config["call_filter"]` (hex of BPF) refuses."""
    code = bytes.fromhex(config["call_filter"])
    buffer = ctypes.create_string_buffer(code, len(code))
    program = Program(len(code) // INSTRUCTION_BYTES, ctypes.addressof(buffer))
    prctl(NO_NEW_PRIVILEGES, 1)
    done = LIBC.prctl(SET_SECCOMP, ctypes.c_ulong(FILTER_MODE), ctypes.byref(program), 0, 0)
    checked(done, "seccomp")
