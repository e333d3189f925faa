"""Gives up what a process may do beyond an ordinary one, and filters its system calls, for good."""

import ctypes
import struct

from .system import LIBC, checked, prctl

DROP_BOUNDING, NO_NEW_PRIVILEGES, AMBIENT, CLEAR_ALL = 24, 38, 47, 4
CAPABILITIES_VERSION_3 = 0x20080522
MOST_CAPABILITIES = 64


def give_up_privileges(config: dict) -> None:
    """No capabilities, none to be gained by running a program, no set-user-id programs.

    The bounding set can only be dropped by a process that may; an ordinary one has no use of it.
    """
    for number in range(MOST_CAPABILITIES):
        LIBC.prctl(DROP_BOUNDING, number, 0, 0, 0)
    header, nothing = struct.pack("Ii", CAPABILITIES_VERSION_3, 0), bytes(24)
    checked(LIBC.capset(header, nothing), "capset")
    prctl(AMBIENT, CLEAR_ALL)
    prctl(NO_NEW_PRIVILEGES, 1)


SET_SECCOMP, FILTER_MODE = 22, 2
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
